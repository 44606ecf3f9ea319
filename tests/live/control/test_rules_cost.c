/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What ten thousand rules cost a sample, and one: by process, by control group, by executable. By
 * turns, since a machine's speed changes. What is compared is the time of the programs in the
 * kernel for each sample that is kept; those of other processes are left out.
 *
 * $OTELPROF_TURNS: that many turns, whose median is judged. Without it the rules have to be held
 * and samples to be kept with all of them: few turns on a machine with other work are no clock.
 */
#include <bpf/bpf.h>
#include <otelprof/otelprof.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>

#include "kind_profile.h"
#include "stats.h"
#include "test.h"
#include "tools.h"

enum {
	RATE_HZ = 997,
	NICE = -10,
	PROCESSES = 2,
	MANY = 10000,
	MANY_GROUPS = 2000, /* control groups, unless figures are wanted */
	TURNS = 2,
	TURNS_JUDGED = 20, /* the median of fewer is no figure */
	TURNS_MAX = 200,
	TURN_MS = 300,	 /* how long one of them is measured */
	SETTLE_MS = 200, /* user space has found what the rules mean */
	START_MS = 2000,
	SAMPLES_MIN = 20, /* else the machine was busy with something else */
	POLL_MS = 20,
	POLL_RULES = 256, /* that many are added between two polls */
	NS_PER_MS = 1000000,
};
#define RATIO_MOST 1.1

/* Rules of one kind, of which number 0 means the processes that run. */
struct rules {
	uint32_t kind;
	uint64_t pid;
	char format[128]; /* of what the others are by, with their number */
	char own[128];	  /* of number 0 */
};

static struct {
	pid_t pid[PROCESSES];
	int turns;
	uint64_t number[MANY];
} g;

static void throw_away(struct kind_profile *profile, const struct otlp_sample_view *s)
{
}

static void poll_for(struct otelprof *p, int ms)
{
	int64_t until = kind_clock_ns(CLOCK_MONOTONIC) + (int64_t)ms * NS_PER_MS;

	while (kind_clock_ns(CLOCK_MONOTONIC) < until)
		CHECK_OK(otelprof_poll(p, POLL_MS));
	CHECK_OK(otelprof_export(p));
}

static void add(struct otelprof *p, const struct rules *of, int i)
{
	struct otelprof_rule rule;
	char text[256];

	otelprof_rule_init(&rule, sizeof(rule));
	rule.kind = of->kind;
	rule.action = i ? OTELPROF_RULE_EXCLUDE : OTELPROF_RULE_INCLUDE;
	if (of->kind == OTELPROF_MATCH_PID) {
		rule.number = i ? (uint64_t)(10000000 + i) : of->pid;
	} else {
		if (i)
			(void)snprintf(text, sizeof(text), of->format, i);
		rule.text = i ? text : of->own;
	}
	CHECK_OK(otelprof_add_rule(p, &rule, &g.number[i]));
}

/* Nanoseconds that the programs take for a sample, in the next TURN_MS; 0: too few. */
static double ns_a_sample(struct otelprof *p)
{
	struct otelprof_stats before;
	struct otelprof_stats after;
	uint64_t kept;

	poll_for(p, SETTLE_MS);
	before = stats_of(p);
	poll_for(p, TURN_MS);
	after = stats_of(p);
	kept = after.samples_taken - after.samples_filtered -
	       (before.samples_taken - before.samples_filtered);
	return kept < SAMPLES_MIN
		       ? 0
		       : (double)(after.bpf_run_ns - before.bpf_run_ns) / (double)kept;
}

static int by_value(const void *a, const void *b)
{
	const double *x = a;
	const double *y = b;

	return *x < *y ? -1 : *x > *y;
}

static double median(double *of, int len)
{
	qsort(of, (size_t)len, sizeof(of[0]), by_value);
	return (of[(len - 1) / 2] + of[len / 2]) / 2;
}

/* With one rule and with @many, and every other turn the other way round. */
static void compare(struct otelprof *p, const struct rules *of, int many,
		    const char *what)
{
	double ratio[TURNS_MAX];
	double one[TURNS_MAX];
	double all[TURNS_MAX];
	int good = 0;
	int tried;
	int i;

	add(p, of, 0);
	poll_for(p, START_MS);
	for (tried = 0; good < g.turns && tried < 2 * g.turns; tried++) {
		double first = tried % 2 ? 0 : ns_a_sample(p);

		for (i = 1; i < many; i++) {
			add(p, of, i);
			if (i % POLL_RULES == 0)
				CHECK_OK(otelprof_poll(p, 0));
		}
		CHECK_INT(stats_of(p).rules, many);
		all[good] = ns_a_sample(p);
		for (i = 1; i < many; i++)
			CHECK_OK(otelprof_remove_rule(p, g.number[i]));
		one[good] = tried % 2 ? ns_a_sample(p) : first;
		if (one[good] <= 0 || all[good] <= 0)
			continue;
		ratio[good] = all[good] / one[good];
		good++;
	}
	if (!good)
		SKIP("the machine is too busy to sample");
	CHECK_OK(otelprof_remove_rule(p, g.number[0]));
	printf("  %s: a sample takes %.0f ns with one rule, %.0f ns with %d (medians of %d "
	       "turns); ratio of a turn: median ",
	       what, median(one, good), median(all, good), many, good);
	printf("%.3f, quartiles ", median(ratio, good));
	printf("%.3f and %.3f\n", ratio[good / 4], ratio[good - 1 - good / 4]);
	if (good >= TURNS_JUDGED)
		CHECK(median(ratio, good) < RATIO_MOST);
}

/* So that most ticks are of this process, whatever else runs: sessions share the CPUs, and then
 * what is in them. */
static void take_precedence(void)
{
	FILE *f;

	(void)setpriority(PRIO_PROCESS, 0, NICE);
	(void)setsid();
	f = fopen("/proc/self/autogroup", "we");
	if (f) {
		(void)fprintf(f, "%d\n", NICE);
		(void)fclose(f);
	}
}

/* Shells under a name of their own. */
static void spin(void)
{
	const char *path = tools_path("spinner");
	int i;

	TOOLS_RUN("cp /bin/sh spinner");
	for (i = 0; i < PROCESSES; i++) {
		g.pid[i] = fork();
		CHECK(g.pid[i] >= 0);
		if (g.pid[i] == 0) {
			(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
			take_precedence();
			(void)execl(path, path, "-c", "while :; do :; done",
				    (char *)NULL);
			_exit(127);
		}
	}
}

static void end(void)
{
	int i;

	for (i = 0; i < PROCESSES; i++) {
		(void)kill(g.pid[i], SIGKILL);
		CHECK_INT(waitpid(g.pid[i], NULL, 0), g.pid[i]);
	}
}

static void run(const struct rules *of, int many, const char *what)
{
	struct kind_profile profile = { .fn = throw_away };
	const char *turns = getenv("OTELPROF_TURNS");
	struct otelprof *p;
	int counted;

	g.turns = turns ? atoi(turns) : TURNS;
	CHECK(g.turns >= TURNS && g.turns <= TURNS_MAX);
	counted = bpf_enable_stats(BPF_STATS_RUN_TIME);
	if (counted < 0)
		SKIP("the kernel does not count what programs take: %s",
		     strerror(-counted));
	p = kind_start_all(RATE_HZ, &profile);
	compare(p, of, many, what);
	(void)close(counted);
	(void)kind_close(p);
}

static void test_processes(void)
{
	struct rules of = { .kind = OTELPROF_MATCH_PID };

	spin();
	of.pid = (uint64_t)g.pid[0];
	run(&of, MANY, "by process");
	end();
}

static void test_executables(void)
{
	struct rules of = { .kind = OTELPROF_MATCH_EXECUTABLE,
			    .format = "/no/such/program-%d" };

	spin();
	(void)snprintf(of.own, sizeof(of.own), "%s", tools_path("spinner"));
	run(&of, MANY, "by executable");
	end();
}

/* ---- control groups of our own ---- */

static char groups[200]; /* their directory */
static int groups_len;

static void remove_groups(void)
{
	char path[256];

	while (groups_len--) {
		(void)snprintf(path, sizeof(path), "%s/%d", groups, groups_len);
		(void)rmdir(path);
	}
	groups_len = 0;
	(void)rmdir(groups);
}

static void find_mount(char *ret, size_t size)
{
	FILE *f = fopen("/proc/self/mounts", "re");
	char line[1024];

	CHECK(f);
	*ret = '\0';
	while (!*ret && fgets(line, sizeof(line), f)) {
		char path[128];
		char type[64];

		if (sscanf(line, "%*s %127s %63s", path, type) == 2 &&
		    strcmp(type, "cgroup2") == 0)
			(void)snprintf(ret, size, "%s", path);
	}
	(void)fclose(f);
	if (!*ret)
		SKIP("cgroup v2 is not mounted");
}

static void make_groups(int many)
{
	char mount[128];
	char path[256];
	FILE *f;
	int i;

	find_mount(mount, sizeof(mount));
	(void)snprintf(groups, sizeof(groups), "%s/otelprof-cost-%d", mount,
		       (int)getpid());
	if (mkdir(groups, 0755) < 0)
		SKIP("no cgroup can be made here: %s", strerror(errno));
	(void)atexit(remove_groups);
	for (; groups_len < many; groups_len++) {
		(void)snprintf(path, sizeof(path), "%s/%d", groups, groups_len);
		if (mkdir(path, 0755) < 0)
			SKIP("%d cgroups cannot be made here: %s", many, strerror(errno));
	}
	for (i = 0; i < PROCESSES; i++) {
		(void)snprintf(path, sizeof(path), "%s/0/cgroup.procs", groups);
		f = fopen(path, "we");
		if (!f || fprintf(f, "%d\n", (int)g.pid[i]) < 0 || fclose(f))
			SKIP("no process can be put into a cgroup here: %s",
			     strerror(errno));
	}
}

static void test_groups(void)
{
	struct rules of = { .kind = OTELPROF_MATCH_CGROUP };
	int many = getenv("OTELPROF_TURNS") ? MANY : MANY_GROUPS;

	spin();
	make_groups(many);
	(void)snprintf(of.own, sizeof(of.own), "%s/0", strrchr(groups, '/'));
	(void)snprintf(of.format, sizeof(of.format), "%s/%%d", strrchr(groups, '/'));
	run(&of, many, "by control group");
	end();
	remove_groups();
}

TEST_MAIN({ "processes", test_processes }, { "executables", test_executables },
	  { "groups", test_groups })
