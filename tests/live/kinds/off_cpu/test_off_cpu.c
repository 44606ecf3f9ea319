/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Time off the CPUs end to end. A child waits in three known places, 50, 30 and 20 % of the
 * time, and says by the clock how long: the profile must say the same, whether every
 * interval is taken or one in some hundreds.
 */
#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <otelprof/otelprof.h>

#include "child.h"
#include "drops.h"
#include "kind.h"
#include "test.h"

enum {
	WARM_MS = 700,
	FEW_MS = 3000,
	MANY_MS = 6000,
	PAUSE_MS = 2000,
	SAMPLES = 20000, /* a second: enough for shares within 1 % in MANY_MS */
	FEW_SAMPLES = 6000,
	RING_BYTES = 16 << 20, /* the machine may be busy */
	DRAINS = 50,
	DRAINS_MAX = 2000, /* while the library says that it has more to do */
	SHARE_OFF = 10,	   /* thousandths, as SUM_OFF */
	SUM_OFF = 20,
	SLOW_LEAST = 80, /* switches a second */
	SLOW_MOST = 200,
	PINNED_LEAST = 20000, /* a machine that does nothing else has 180,000 */
};

struct run {
	struct otelprof *p;
	struct kind_child child;
	char folded[40];
	int out;
	bool moves; /* the child, from CPU to CPU */
	int cpu;
};

/* Let all threads of process @pid run on CPU @cpu alone, where there is one. */
static void place_on(pid_t pid, int cpu)
{
	char path[64];
	cpu_set_t set;
	struct dirent *e;
	DIR *d;

	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	(void)snprintf(path, sizeof(path), "/proc/%d/task", pid);
	d = opendir(path);
	CHECK(d);
	while ((e = readdir(d)))
		if (atoi(e->d_name) > 0)
			(void)sched_setaffinity(atoi(e->d_name), sizeof(set), &set);
	CHECK_OK(closedir(d));
}

static struct otelprof *make(const struct kind_child *c, uint32_t samples, uint64_t flags)
{
	struct otelprof_config config;
	struct otelprof *p;

	otelprof_config_init(&config, sizeof(config));
	config.kinds = OTELPROF_KIND_OFF_CPU;
	config.off_cpu_samples = samples;
	config.flags = flags;
	config.ring_bytes = RING_BYTES;
	p = kind_open(&config, c->pid);
	CHECK_OK(otelprof_start(p));
	return p;
}

/* Poll until the child has answered. */
static struct answer work(struct run *run, char what, uint32_t ms)
{
	struct pollfd answered = { .fd = run->child.from, .events = POLLIN };
	int64_t stolen = stolen_ns();
	struct answer a;
	int i, r = 0;

	ask_child(&run->child, what, ms);
	while (poll(&answered, 1, 0) == 0) {
		if (run->moves)
			place_on(run->child.pid, run->cpu ^= 1);
		CHECK_OK(otelprof_poll(run->p, 20));
	}
	CHECK_INT(read(run->child.from, &a, sizeof(a)), sizeof(a));
	stolen = stolen_ns() - stolen;
	printf("  the host took %lld ns\n", (long long)stolen);
	off_stolen(&a.off_ns, stolen);
	for (i = 0; i < PLACES; i++)
		off_stolen(&a.place_off_ns[i], stolen);
	/* what is still in the ring */
	for (i = 0; i < DRAINS || (r > 0 && i < DRAINS_MAX); i++)
		CHECK((r = otelprof_poll(run->p, 5)) >= 0);
	return a;
}

/* Meet everything once, and write what comes after it. */
static struct run begin(char what, uint32_t samples, uint64_t flags)
{
	struct run run = { .child = start_child(), .folded = "off-cpu-XXXXXX" };
	struct otelprof_file_config file;

	run.p = make(&run.child, samples, flags);
	(void)work(&run, what, WARM_MS);
	run.out = mkstemp(run.folded);
	CHECK(run.out >= 0);
	otelprof_file_config_init(&file, sizeof(file));
	file.path = run.folded;
	file.format = OTELPROF_FORMAT_FOLDED;
	(void)otelprof_export(run.p); /* to nobody */
	CHECK_OK(otelprof_exporter_file(run.p, &file));
	return run;
}

/* Everything taken is accounted for. */
static void finish(struct run *run)
{
	struct otelprof_stats s;
	uint64_t dropped;

	CHECK_OK(otelprof_stop(run->p));
	CHECK_OK(otelprof_export(run->p));
	CHECK_OK(otelprof_flush(run->p, 5000));
	otelprof_stats_init(&s, sizeof(s));
	CHECK_OK(otelprof_get_stats(run->p, &s));
	dropped = s.samples_dropped;
	printf("  taken %llu = exported %llu + filtered %llu + dropped %llu; T %llu ns\n",
	       (unsigned long long)s.samples_taken,
	       (unsigned long long)s.samples_exported,
	       (unsigned long long)s.samples_filtered, (unsigned long long)dropped,
	       (unsigned long long)s.off_cpu_threshold_ns);
	drops_print(run->p);
	CHECK_INT(s.samples_pending, 0);
	CHECK_INT(s.samples_taken, s.samples_exported + s.samples_filtered + dropped);
	/* what was met before there was a file; and of the rest nearly nothing */
	dropped -= drops_of(run->p, "nowhere");
	CHECK(dropped <= s.samples_exported / 100);
	otelprof_free(run->p);
	kind_child_end(&run->child);
	(void)close(run->out);
}

/* The value of all stacks of @folded that hold @function, and @also where it is not NULL. */
static int64_t value_of(const char *folded, const char *function, const char *also)
{
	FILE *f = fopen(folded, "re");
	char *line = NULL;
	size_t size = 0;
	int64_t sum = 0;

	CHECK(f);
	while (getline(&line, &size, f) > 0)
		if (strstr(line, function) && (!also || strstr(line, also)))
			sum += strtoll(strrchr(line, ' ') + 1, NULL, 10);
	free(line);
	CHECK_OK(fclose(f));
	return sum;
}

/* @got and @want in thousandths of @whole are no more than @off apart. */
static void check_near(const char *what, int64_t got, int64_t got_whole, int64_t want,
		       int64_t want_whole, int64_t off)
{
	double g = 1000.0 * (double)got / (double)got_whole;
	double w = 1000.0 * (double)want / (double)want_whole;

	printf("  %s: %.1f, wanted %.1f of 1000\n", what, g, w);
	CHECK(g - w <= (double)off && w - g <= (double)off);
}

/* The share of place @i in the sum of all, between what the bounds allow. */
static void check_share(const struct answer *a, const int64_t got[PLACES], int i)
{
	struct off_ns mine = a->place_off_ns[i];
	struct off_ns others = { 0 };
	double sum = 0;
	double share;
	double least;
	double most;
	int k;

	for (k = 0; k < PLACES; k++) {
		sum += (double)got[k];
		if (k != i) {
			others.least += a->place_off_ns[k].least;
			others.most += a->place_off_ns[k].most;
		}
	}
	least = 1000.0 * (double)mine.least / (double)(mine.least + others.most);
	most = 1000.0 * (double)mine.most / (double)(mine.most + others.least);
	share = 1000.0 * (double)got[i] / sum;
	printf("  %.1f, wanted %.1f to %.1f of 1000\n", share, least, most);
	CHECK(share >= least - SHARE_OFF && share <= most + SHARE_OFF);
}

static void check_profile(const struct run *run, const struct answer *a,
			  const char *driver, const char *other)
{
	static const char *const place[PLACES] = { "waits_in_a", "waits_in_b",
						   "waits_in_c" };
	int64_t waits = a->waits[0] + a->waits[1] + a->waits[2];
	int64_t want[PLACES];
	int64_t got[PLACES];
	int64_t whole = 0;
	int64_t sum = 0;
	int i;

	for (i = 0; i < PLACES; i++) {
		sum += got[i] = value_of(run->folded, place[i], NULL);
		/* each wait has the same part on a CPU */
		want[i] = a->place_ns[i] - (int64_t)((double)a->places_cpu_ns *
						     (double)a->waits[i] / (double)waits);
		whole += want[i];
	}
	CHECK(sum > 0);
	/* By each place's own clocks where they were read: what its waits had on a CPU is not
	 * the same in all where a virtual machine is stopped for longer than a wait. One stop
	 * of 4 ms in a switch is 1.3 % of a place's waits. */
	for (i = 0; i < PLACES; i++)
		if (a->place_off_ns[i].most) {
			off_check(place[i], got[i], a->place_off_ns[i], SUM_OFF);
			check_share(a, got, i);
		} else {
			check_near(place[i], got[i], sum, want[i], whole, SHARE_OFF);
		}
	sum = value_of(run->folded, driver, NULL);
	if (other)
		sum += value_of(run->folded, other, NULL);
	off_check("sum", sum, a->off_ns, SUM_OFF);
	/* the thread's own frames alone */
	CHECK_INT(value_of(run->folded, "waits_in_a", "irq_work"), 0);
	CHECK_OK(unlink(run->folded));
}

/* It has switched at least @least and less than @less times a second. */
static void check_rate(const struct answer *a, uint32_t ms, int64_t least, int64_t less)
{
	int64_t rate = a->switches * 1000 / ms;

	printf("  %lld switches a second\n", (long long)rate);
	if (rate < least) /* a busy machine: what follows holds at any rate */
		printf("  fewer than the %lld that are meant\n", (long long)least);
	CHECK(rate < less);
}

static void check_sleeps(char what, uint64_t flags, uint32_t ms, bool moves)
{
	struct run run = begin(what, SAMPLES, flags);
	struct answer a;

	run.moves = moves;
	if (what == SLOW_SLEEPS)
		place_on(run.child.pid, 0);
	a = work(&run, what, ms);
	if (what == SLOW_SLEEPS)
		check_rate(&a, ms, SLOW_LEAST, SLOW_MOST);
	finish(&run);
	check_profile(&run, &a, ";drive;", NULL);
}

static void test_sleeps(void)
{
	check_sleeps(SLEEPS, 0, FEW_MS, false);
	check_sleeps(SLOW_SLEEPS, 0, FEW_MS, false);
	check_sleeps(SLOW_SLEEPS, 0, FEW_MS, true);
}

/* The programs of older kernels. */
static void test_forms(void)
{
	check_sleeps(SLEEPS, OTELPROF_NO_BPF_LOOP, FEW_MS / 2, false);
	check_sleeps(SLEEPS, OTELPROF_NO_TAIL_CALLS, FEW_MS / 2, false);
}

static void check_pair(char what, uint32_t samples, int64_t switches, bool moves)
{
	struct run run = begin(what, samples, 0);
	uint32_t ms = MANY_MS;
	struct answer a;

	run.moves = moves;
	a = work(&run, what, ms);
	check_rate(&a, ms, switches, INT64_MAX);
	finish(&run);
	check_profile(&run, &a, ";drive;", ";other_of_the_pair;");
}

static void test_pinned(void)
{
	check_pair(PINNED, SAMPLES, PINNED_LEAST, false);
}

/* As often, and both threads go from CPU to CPU every 20 ms. */
static void test_moved(void)
{
	check_pair(PINNED, SAMPLES, PINNED_LEAST, true);
}

/* One of two threads goes, so that they are on one CPU and on two by turns. */
static void test_migrating(void)
{
	check_pair(MIGRATING, FEW_SAMPLES, 0, false);
}

static void test_short_lived(void)
{
	struct run run = begin(SHORT_LIVED, SAMPLES, 0);
	struct answer a = work(&run, SHORT_LIVED, FEW_MS);

	finish(&run);
	check_profile(&run, &a, ";short_lived;", NULL);
}

/* What a rule left out is sampled as soon as the rule is gone. */
static void test_a_rule_ends_at_once(void)
{
	struct run run = begin(SLEEPS, SAMPLES, 0);
	struct otelprof_rule rule;
	struct answer a;
	uint64_t number;

	otelprof_rule_init(&rule, sizeof(rule));
	rule.kind = OTELPROF_MATCH_PID;
	rule.action = OTELPROF_RULE_EXCLUDE;
	rule.number = (uint64_t)run.child.pid;
	CHECK_OK(otelprof_add_rule(run.p, &rule, &number));
	(void)work(&run, SLEEPS, 2 * WARM_MS);
	CHECK_OK(otelprof_remove_rule(run.p, number));
	a = work(&run, SLEEPS, FEW_MS / 2);
	finish(&run);
	check_profile(&run, &a, ";drive;", NULL);
}

/* Nothing of what is told after a pause began before its end: one thread cannot have been
 * off the CPUs for longer than since then. */
static void test_a_pause_is_not_told_of(void)
{
	struct run run = begin(SLEEPS, SAMPLES, 0);
	int64_t since_ns;
	int64_t ns;

	CHECK_OK(otelprof_pause(run.p));
	(void)work(&run, SLEEPS, PAUSE_MS);
	CHECK_OK(otelprof_resume(run.p));
	since_ns = off_clock_ns(CLOCK_MONOTONIC);
	(void)work(&run, SLEEPS, WARM_MS);
	since_ns = off_clock_ns(CLOCK_MONOTONIC) - since_ns;
	finish(&run);
	ns = value_of(run.folded, "", NULL);
	printf("  off for %lld ns in %lld\n", (long long)ns, (long long)since_ns);
	CHECK(ns > since_ns / 2 && ns < since_ns + since_ns / 1000 * SUM_OFF);
	CHECK_OK(unlink(run.folded));
}

static void test_nothing_is_loaded_while_off(void)
{
	kind_check_loaded(OTELPROF_KIND_OFF_CPU, "op_off_cpu", "op_off_switched");
}

TEST_MAIN({ "sleeps", test_sleeps }, { "pinned", test_pinned }, { "moved", test_moved },
	  { "migrating", test_migrating }, { "short-lived", test_short_lived },
	  { "forms", test_forms }, { "rule", test_a_rule_ends_at_once },
	  { "pause", test_a_pause_is_not_told_of },
	  { "off", test_nothing_is_loaded_while_off })
