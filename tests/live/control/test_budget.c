/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A budget of CPU time on a live process: at 1,000 samples a second the profiler would use many
 * times of it, so the rate goes down until it fits, and what the samples stand for is still the
 * time that the process had. When there is room again the rate goes up.
 */
#include <otelprof/otelprof.h>
#include <string.h>

#include "kind_profile.h"
#include "stats.h"
#include "test.h"

enum {
	ASKED_HZ = 1000,
	START_MS = 2000,
	PART = 3,	   /* of what all samples cost is the budget */
	SETTLE_MS = 15000, /* until the first second, which is far above, is paid back */
	MEASURE_MS = 15000,
	POLL_MS = 20,
	POLLS = 50000,
	FRAMES = 400,
	NS_PER_MS = 1000000,
};

/* Many frames, so that a sample costs much more than what else there is to do. */
static PLACE void works_here(int depth)
{
	if (depth)
		works_here(depth - 1);
	while (!depth)
		STAYS("works");
	STAYS("calls");
}

static void serve(int from, int to)
{
	char c = 0;

	if (read(from, &c, 1) == 1 && write(to, &c, 1) == 1)
		works_here(FRAMES);
}

static int64_t cpu_ns_of(pid_t pid)
{
	clockid_t clock;

	CHECK_INT(clock_getcpuclockid(pid, &clock), 0);
	return kind_clock_ns(clock);
}

struct sum {
	int64_t ns;
	uint64_t periods; /* different ones, one behind another */
	int64_t last;
};

static void add_sample(struct kind_profile *profile, const struct otlp_sample_view *s)
{
	struct sum *sum = profile->data;

	sum->ns += s->value * s->profile->period;
	sum->periods += sum->last != s->profile->period;
	sum->last = s->profile->period;
}

static void poll_for(struct otelprof *p, int ms)
{
	int64_t until = kind_clock_ns(CLOCK_MONOTONIC) + (int64_t)ms * NS_PER_MS;

	while (kind_clock_ns(CLOCK_MONOTONIC) < until)
		CHECK_OK(otelprof_poll(p, POLL_MS));
}

/* Thousandths of a CPU that the profiler uses. */
static double used_permille(struct otelprof *p, int ms)
{
	int64_t begin = kind_clock_ns(CLOCK_MONOTONIC);
	uint64_t before = stats_of(p).cpu_ns;

	poll_for(p, ms);
	return 1000.0 * (double)(stats_of(p).cpu_ns - before) /
	       (double)(kind_clock_ns(CLOCK_MONOTONIC) - begin);
}

static struct otelprof *start(pid_t pid, uint32_t permille, struct kind_profile *profile)
{
	struct otelprof_config config;

	otelprof_config_init(&config, sizeof(config));
	config.sample_rate_hz = ASKED_HZ;
	config.cpu_budget_permille = permille;
	return kind_start(&config, pid, profile);
}

/* Thousandths of a CPU without a budget: at the whole rate, and at one sample a second, which is
 * what other processes cost that begin and end. */
static void used_without(pid_t pid, double *ret_whole, double *ret_least)
{
	struct sum sum = { 0 };
	struct kind_profile profile = { .fn = add_sample, .data = &sum };
	struct otelprof *p = start(pid, 1000000, &profile);

	poll_for(p, START_MS);
	*ret_whole = used_permille(p, MEASURE_MS / 3);
	CHECK_INT(stats_of(p).rate_changes, 0);
	CHECK_OK(otelprof_set_rate(p, 1));
	*ret_least = used_permille(p, MEASURE_MS / 3);
	otelprof_free(p);
	printf("  %.2f thousandths of a CPU without a budget; %.2f at 1 a second\n",
	       *ret_whole, *ret_least);
}

static void test_the_budget_holds(void)
{
	struct kind_child c = kind_child_start(serve);
	struct sum sum = { 0 };
	struct kind_profile profile = { .fn = add_sample, .data = &sum };
	struct otelprof_stats s;
	struct otelprof *p;
	int64_t child_ns[2];
	uint32_t budget;
	double least;
	double used;
	char go = 'g';

	CHECK_INT(write(c.to, &go, 1), 1);
	CHECK_INT(read(c.from, &go, 1), 1);
	used_without(c.pid, &used, &least);
	budget = (uint32_t)(used / PART);
	if (least > 0.75 * budget)
		SKIP("other processes cost %.1f of %.1f thousandths of a CPU", least,
		     used);
	p = start(c.pid, budget, &profile);
	child_ns[0] = cpu_ns_of(c.pid);
	poll_for(p, SETTLE_MS);
	used = used_permille(p, MEASURE_MS);
	s = stats_of(p);
	printf("  %.2f of %u are used at %.0f a second; %llu changes\n", used, budget,
	       1e9 / (double)s.sample_period_ns, (unsigned long long)s.rate_changes);
	/* what other processes cost comes and goes: test_budget (unit) is exact */
	if (used > 1.5 * budget && s.sample_period_ns == 1000000000)
		SKIP("other processes cost more than that by now");
	CHECK(used <= 1.5 * budget);
	CHECK(s.rate_changes > 0 && s.sample_period_ns > 1000000000 / ASKED_HZ);
	child_ns[1] = cpu_ns_of(c.pid);
	CHECK_INT(kind_close(p), 0);
	kind_child_end(&c);
	printf("  %.3f s in the samples, %.3f s the process; %llu periods\n",
	       (double)sum.ns / 1e9, (double)(child_ns[1] - child_ns[0]) / 1e9,
	       (unsigned long long)sum.periods);
	/* a change may cost the period that is under way, up to a second at the least rate */
	CHECK(sum.ns > (child_ns[1] - child_ns[0]) * 92 / 100 &&
	      sum.ns < (child_ns[1] - child_ns[0]) * 108 / 100);
	CHECK(sum.periods > 1);
}

/* A request, and whether it came in a poll. */
struct request {
	bool polling;
	int in_polls;
	int snapshots_in_polls;
	int snapshots;
};

static int look_for_threads(void *userdata, const void *bytes, size_t len,
			    uint64_t samples)
{
	static const char type[] = "threads";
	struct request *r = userdata;
	bool found = memmem(bytes, len, type, sizeof(type) - 1) != NULL;

	r->in_polls += r->polling;
	r->snapshots_in_polls += r->polling && found;
	r->snapshots += found;
	return 0;
}

/* A poll that changes the rate walks no thread: an export may take a second for that. */
static void test_no_snapshot_in_a_poll(void)
{
	struct kind_child c = kind_child_start(serve);
	struct otelprof_callback_config callback;
	struct otelprof_config config;
	struct request r = { 0 };
	struct otelprof *p;
	char go = 'g';

	CHECK_INT(write(c.to, &go, 1), 1);
	CHECK_INT(read(c.from, &go, 1), 1);
	otelprof_config_init(&config, sizeof(config));
	config.sample_rate_hz = ASKED_HZ;
	config.cpu_budget_permille = 1;
	config.kinds = OTELPROF_KIND_CPU | OTELPROF_KIND_THREADS;
	p = kind_open(&config, c.pid);
	otelprof_callback_config_init(&callback, sizeof(callback));
	callback.fn = look_for_threads;
	callback.userdata = &r;
	CHECK_OK(otelprof_exporter_callback(p, &callback));
	CHECK_OK(otelprof_start(p));
	r.polling = true;
	poll_for(p, START_MS);
	r.polling = false;
	CHECK(stats_of(p).rate_changes > 0);
	CHECK(r.in_polls > 0);
	CHECK_INT(r.snapshots_in_polls, 0);
	CHECK_OK(otelprof_export(p));
	CHECK_INT(r.snapshots, 1);
	otelprof_free(p);
	kind_child_end(&c);
}

/* Waiting for work is the profiler's CPU time, too. */
static void test_waiting_counts(void)
{
	struct kind_child c = kind_child_start(serve);
	struct sum sum = { 0 };
	struct kind_profile profile = { .fn = add_sample, .data = &sum };
	struct otelprof *p = start(c.pid, 1000000, &profile);
	uint64_t counted = stats_of(p).cpu_ns;
	int64_t used = kind_clock_ns(CLOCK_THREAD_CPUTIME_ID);
	int i;

	for (i = 0; i < POLLS; i++)
		CHECK_OK(otelprof_poll(p, 0));
	used = kind_clock_ns(CLOCK_THREAD_CPUTIME_ID) - used;
	counted = stats_of(p).cpu_ns - counted;
	printf("  %.1f ms are counted of %.1f\n", (double)counted / 1e6,
	       (double)used / 1e6);
	CHECK((double)counted > 0.65 * (double)used);
	CHECK_INT(kind_close(p), 0);
	kind_child_end(&c);
}

TEST_MAIN({ "waiting_counts", test_waiting_counts },
	  { "no_snapshot_in_a_poll", test_no_snapshot_in_a_poll },
	  { "the_budget_holds", test_the_budget_holds })
