/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rules that come and go on live processes: a rate of its own for a control group, and back by
 * itself; ten thousand rules one by one; the last rule that means a sample decides; a pause. What
 * samples stand for is held against the CPU clocks of the processes.
 */
#include <math.h>
#include <otelprof/otelprof.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "kind_profile.h"
#include "on_cpu.h"
#include "stats.h"
#include "test.h"

enum {
	FLEET_HZ = 19,
	FAST_HZ = 199,
	PROCESSES = 20,
	FAST = 4, /* the first ones: in the cgroup */
	SETTLE_MS = 1000,
	TABLES_MS = 4000,  /* until the tables are made that first samples wait for */
	MEASURE_MS = 8000, /* of CPU time, of all processes together */
	POLL_MS = 20,
	MANY = 10000,
	RENAMES = 20000,
	WAKES_MAX = 600, /* a second: many less, but for execs on a busy machine */
	NS_PER_MS = 1000000,
};

/* Processes that run all the time, and what their samples say. */
struct fleet {
	pid_t pid[PROCESSES];
	/* What is measured: from then, until then, of CLOCK_REALTIME */
	uint64_t begin_ns;
	uint64_t end_ns;
	int64_t cpu_ns[PROCESSES];     /* between them: by their clocks */
	int64_t stolen_ns;	       /* by the host, of all CPUs */
	int64_t sampled_ns[PROCESSES]; /* by their samples since */
	uint64_t samples[PROCESSES];
	int64_t period_ns[2]; /* of those in the group and those out of it; -1: several */
};

static int number_of(const struct fleet *f, int64_t pid)
{
	int i;

	for (i = 0; i < PROCESSES; i++)
		if (f->pid[i] == pid)
			return i;
	return -1;
}

static void add_sample(struct kind_profile *profile, const struct otlp_sample_view *s)
{
	struct fleet *f = profile->data;
	int i = number_of(f, s->thread_id); /* of one thread each */
	int64_t *period;
	uint64_t j;
	int64_t n;

	if (i < 0)
		return;
	for (n = j = 0; j < s->count; j++)
		n += s->timestamps[j] >= f->begin_ns && s->timestamps[j] < f->end_ns;
	if (!n)
		return;
	f->samples[i] += (uint64_t)n;
	f->sampled_ns[i] += n * s->profile->period;
	period = &f->period_ns[i >= FAST];
	*period = *period && *period != s->profile->period ? -1 : s->profile->period;
}

static int64_t cpu_ns_of(pid_t pid)
{
	clockid_t clock;

	CHECK_INT(clock_getcpuclockid(pid, &clock), 0);
	return kind_clock_ns(clock);
}

static void fleet_start(struct fleet *f)
{
	int i;

	memset(f, 0, sizeof(*f));
	for (i = 0; i < PROCESSES; i++) {
		f->pid[i] = fork();
		CHECK(f->pid[i] >= 0);
		if (f->pid[i] == 0) {
			(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
			for (;;)
				STAYS("spins");
		}
	}
}

static void fleet_end(const struct fleet *f)
{
	int i;

	for (i = 0; i < PROCESSES; i++) {
		(void)kill(f->pid[i], SIGKILL);
		CHECK_INT(waitpid(f->pid[i], NULL, 0), f->pid[i]);
	}
}

/* All that was sampled until now, on a busy machine too. */
static void drain(struct otelprof *p)
{
	int idle = 0;
	int i;

	for (i = 0; i < 1000 && idle < 3; i++)
		idle = otelprof_poll(p, 2) == 0 ? idle + 1 : 0;
	CHECK_OK(otelprof_export(p));
}

/* Measure from now on. */
static void fleet_begin(struct otelprof *p, struct fleet *f)
{
	int i;

	drain(p);
	memset(f->sampled_ns, 0, sizeof(f->sampled_ns));
	memset(f->samples, 0, sizeof(f->samples));
	memset(f->period_ns, 0, sizeof(f->period_ns));
	f->stolen_ns = -stolen_ns();
	for (i = 0; i < PROCESSES; i++)
		f->cpu_ns[i] = -cpu_ns_of(f->pid[i]);
	f->begin_ns = (uint64_t)kind_clock_ns(CLOCK_REALTIME);
	f->end_ns = UINT64_MAX;
}

/* Of processes @from to @to - 1 the samples stand for their time, at @hz. */
static void fleet_check(const struct fleet *f, int from, int to, uint32_t hz)
{
	int64_t sampled_ns = 0;
	int64_t cpu_ns = 0;
	uint64_t samples = 0;
	double ratio_off;
	double ratio;
	double most;
	int i;

	for (i = from; i < to; i++) {
		cpu_ns += f->cpu_ns[i];
		sampled_ns += f->sampled_ns[i];
		samples += f->samples[i];
	}
	ratio = (double)sampled_ns / (double)cpu_ns;
	printf("  %d processes: %.2f s of CPU time, %llu samples, which stand for %.3f of "
	       "it, at %.2f Hz of CPU time; asked for %u\n",
	       to - from, (double)cpu_ns / 1e9, (unsigned long long)samples, ratio,
	       (double)samples * 1e9 / (double)cpu_ns, hz);
	CHECK_INT(f->period_ns[from >= FAST], 1000000000 / hz);
	CHECK(samples > 30);
	/* The timer of the samples counts what the host takes, the clocks do not. */
	most = (double)(cpu_ns + f->stolen_ns) / (double)cpu_ns;
	/* Four standard deviations of what chance does to so few. */
	ratio_off = 4 / sqrt((double)samples);
	CHECK(ratio > 1 - ratio_off && ratio < most * (1 + ratio_off));
}

static void poll_for(struct otelprof *p, int ms)
{
	int64_t until = kind_clock_ns(CLOCK_MONOTONIC) + (int64_t)ms * NS_PER_MS;

	while (kind_clock_ns(CLOCK_MONOTONIC) < until)
		CHECK_OK(otelprof_poll(p, POLL_MS));
}

/* Until the processes have had enough of the CPUs since fleet_begin(), and all is exported. */
static void measure(struct otelprof *p, struct fleet *f)
{
	int64_t now[PROCESSES];
	int64_t cpu_ns;
	int i;

	do {
		poll_for(p, 5 * POLL_MS);
		for (cpu_ns = i = 0; i < PROCESSES; i++)
			cpu_ns += f->cpu_ns[i] + (now[i] = cpu_ns_of(f->pid[i]));
	} while (cpu_ns < (int64_t)MEASURE_MS * NS_PER_MS);
	f->end_ns = (uint64_t)kind_clock_ns(CLOCK_REALTIME);
	f->stolen_ns += stolen_ns();
	for (i = 0; i < PROCESSES; i++)
		f->cpu_ns[i] += now[i];
	drain(p);
}

static uint64_t add(struct otelprof *p, uint32_t kind, uint32_t action, uint64_t value,
		    const char *text, uint32_t hz, uint64_t ms)
{
	struct otelprof_rule rule;
	uint64_t number = 0;

	otelprof_rule_init(&rule, sizeof(rule));
	rule.kind = kind;
	rule.action = action;
	rule.number = value;
	rule.text = text;
	rule.sample_rate_hz = hz;
	rule.duration_ns = ms * NS_PER_MS;
	CHECK_OK(otelprof_add_rule(p, &rule, &number));
	CHECK(number);
	return number;
}

/* ---- a cgroup of our own ---- */

static bool cgroup2_mount(char *ret, size_t size)
{
	FILE *f = fopen("/proc/self/mountinfo", "re");
	char line[1024];
	bool found = false;

	CHECK(f);
	while (!found && fgets(line, sizeof(line), f)) {
		char mount[256];

		if (strstr(line, " - cgroup2 ") &&
		    sscanf(line, "%*s %*s %*s %*s %255s", mount) == 1) {
			(void)snprintf(ret, size, "%s", mount);
			found = true;
		}
	}
	(void)fclose(f);
	return found;
}

static void put_in(const char *path, pid_t pid)
{
	char name[512];
	FILE *f;

	(void)snprintf(name, sizeof(name), "%s/cgroup.procs", path);
	f = fopen(name, "we");
	if (!f || fprintf(f, "%d\n", (int)pid) < 0 || fclose(f))
		SKIP("no process can be put into a cgroup here: %s", strerror(errno));
}

/* Make one and put the first processes into it. */
static void cgroup_make(const struct fleet *f, char *ret_path, size_t size)
{
	char mount[256];
	int i;

	if (!cgroup2_mount(mount, sizeof(mount)))
		SKIP("cgroup v2 is not mounted");
	(void)snprintf(ret_path, size, "%s/otelprof-test-%d", mount, (int)getpid());
	if (mkdir(ret_path, 0755) < 0)
		SKIP("no cgroup can be made here: %s", strerror(errno));
	for (i = 0; i < FAST; i++)
		put_in(ret_path, f->pid[i]);
}

static void test_a_cgroup_has_a_rate_of_its_own(void)
{
	struct fleet f;
	struct kind_profile profile = { .fn = add_sample, .data = &f };
	struct otelprof_stats s;
	struct otelprof *p;
	uint64_t number;
	char path[300];

	fleet_start(&f);
	p = kind_start_all(FLEET_HZ, &profile);
	cgroup_make(&f, path, sizeof(path));
	poll_for(p, TABLES_MS);
	fleet_begin(p, &f);
	measure(p, &f);
	fleet_check(&f, 0, PROCESSES, FLEET_HZ);
	CHECK_INT(stats_of(p).samples_thinned, 0);
	number = add(p, OTELPROF_MATCH_CGROUP, OTELPROF_RULE_RATE, 0, strrchr(path, '/'),
		     FAST_HZ, 0);
	fleet_begin(p, &f);
	measure(p, &f);
	fleet_check(&f, 0, FAST, FAST_HZ);
	fleet_check(&f, FAST, PROCESSES, FLEET_HZ);
	s = stats_of(p);
	CHECK_INT(s.rules, 1);
	CHECK_INT(s.sample_period_ns, 1000000000 / FLEET_HZ);
	CHECK(s.samples_thinned > 0);
	CHECK(s.samples_thinned <= s.samples_filtered);
	/* One with a time limit goes by itself. How long a measurement takes on a busy machine
	 * is not known beforehand, so this is another. */
	CHECK_OK(otelprof_remove_rule(p, number));
	(void)add(p, OTELPROF_MATCH_CGROUP, OTELPROF_RULE_RATE, 0, strrchr(path, '/'),
		  FAST_HZ, SETTLE_MS);
	CHECK_INT(stats_of(p).rules, 1);
	poll_for(p, 3 * SETTLE_MS);
	CHECK_INT(stats_of(p).rules, 0);
	fleet_begin(p, &f);
	s = stats_of(p);
	measure(p, &f);
	fleet_check(&f, 0, PROCESSES, FLEET_HZ);
	CHECK_INT(stats_of(p).samples_thinned, s.samples_thinned);
	fleet_end(&f);
	CHECK_INT(rmdir(path), 0);
	(void)kind_close(p);
}

static void test_ten_thousand_rules_one_by_one(void)
{
	struct fleet f;
	struct kind_profile profile = { .fn = add_sample, .data = &f };
	struct otelprof *p;
	int64_t longest = 0;
	int64_t begin;
	uint64_t first = 0;
	int over = 0;
	int i;

	memset(&f, 0, sizeof(f));
	p = kind_start_all(FLEET_HZ, &profile);
	/* makes the table */
	(void)add(p, OTELPROF_MATCH_PID, OTELPROF_RULE_EXCLUDE, 1, NULL, 0, 0);
	begin = kind_clock_ns(CLOCK_MONOTONIC);
	for (i = 0; i < MANY; i++) {
		int64_t at = kind_clock_ns(CLOCK_THREAD_CPUTIME_ID);
		uint64_t number = add(p, OTELPROF_MATCH_PID, OTELPROF_RULE_EXCLUDE,
				      (uint64_t)(10000000 + i), NULL, 0, 0);

		at = kind_clock_ns(CLOCK_THREAD_CPUTIME_ID) - at;
		longest = at > longest ? at : longest;
		over += at > NS_PER_MS;
		first = first ? first : number;
	}
	printf("  %d rules: %.1f us each, the longest %.0f us, %d above 1 ms\n", MANY,
	       (double)(kind_clock_ns(CLOCK_MONOTONIC) - begin) / 1000 / MANY,
	       (double)longest / 1000, over);
	CHECK(over <= MANY / 1000);
	CHECK_INT(stats_of(p).rules, MANY + 1);
	begin = kind_clock_ns(CLOCK_MONOTONIC);
	for (i = 0; i < MANY; i++)
		CHECK_OK(otelprof_remove_rule(p, first + (uint64_t)i));
	printf("  removed: %.1f us each\n",
	       (double)(kind_clock_ns(CLOCK_MONOTONIC) - begin) / 1000 / MANY);
	CHECK_INT(stats_of(p).rules, 1);
	CHECK_INT(otelprof_remove_rule(p, first), -ENOENT);
	(void)kind_close(p);
}

/* The bound is one of rules, however few targets they have. */
static void test_too_many_rules_of_one_target(void)
{
	struct fleet f;
	struct kind_profile profile = { .fn = add_sample, .data = &f };
	struct otelprof_rule rule;
	struct otelprof *p;
	uint64_t number = 0;
	int i;

	memset(&f, 0, sizeof(f));
	p = kind_start_all(FLEET_HZ, &profile);
	otelprof_rule_init(&rule, sizeof(rule));
	rule.kind = OTELPROF_MATCH_PID;
	/* so that the newest one says all, and the others are not looked at */
	rule.sample_rate_hz = FLEET_HZ;
	rule.number = 1;
	for (i = 0; i < OTELPROF_RULES_MAX; i++)
		CHECK_OK(otelprof_add_rule(p, &rule, &number));
	CHECK_INT(otelprof_add_rule(p, &rule, &number), -ENOSPC);
	CHECK_INT(stats_of(p).rules, OTELPROF_RULES_MAX);
	CHECK_OK(otelprof_remove_rule(p, number));
	CHECK_OK(otelprof_add_rule(p, &rule, &number));
	(void)kind_close(p);
}

/* Samples of process @i. */
static uint64_t samples_of(struct otelprof *p, struct fleet *f, int i)
{
	fleet_begin(p, f);
	measure(p, f);
	return f->samples[i];
}

static void test_the_last_rule_decides(void)
{
	struct fleet f;
	struct kind_profile profile = { .fn = add_sample, .data = &f };
	struct otelprof *p;
	uint64_t number;

	fleet_start(&f);
	p = kind_start_all(FLEET_HZ, &profile);
	poll_for(p, SETTLE_MS);
	(void)add(p, OTELPROF_MATCH_UID, OTELPROF_RULE_EXCLUDE, getuid(), NULL, 0, 0);
	CHECK_INT(samples_of(p, &f, 3), 0);
	/* while one includes, what none includes is left out */
	number = add(p, OTELPROF_MATCH_PID, OTELPROF_RULE_INCLUDE, (uint64_t)f.pid[3],
		     NULL, FAST_HZ, 0);
	CHECK(samples_of(p, &f, 3) > 20);
	CHECK_INT(f.samples[4], 0);
	CHECK_INT(f.period_ns[0], 1000000000 / FAST_HZ);
	(void)add(p, OTELPROF_MATCH_PID, OTELPROF_RULE_EXCLUDE, (uint64_t)f.pid[3], NULL,
		  0, 0);
	CHECK_INT(samples_of(p, &f, 3), 0);
	CHECK_OK(otelprof_remove_rule(p, number));
	CHECK_INT(samples_of(p, &f, 3), 0);
	CHECK_INT(stats_of(p).rules, 2);
	fleet_end(&f);
	(void)kind_close(p);
}

static struct otelprof_rule rule_of(uint32_t kind, uint32_t action, uint64_t number,
				    const char *text)
{
	return (struct otelprof_rule){ .size = sizeof(struct otelprof_rule),
				       .kind = kind,
				       .action = action,
				       .number = number,
				       .text = text };
}

/* Rules of most kinds in one list, and the same in the other order. */
static void test_a_mixed_list(void)
{
	struct fleet f;
	struct kind_profile profile = { .fn = add_sample, .data = &f };
	struct otelprof_rule rules[8];
	struct otelprof_rule last;
	struct otelprof *p;
	char path[300];
	int i;

	fleet_start(&f);
	p = kind_start_all(FLEET_HZ, &profile);
	cgroup_make(&f, path, sizeof(path));
	rules[0] = rule_of(OTELPROF_MATCH_ALL, OTELPROF_RULE_EXCLUDE, 0, NULL);
	rules[1] = rule_of(OTELPROF_MATCH_TREE, OTELPROF_RULE_INCLUDE, (uint64_t)getpid(),
			   NULL);
	rules[2] = rule_of(OTELPROF_MATCH_CGROUP, OTELPROF_RULE_EXCLUDE, 0, path);
	rules[3] = rule_of(OTELPROF_MATCH_PID, OTELPROF_RULE_INCLUDE, (uint64_t)f.pid[0],
			   NULL);
	rules[4] = rule_of(OTELPROF_MATCH_PID, OTELPROF_RULE_EXCLUDE, (uint64_t)f.pid[5],
			   NULL);
	rules[5] = rule_of(OTELPROF_MATCH_AGE, OTELPROF_RULE_EXCLUDE,
			   (uint64_t)86400 * NS_PER_MS * 1000, NULL);
	rules[6] = rule_of(OTELPROF_MATCH_UID, OTELPROF_RULE_RATE, getuid(), NULL);
	rules[6].sample_rate_hz = FAST_HZ;
	rules[7] = rule_of(OTELPROF_MATCH_COMM, OTELPROF_RULE_EXCLUDE, 0, "nobody");
	CHECK_OK(otelprof_set_rules(p, rules, 8));
	fleet_begin(p, &f);
	measure(p, &f);
	for (i = 0; i < PROCESSES; i++)
		CHECK((f.samples[i] > 0) == (i == 0 || (i >= FAST && i != 5)));
	CHECK_INT(f.period_ns[1], 1000000000 / FAST_HZ);
	/* now the first one is the last, and only what was added decides after it */
	last = rules[0];
	memmove(&rules[0], &rules[1], 7 * sizeof(rules[0]));
	rules[7] = last;
	(void)add(p, OTELPROF_MATCH_AGE, OTELPROF_RULE_INCLUDE, 1, NULL, 0, SETTLE_MS);
	CHECK_OK(otelprof_set_rules(p, rules, 8));
	CHECK_INT(stats_of(p).rules, 9);
	poll_for(p, 3 * SETTLE_MS);
	CHECK_INT(stats_of(p).rules, 8);
	fleet_begin(p, &f);
	measure(p, &f);
	for (i = 0; i < PROCESSES; i++)
		CHECK_INT(f.samples[i], 0);
	fleet_end(&f);
	CHECK_INT(rmdir(path), 0);
	(void)kind_close(p);
}

static void count_renames(struct kind_profile *profile, const struct otlp_sample_view *s)
{
	struct fleet *f = profile->data;

	if (s->thread_id == f->pid[0])
		f->samples[0] += (uint64_t)s->value;
}

/* A child that renames itself RENAMES times, in some seconds. */
static pid_t rename_often(void)
{
	pid_t pid = fork();
	int i;

	CHECK(pid >= 0);
	if (pid)
		return pid;
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)raise(SIGSTOP);
	for (i = 0; i < RENAMES; i++) {
		(void)prctl(PR_SET_NAME, "op-renames");
		if (i % 10 == 0)
			(void)usleep(1000);
	}
	_exit(0);
}

/* One of two lists has to keep each event, whichever is in force: half of one would not. */
static void test_lists_are_set_at_once(void)
{
	const char *probe = "tracepoint:task_rename";
	struct fleet f = { 0 };
	struct kind_profile profile = { .fn = count_renames, .data = &f };
	struct otelprof_config config;
	struct otelprof_rule by_pid[2];
	struct otelprof_rule by_user[2];
	struct otelprof *p;
	int status;
	int sets = 0;

	otelprof_config_init(&config, sizeof(config));
	config.kinds = OTELPROF_KIND_PROBES;
	config.probe_samples = 1000000;
	p = kind_new(&config);
	kind_pass(p, &profile);
	CHECK_OK(otelprof_set_probes(p, &probe, 1));
	f.pid[0] = rename_often();
	CHECK_INT(waitpid(f.pid[0], &status, WUNTRACED), f.pid[0]);
	by_pid[0] = rule_of(OTELPROF_MATCH_ALL, OTELPROF_RULE_EXCLUDE, 0, NULL);
	by_pid[1] = rule_of(OTELPROF_MATCH_PID, OTELPROF_RULE_INCLUDE, (uint64_t)f.pid[0],
			    NULL);
	by_user[0] = rule_of(OTELPROF_MATCH_UID, OTELPROF_RULE_INCLUDE, getuid(), NULL);
	by_user[1] = rule_of(OTELPROF_MATCH_PID, OTELPROF_RULE_EXCLUDE, 1, NULL);
	CHECK_OK(otelprof_set_rules(p, by_pid, 2));
	CHECK_OK(otelprof_start(p));
	(void)kill(f.pid[0], SIGCONT);
	while (waitpid(f.pid[0], &status, WNOHANG) == 0) {
		CHECK_OK(otelprof_set_rules(p, sets % 2 ? by_pid : by_user, 2));
		CHECK_OK(otelprof_poll(p, 1));
		sets++;
	}
	drain(p);
	printf("  %d lists, %llu of %d renames\n", sets, (unsigned long long)f.samples[0],
	       RENAMES);
	CHECK_INT(stats_of(p).samples_dropped, 0);
	CHECK(sets > 10);
	CHECK_INT(f.samples[0], RENAMES);
	(void)kind_close(p);
}

static void test_a_pause_takes_nothing(void)
{
	struct fleet f;
	struct kind_profile profile = { .fn = add_sample, .data = &f };
	struct otelprof *p;
	uint64_t taken;

	fleet_start(&f);
	p = kind_start_all(FLEET_HZ, &profile);
	poll_for(p, SETTLE_MS);
	CHECK_OK(otelprof_pause(p));
	CHECK_OK(otelprof_pause(p));
	kind_drain(p);
	taken = stats_of(p).samples_taken;
	CHECK_INT(stats_of(p).paused, 1);
	poll_for(p, SETTLE_MS);
	CHECK_INT(stats_of(p).samples_taken, taken);
	CHECK_OK(otelprof_resume(p));
	CHECK_OK(otelprof_resume(p));
	CHECK_INT(stats_of(p).paused, 0);
	poll_for(p, SETTLE_MS);
	CHECK(stats_of(p).samples_taken > taken);
	CHECK_OK(otelprof_pause(p));
	CHECK_OK(otelprof_stop(p));
	CHECK_OK(otelprof_start(p));
	CHECK_INT(stats_of(p).paused, 1);
	fleet_end(&f);
	(void)kind_close(p);
}

/* The end of a rule that was removed is waited for once, and not once a millisecond from then
 * on. */
static void test_the_end_of_a_removed_rule_passes(void)
{
	struct fleet f;
	struct kind_profile profile = { .fn = add_sample, .data = &f };
	struct pollfd fd = { .events = POLLIN };
	struct otelprof *p;
	int64_t until;
	int wakes = 0;

	memset(&f, 0, sizeof(f));
	p = kind_start_all(FLEET_HZ, &profile);
	CHECK_OK(otelprof_pause(p));
	CHECK_OK(otelprof_remove_rule(p, add(p, OTELPROF_MATCH_PID, OTELPROF_RULE_EXCLUDE,
					     1, NULL, 0, SETTLE_MS / 10)));
	poll_for(p, SETTLE_MS);
	fd.fd = otelprof_get_fd(p);
	CHECK(fd.fd >= 0);
	until = kind_clock_ns(CLOCK_MONOTONIC) + (int64_t)SETTLE_MS * NS_PER_MS;
	while (kind_clock_ns(CLOCK_MONOTONIC) < until) {
		wakes += poll(&fd, 1, POLL_MS) > 0;
		CHECK_OK(otelprof_poll(p, 0));
	}
	printf("  woken %d times in %d ms\n", wakes, SETTLE_MS);
	CHECK(wakes < WAKES_MAX);
	(void)kind_close(p);
}

static void test_malformed_rules_are_refused(void)
{
	struct fleet f;
	struct kind_profile profile = { .fn = add_sample, .data = &f };
	struct otelprof_rule rule;
	struct otelprof *p;
	uint64_t number = 7;

	memset(&f, 0, sizeof(f));
	p = kind_start_all(FLEET_HZ, &profile);
	otelprof_rule_init(&rule, sizeof(rule));
	CHECK_INT(otelprof_add_rule(p, NULL, &number), -EINVAL);
	CHECK_INT(otelprof_add_rule(p, &rule, NULL), -EINVAL);
	rule.kind = 99;
	CHECK_INT(otelprof_add_rule(p, &rule, &number), -E2BIG);
	CHECK_INT(otelprof_set_rules(p, &rule, 1), -E2BIG);
	CHECK_INT(otelprof_set_rules(p, NULL, 1), -EINVAL);
	rule.kind = OTELPROF_MATCH_PID;
	rule.action = OTELPROF_RULE_RATE;
	CHECK_INT(otelprof_add_rule(p, &rule, &number), -EINVAL); /* no rate */
	rule.sample_rate_hz = 1001;
	CHECK_INT(otelprof_add_rule(p, &rule, &number), -EINVAL);
	rule.sample_rate_hz = 10;
	rule.action = OTELPROF_RULE_EXCLUDE;
	CHECK_INT(otelprof_add_rule(p, &rule, &number), -EINVAL);
	rule.action = 3;
	CHECK_INT(otelprof_add_rule(p, &rule, &number), -E2BIG);
	rule.action = OTELPROF_RULE_RATE;
	rule.kind = OTELPROF_MATCH_CGROUP;
	CHECK_INT(otelprof_add_rule(p, &rule, &number), -EINVAL); /* no text */
	rule.text = "/no/such/cgroup";
	CHECK(otelprof_add_rule(p, &rule, &number) < 0);
	rule.text = "/../cgroup";
	CHECK_INT(otelprof_add_rule(p, &rule, &number), -EINVAL);
	rule.text = "..";
	CHECK_INT(otelprof_add_rule(p, &rule, &number), -EINVAL);
	rule.kind = OTELPROF_MATCH_PID;
	rule.text = NULL;
	for (rule.sample_rate_hz = 1; rule.sample_rate_hz <= OTELPROF_RATES_MAX;
	     rule.sample_rate_hz++)
		CHECK_OK(otelprof_add_rule(p, &rule, &number));
	CHECK_INT(number, OTELPROF_RATES_MAX);
	CHECK_INT(otelprof_add_rule(p, &rule, &number), -ENOSPC);
	CHECK_INT(number, OTELPROF_RATES_MAX);
	CHECK_INT(stats_of(p).rules, OTELPROF_RATES_MAX);
	(void)kind_close(p);
}

TEST_MAIN({ "a_cgroup_has_a_rate_of_its_own", test_a_cgroup_has_a_rate_of_its_own },
	  { "ten_thousand_rules_one_by_one", test_ten_thousand_rules_one_by_one },
	  { "too_many_rules_of_one_target", test_too_many_rules_of_one_target },
	  { "the_last_rule_decides", test_the_last_rule_decides },
	  { "a_mixed_list", test_a_mixed_list },
	  { "lists_are_set_at_once", test_lists_are_set_at_once },
	  { "a_pause_takes_nothing", test_a_pause_takes_nothing },
	  { "the_end_of_a_removed_rule_passes", test_the_end_of_a_removed_rule_passes },
	  { "malformed_rules_are_refused", test_malformed_rules_are_refused })
