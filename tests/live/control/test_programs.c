/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rules by executable and by environment on live processes: shells under names of their own.
 * Those that run already, that begin later, that are forked and that execute another file;
 * and a rate that ends by itself.
 */
#include <otelprof/otelprof.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "kind_profile.h"
#include "on_cpu.h"
#include "stats.h"
#include "test.h"

enum {
	RATE_HZ = 49,
	FAST_HZ = 199,
	PROCESSES = 8,
	ON_CPU_MS = 300,    /* of each process that is measured */
	FOUND_MS = 500,	    /* until a rule holds for what it means, on a busy machine */
	UNWATCHED_MS = 100, /* of CPU time, while nobody polls */
	POLL_MS = 20,
	MANY = 10000,
	NS_PER_MS = 1000000,
};

#define SPINS "while :; do :; done"

static struct {
	char dir[64];
	char one[96]; /* executables: copies of a shell */
	char two[96];
	pid_t pid[PROCESSES];
	int len;
	uint64_t begin_ns; /* samples before do not count */
	uint64_t samples[PROCESSES];
	uint64_t first_ns[PROCESSES]; /* of the samples, CLOCK_REALTIME; 0: none */
	int64_t period_ns[PROCESSES]; /* -1: several */
} g;

static void copy(const char *from, const char *to)
{
	char command[256];

	(void)snprintf(command, sizeof(command), "cp %s %s", from, to);
	CHECK_INT(system(command), 0);
}

/* A process that executes @path with the variable @mark, NULL: none, and runs @script. */
static int run(const char *path, const char *mark, const char *script)
{
	char *argv[] = { (char *)"sh", (char *)"-c", (char *)script, NULL };
	char *envp[] = { (char *)"PATH=/bin:/usr/bin", (char *)mark, NULL };
	pid_t pid = fork();

	CHECK(pid >= 0 && g.len < PROCESSES);
	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		(void)setpgid(0, 0);
		(void)execve(path, argv, envp);
		_exit(1);
	}
	(void)setpgid(pid, pid);
	g.pid[g.len] = pid;
	return g.len++;
}

static void end_all(void)
{
	for (; g.len; g.len--) {
		(void)kill(-g.pid[g.len - 1], SIGKILL); /* with what it forked */
		(void)waitpid(g.pid[g.len - 1], NULL, 0);
	}
}

static void tear_down(void)
{
	end_all();
	(void)unlink(g.one);
	(void)unlink(g.two);
	(void)rmdir(g.dir);
}

static void set_up(void)
{
	(void)atexit(tear_down);
	(void)strcpy(g.dir, "/tmp/otelprof-programs-XXXXXX");
	CHECK(mkdtemp(g.dir));
	(void)snprintf(g.one, sizeof(g.one), "%s/shell-one", g.dir);
	(void)snprintf(g.two, sizeof(g.two), "%s/shell-two", g.dir);
	copy("/bin/dash", g.one);
	copy("/bin/dash", g.two);
}

/* ---- the profiler ---- */

static void add_sample(struct kind_profile *profile, const struct otlp_sample_view *s)
{
	int64_t *period;
	uint64_t j;
	int i;

	for (i = 0; i < g.len && s->thread_id != g.pid[i]; i++)
		continue;
	for (j = 0; i < g.len && j < s->count; j++) {
		if (s->timestamps[j] < g.begin_ns)
			continue;
		g.samples[i]++;
		if (!g.first_ns[i] || s->timestamps[j] < g.first_ns[i])
			g.first_ns[i] = s->timestamps[j];
		period = &g.period_ns[i];
		*period = *period && *period != s->profile->period ? -1
								   : s->profile->period;
	}
}

static struct kind_profile profile = { .fn = add_sample };

static struct otelprof *start(void)
{
	if (!g.dir[0])
		set_up();
	return kind_start_all(RATE_HZ, &profile);
}

static int try_add(struct otelprof *p, uint32_t kind, uint32_t action, const char *text,
		   uint32_t hz, uint64_t ms, uint64_t *ret)
{
	struct otelprof_rule rule;

	otelprof_rule_init(&rule, sizeof(rule));
	rule.kind = kind;
	rule.action = action;
	rule.text = text;
	rule.sample_rate_hz = hz;
	rule.duration_ns = ms * NS_PER_MS;
	return otelprof_add_rule(p, &rule, ret);
}

static uint64_t add(struct otelprof *p, uint32_t kind, uint32_t action, const char *text,
		    uint32_t hz, uint64_t ms)
{
	uint64_t number = 0;

	CHECK_OK(try_add(p, kind, action, text, hz, ms, &number));
	return number;
}

static void poll_for(struct otelprof *p, int ms)
{
	int64_t until = kind_clock_ns(CLOCK_MONOTONIC) + (int64_t)ms * NS_PER_MS;

	while (kind_clock_ns(CLOCK_MONOTONIC) < until)
		CHECK_OK(otelprof_poll(p, POLL_MS));
}

static void drain(struct otelprof *p)
{
	int idle = 0;
	int i;

	for (i = 0; i < 1000 && idle < 3; i++)
		idle = otelprof_poll(p, 2) == 0 ? idle + 1 : 0;
	CHECK_OK(otelprof_export(p));
}

/* Measure all processes: from when the rules hold, until each had its time. */
static void measure(struct otelprof *p)
{
	int64_t cpu_ns[PROCESSES];
	clockid_t clock;
	bool more = true;
	int i;

	poll_for(p, FOUND_MS);
	drain(p);
	memset(g.samples, 0, sizeof(g.samples));
	memset(g.period_ns, 0, sizeof(g.period_ns));
	g.begin_ns = (uint64_t)kind_clock_ns(CLOCK_REALTIME);
	for (i = 0; i < g.len; i++) {
		CHECK_INT(clock_getcpuclockid(g.pid[i], &clock), 0);
		cpu_ns[i] = kind_clock_ns(clock) + (int64_t)ON_CPU_MS * NS_PER_MS;
	}
	while (more) {
		poll_for(p, POLL_MS);
		more = false;
		for (i = 0; i < g.len; i++) {
			CHECK_INT(clock_getcpuclockid(g.pid[i], &clock), 0);
			more |= kind_clock_ns(clock) < cpu_ns[i];
		}
	}
	drain(p);
}

/* ---- tests ---- */

/* What executes @path and then spins. */
static const char *turns_into(const char *path)
{
	static char script[160];

	(void)snprintf(script, sizeof(script), "exec %s -c '" SPINS "'", path);
	return script;
}

static void test_an_executable(void)
{
	struct otelprof *p = start();
	int first = run(g.one, NULL, SPINS);
	int other = run(g.two, NULL, SPINS);
	uint64_t number;
	int turned;
	int later;

	poll_for(p, FOUND_MS);
	number = add(p, OTELPROF_MATCH_EXECUTABLE, OTELPROF_RULE_INCLUDE, g.one, 0, 0);
	later = run(g.one, NULL, SPINS);
	measure(p);
	CHECK(g.samples[first] > 5);
	CHECK(g.samples[later] > 5);
	CHECK_INT(g.samples[other], 0);
	CHECK_INT(stats_of(p).rule_processes, 2);
	/* a file that executes another one, and one that the other executes */
	end_all();
	turned = run(g.one, NULL, turns_into(g.two));
	later = run(g.two, NULL, turns_into(g.one));
	measure(p);
	CHECK_INT(g.samples[turned], 0);
	CHECK(g.samples[later] > 5);
	/* it ends with the rule */
	(void)add(p, OTELPROF_MATCH_EXECUTABLE, OTELPROF_RULE_INCLUDE, g.two, 0, 0);
	CHECK_OK(otelprof_remove_rule(p, number));
	measure(p);
	CHECK(g.samples[turned] > 5);
	CHECK_INT(g.samples[later], 0);
	end_all();
	poll_for(p, FOUND_MS);
	CHECK_INT(stats_of(p).rule_processes, 0);
	CHECK_INT(stats_of(p).rule_processes_refused, 0);
	(void)kind_close(p);
}

static void test_a_path_with_stars(void)
{
	struct otelprof *p = start();
	int one = run(g.one, NULL, SPINS);
	int two = run(g.two, NULL, SPINS);
	uint64_t number;

	number = add(p, OTELPROF_MATCH_EXECUTABLE, OTELPROF_RULE_EXCLUDE,
		     "*/otelprof-programs-*/shell-t*", 0, 0);
	measure(p);
	CHECK(g.samples[one] > 5);
	CHECK_INT(g.samples[two], 0);
	CHECK_OK(otelprof_remove_rule(p, number));
	measure(p);
	CHECK(g.samples[two] > 5);
	end_all();
	(void)kind_close(p);
}

static int spin(void)
{
	pid_t pid = fork();

	CHECK(pid >= 0 && g.len < PROCESSES);
	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		(void)setpgid(0, 0);
		for (;;)
			STAYS("spins");
	}
	(void)setpgid(pid, pid);
	g.pid[g.len] = pid;
	return g.len++;
}

/* Let process @i run while nobody polls; the samples of that time count. */
static void run_unwatched(struct otelprof *p, int i)
{
	clockid_t clock;
	int64_t until_ns;

	CHECK_INT(clock_getcpuclockid(g.pid[i], &clock), 0);
	until_ns = (int64_t)UNWATCHED_MS * NS_PER_MS;
	while (kind_clock_ns(clock) < until_ns)
		(void)usleep(1000);
	CHECK_INT(kill(g.pid[i], SIGSTOP), 0);
	poll_for(p, FOUND_MS);
	drain(p);
}

/* What the kernel's programs do, while user space does not look: a child has its parent's
 * entries, and after an exec the executable's has gone and the environment's has not. */
static void test_what_user_space_has_not_seen(void)
{
	struct otelprof *p = start();
	char own[256] = { 0 };
	uint64_t number;
	int child;
	int turned;

	CHECK(readlink("/proc/self/exe", own, sizeof(own) - 1) > 0);
	number = add(p, OTELPROF_MATCH_EXECUTABLE, OTELPROF_RULE_INCLUDE, own, 1000, 0);
	poll_for(p, FOUND_MS);
	g.begin_ns = 0;
	memset(g.samples, 0, sizeof(g.samples));
	child = spin();
	run_unwatched(p, child);
	turned = run(g.one, NULL, SPINS);
	run_unwatched(p, turned);
	printf("  of %d ms: a child has %llu samples, after an exec there are %llu\n",
	       UNWATCHED_MS, (unsigned long long)g.samples[child],
	       (unsigned long long)g.samples[turned]);
	CHECK(g.samples[child] > UNWATCHED_MS / 4);
	/* those of the time between its fork and its exec */
	CHECK(g.samples[turned] < UNWATCHED_MS / 4);
	CHECK_OK(otelprof_remove_rule(p, number));
	end_all();
	/* the test has this variable */
	(void)add(p, OTELPROF_MATCH_ENVIRONMENT, OTELPROF_RULE_INCLUDE, "PATH", 1000, 0);
	poll_for(p, FOUND_MS);
	memset(g.samples, 0, sizeof(g.samples));
	turned = run(g.one, NULL, SPINS);
	run_unwatched(p, turned);
	CHECK(g.samples[turned] > UNWATCHED_MS / 4);
	end_all();
	(void)kind_close(p);
}

/* A process in the same program, forked after the rule was added. */
static void test_a_child_inherits_matches(void)
{
	struct otelprof *p = start();
	char own[256] = { 0 };
	int other;
	int child;

	CHECK(readlink("/proc/self/exe", own, sizeof(own) - 1) > 0);
	(void)add(p, OTELPROF_MATCH_EXECUTABLE, OTELPROF_RULE_INCLUDE, own, 0, 0);
	poll_for(p, FOUND_MS);
	other = run(g.one, NULL, SPINS);
	child = spin();
	measure(p);
	CHECK(g.samples[child] > 5);
	CHECK_INT(g.samples[other], 0);
	end_all();
	(void)kind_close(p);
}

/* A rate for a variable of the environment, for a while, and back by itself. */
static void test_a_rate_for_a_variable(void)
{
	struct otelprof *p = start();
	int blue = run(g.one, "MARK=blue", SPINS);
	int red = run(g.one, "MARK=red", SPINS);
	int none = run(g.one, NULL, SPINS);
	int passed = run(g.one, "MARK=blue", turns_into(g.two));
	uint64_t number;

	number = add(p, OTELPROF_MATCH_ENVIRONMENT, OTELPROF_RULE_RATE, "MARK=blue",
		     FAST_HZ, 0);
	measure(p);
	CHECK_INT(g.period_ns[blue], 1000000000 / FAST_HZ);
	CHECK_INT(g.period_ns[passed], 1000000000 / FAST_HZ);
	CHECK_INT(g.period_ns[red], 1000000000 / RATE_HZ);
	CHECK_INT(g.period_ns[none], 1000000000 / RATE_HZ);
	/* about four times as many, of the same time */
	CHECK(g.samples[blue] > 2 * g.samples[red]);
	CHECK_OK(otelprof_remove_rule(p, number));
	/* any value; one that was added later and ends before it is measured */
	(void)add(p, OTELPROF_MATCH_ENVIRONMENT, OTELPROF_RULE_EXCLUDE, "MARK", 0, 0);
	(void)add(p, OTELPROF_MATCH_ENVIRONMENT, OTELPROF_RULE_INCLUDE, "MARK=red",
		  FAST_HZ, FOUND_MS / 2);
	CHECK_INT(stats_of(p).rules, 2);
	measure(p);
	CHECK_INT(stats_of(p).rules, 1);
	CHECK_INT(g.samples[blue] + g.samples[red] + g.samples[passed], 0);
	CHECK_INT(g.period_ns[none], 1000000000 / RATE_HZ);
	end_all();
	(void)kind_close(p);
}

static int by_value(const void *a, const void *b)
{
	const double *x = a;
	const double *y = b;

	return *x < *y ? -1 : *x > *y;
}

/* How long after its fork a new process is sampled first: the median of some. */
static double first_sample_ms(struct otelprof *p)
{
	double late_ms[PROCESSES];
	int i;

	poll_for(p, FOUND_MS);
	memset(g.first_ns, 0, sizeof(g.first_ns));
	g.begin_ns = 0;
	for (i = 0; i < PROCESSES; i++) {
		late_ms[i] = (double)kind_clock_ns(CLOCK_REALTIME);
		(void)run(g.one, NULL, SPINS);
		poll_for(p, FOUND_MS / 2);
		(void)kill(g.pid[i], SIGSTOP);
	}
	drain(p);
	for (i = 0; i < PROCESSES; i++) {
		CHECK(g.first_ns[i]);
		late_ms[i] = ((double)g.first_ns[i] - late_ms[i]) / NS_PER_MS;
	}
	end_all();
	qsort(late_ms, PROCESSES, sizeof(late_ms[0]), by_value);
	printf("  first samples %.1f to %.1f ms after the fork, the median %.1f ms\n",
	       late_ms[0], late_ms[PROCESSES - 1], late_ms[PROCESSES / 2]);
	return late_ms[PROCESSES / 2];
}

/* A new process runs for a while before the rule holds for it. */
static void test_the_first_samples(void)
{
	struct otelprof *p = start();
	uint64_t all;
	double all_ms;
	double one_ms;

	all = add(p, OTELPROF_MATCH_COMM, OTELPROF_RULE_INCLUDE, "shell-one", 1000, 0);
	all_ms = first_sample_ms(p);
	(void)add(p, OTELPROF_MATCH_EXECUTABLE, OTELPROF_RULE_INCLUDE, g.one, 1000, 0);
	CHECK_OK(otelprof_remove_rule(p, all));
	one_ms = first_sample_ms(p);
	/* the bound is one for busy machines */
	CHECK(one_ms < all_ms + FOUND_MS / 4);
	(void)kind_close(p);
}

static void test_malformed_rules_are_refused(void)
{
	struct otelprof *p = start();
	uint64_t number = 7;
	char text[5000];
	int i;

	CHECK_INT(try_add(p, OTELPROF_MATCH_EXECUTABLE, 0, NULL, 0, 0, &number), -EINVAL);
	CHECK_INT(try_add(p, OTELPROF_MATCH_EXECUTABLE, 0, "", 0, 0, &number), -EINVAL);
	CHECK_INT(try_add(p, OTELPROF_MATCH_EXECUTABLE, 0, "sshd", 0, 0, &number),
		  -EINVAL);
	CHECK_INT(try_add(p, OTELPROF_MATCH_ENVIRONMENT, 0, "=x", 0, 0, &number),
		  -EINVAL);
	memset(text, '/', sizeof(text) - 1);
	text[sizeof(text) - 1] = 0;
	CHECK_INT(try_add(p, OTELPROF_MATCH_EXECUTABLE, 0, text, 0, 0, &number), -EINVAL);
	for (i = 0; i <= OTELPROF_GLOBS_MAX; i++) {
		(void)snprintf(text, sizeof(text), "/no/%d/*", i);
		CHECK_INT(try_add(p, OTELPROF_MATCH_EXECUTABLE, OTELPROF_RULE_EXCLUDE,
				  text, 0, 0, &number),
			  i < OTELPROF_GLOBS_MAX ? 0 : -ENOSPC);
	}
	CHECK_INT(stats_of(p).rules, OTELPROF_GLOBS_MAX);
	/* filters have none of them */
	(void)kind_close(p);
}

/* Thousands of paths: none is looked for on its own. */
static void test_ten_thousand_paths(void)
{
	struct otelprof *p = start();
	int64_t begin = kind_clock_ns(CLOCK_MONOTONIC);
	char text[64];
	uint64_t first = 0;
	int one;
	int i;

	for (i = 0; i < MANY; i++) {
		uint64_t number;

		(void)snprintf(text, sizeof(text), "/no/such/%d", i);
		number = add(p, OTELPROF_MATCH_EXECUTABLE, OTELPROF_RULE_EXCLUDE, text, 0,
			     0);
		first = first ? first : number;
	}
	printf("  %d paths: %.1f us each\n", MANY,
	       (double)(kind_clock_ns(CLOCK_MONOTONIC) - begin) / 1000 / MANY);
	(void)add(p, OTELPROF_MATCH_EXECUTABLE, OTELPROF_RULE_INCLUDE, g.one, 0, 0);
	one = run(g.one, NULL, SPINS);
	measure(p);
	CHECK(g.samples[one] > 5);
	for (i = 0; i < MANY; i++)
		CHECK_OK(otelprof_remove_rule(p, first + (uint64_t)i));
	CHECK_INT(stats_of(p).rules, 1);
	end_all();
	(void)kind_close(p);
}

TEST_MAIN({ "an_executable", test_an_executable },
	  { "a_path_with_stars", test_a_path_with_stars },
	  { "a_child_inherits_matches", test_a_child_inherits_matches },
	  { "what_user_space_has_not_seen", test_what_user_space_has_not_seen },
	  { "a_rate_for_a_variable", test_a_rate_for_a_variable },
	  { "the_first_samples", test_the_first_samples },
	  { "ten_thousand_paths", test_ten_thousand_paths },
	  { "malformed_rules_are_refused", test_malformed_rules_are_refused })
