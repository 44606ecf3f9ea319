/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rate that a budget of CPU time sets, on a simulated machine. The cost of a sample
 * changes, and a part of the cost comes once a window.
 */
#include "api/budget.h"

#include "test.h"

#define SHARE	 0.01
#define ASKED_HZ 100

enum {
	STEP_NS = 50000000,
	STEPS_A_SECOND = 20,
	WINDOW_STEPS = 100,
	MOST_SECONDS = 600,
	TEN_SECONDS = 10 * STEPS_A_SECOND,
};

struct machine {
	struct op_budget budget;
	uint32_t hz;
	double at_once; /* cost of a second's samples at ASKED_HZ, as a share of a CPU */
	double used;	/* CPU seconds */
	double owed;	/* of them, what the end of the window will cost */
	double worked;	/* of them, what no rate lowers */
	double backlog; /* of that, what is still to be done */
	double piece;	/* at once, at least */
	bool hastens;	/* it does not wait until it may */
	bool starved; /* other load leaves it no time: most samples are lost, at no cost */
	uint64_t lost;
	double history[MOST_SECONDS * STEPS_A_SECOND];
	int steps;
};

static struct machine *machine_new(double at_once)
{
	static struct machine m;

	memset(&m, 0, sizeof(m));
	m.budget.share = SHARE;
	m.budget.asked_hz = m.hz = ASKED_HZ;
	m.at_once = at_once;
	return &m;
}

/* Take pieces of the work while some time is left for it. */
static void work(struct machine *m, double *left)
{
	while (m->backlog > 0 && (m->hastens || *left > 0)) {
		double piece = m->piece < m->backlog ? m->piece : m->backlog;

		m->backlog -= piece;
		m->worked += piece;
		m->used += piece;
		*left -= piece;
	}
}

static void run(struct machine *m, int seconds)
{
	double left = 0;
	int i;

	for (i = 0; i < seconds * STEPS_A_SECOND; i++) {
		double cost = m->at_once * m->hz / ASKED_HZ / STEPS_A_SECOND;

		if (m->starved) {
			cost /= 10;
			op_budget_report_lost(&m->budget, (uint64_t)m->steps * STEP_NS,
					      ++m->lost);
		}
		m->owed += 0.4 * cost;
		m->used += 0.6 * cost;
		if (m->steps % WINDOW_STEPS == 0) {
			m->used += m->owed;
			m->owed = 0;
		}
		work(m, &left);
		m->history[m->steps++] = m->used;
		m->hz = op_budget_rate(&m->budget, (uint64_t)m->steps * STEP_NS,
				       (uint64_t)(m->used * 1e9),
				       (uint64_t)(m->worked * 1e9), m->hz);
		if (m->budget.checked_ns == (uint64_t)m->steps * STEP_NS)
			left = (double)op_budget_left_ns(&m->budget) / 1e9;
	}
}

/* The largest share of any ten seconds, from second @from on. */
static double most(const struct machine *m, int from)
{
	double found = 0;
	int i;

	for (i = from * STEPS_A_SECOND; i + TEN_SECONDS < m->steps; i++) {
		double share = (m->history[i + TEN_SECONDS] - m->history[i]) / 10;

		found = share > found ? share : found;
	}
	return found;
}

static void test_a_cheap_load_keeps_its_rate(void)
{
	struct machine *m = machine_new(0.5 * SHARE);

	run(m, 120);
	CHECK_INT(m->hz, ASKED_HZ);
	CHECK_INT(m->budget.changes, 0);
}

static void test_no_budget_no_change(void)
{
	struct machine *m = machine_new(100 * SHARE);

	m->budget.share = 0;
	run(m, 60);
	CHECK_INT(m->hz, ASKED_HZ);
}

static void test_a_costly_load_stays_within_the_budget(void)
{
	static const double costs[] = { 1.2, 2, 5, 20, 60 };
	size_t i;

	for (i = 0; i < sizeof(costs) / sizeof(costs[0]); i++) {
		struct machine *m = machine_new(costs[i] * SHARE);
		double share;

		run(m, 240);
		share = most(m, 20);
		printf("  %.1f times the budget: rate %u, at most %.2f of it in ten seconds, "
		       "%.2f at the beginning, %llu changes\n",
		       costs[i], m->hz, share / SHARE, most(m, 0) / SHARE,
		       (unsigned long long)m->budget.changes);
		CHECK(share <= 1.1 * SHARE);
		CHECK(m->hz >= 1);
		/* from the beginning, where it is not many times too much */
		CHECK(costs[i] > 5 || most(m, 0) <= 1.12 * SHARE);
		/* what was raised in vain is not raised again at once */
		CHECK(m->budget.changes <= 40);
		/* and uses what it may, where a whole rate comes near it */
		CHECK(costs[i] > 20 || share >= 0.5 * SHARE);
	}
}

static void test_a_storm_comes_and_goes(void)
{
	struct machine *m = machine_new(0.5 * SHARE);

	run(m, 60);
	m->at_once = 8 * SHARE;
	run(m, 60);
	CHECK(m->hz < ASKED_HZ / 4);
	m->at_once = 0.5 * SHARE;
	run(m, 60);
	CHECK_INT(m->hz, ASKED_HZ);
	printf("  at most %.2f of the budget in ten seconds, where the storm begins\n",
	       most(m, 0) / SHARE);
	CHECK(most(m, 0) <= 1.1 * SHARE);
}

/* A storm of somewhat more than the budget, too: the rate must not wait for the means. */
static void test_a_small_storm(void)
{
	static const double costs[] = { 1.1, 1.3, 1.5, 2, 3 };
	size_t i;

	for (i = 0; i < sizeof(costs) / sizeof(costs[0]); i++) {
		struct machine *m = machine_new(0.3 * SHARE);

		run(m, 60);
		m->at_once = costs[i] * SHARE;
		run(m, 120);
		printf("  %.1f times the budget: at most %.2f of it in ten seconds, rate %u\n",
		       costs[i], most(m, 0) / SHARE, m->hz);
		CHECK(most(m, 0) <= 1.1 * SHARE);
		CHECK(most(m, 100) >= 0.6 * SHARE);
	}
}

/* Tables and names of large files are wanted in a storm, in pieces of half a second's budget. They
 * wait, and all are made at last. */
static void test_work_waits(void)
{
	static const double storms[] = { 0.3, 1.4, 8 };
	size_t i;

	for (i = 0; i < sizeof(storms) / sizeof(storms[0]); i++) {
		struct machine *m = machine_new(0.3 * SHARE);
		double waited;

		m->piece = SHARE / 2;
		run(m, 60);
		m->at_once = storms[i] * SHARE;
		m->backlog = 10 * SHARE;
		run(m, 100);
		waited = most(m, 0);
		CHECK(m->backlog <= 0);

		m = machine_new(0.3 * SHARE);
		m->piece = SHARE / 2;
		m->hastens = true;
		run(m, 60);
		m->at_once = storms[i] * SHARE;
		m->backlog = 10 * SHARE;
		run(m, 100);
		printf("  storm of %.1f times the budget: at most %.2f of it in ten seconds, and "
		       "%.2f if it does not wait\n",
		       storms[i], waited / SHARE, most(m, 0) / SHARE);
		CHECK(waited <= 1.1 * SHARE);
		CHECK(most(m, 0) > 1.15 * SHARE);
	}
}

static void test_never_above_the_configured_rate(void)
{
	struct machine *m = machine_new(5 * SHARE);

	run(m, 60);
	m->budget.asked_hz = m->hz = 7;
	m->at_once = 0;
	run(m, 300);
	CHECK_INT(m->hz, 7);
}

/* The rate is not raised by what is lost, and is when nothing is lost any more. */
static void test_what_is_lost_is_not_paid_for(void)
{
	struct machine *m = machine_new(4 * SHARE);
	uint32_t hz;

	run(m, 60);
	hz = m->hz;
	m->starved = true;
	run(m, 60);
	CHECK(m->hz <= hz);
	m->starved = false;
	run(m, 60);
	CHECK(most(m, 0) <= 1.1 * SHARE);
	m->at_once = 0.5 * SHARE;
	run(m, 120);
	CHECK_INT(m->hz, ASKED_HZ);
}

/* A rule with a higher rate comes and goes. */
static void test_scaled_and_back(void)
{
	uint32_t hz;
	int i;

	for (hz = 1; hz <= 20; hz++) {
		uint32_t rate = hz;

		for (i = 0; i < 10; i++)
			rate = op_budget_scaled(op_budget_scaled(rate, 20, 199), 199, 20);
		CHECK_INT(rate, hz);
	}
	CHECK_INT(op_budget_scaled(1, 1000, 10), 1);
	CHECK_INT(op_budget_scaled(99, 99, 999), 999);
}

TEST_MAIN({ "a_cheap_load_keeps_its_rate", test_a_cheap_load_keeps_its_rate },
	  { "no_budget_no_change", test_no_budget_no_change },
	  { "a_costly_load_stays_within_the_budget",
	    test_a_costly_load_stays_within_the_budget },
	  { "a_storm_comes_and_goes", test_a_storm_comes_and_goes },
	  { "a_small_storm", test_a_small_storm }, { "work_waits", test_work_waits },
	  { "never_above_the_configured_rate", test_never_above_the_configured_rate },
	  { "what_is_lost_is_not_paid_for", test_what_is_lost_is_not_paid_for },
	  { "scaled_and_back", test_scaled_and_back })
