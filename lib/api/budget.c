/* SPDX-License-Identifier: Apache-2.0 */
#include "api/budget.h"

#include "base/macros.h"

/* Delivery works in bursts, one for each window, so the mean that decides spans several
 * of them. */
#define FAST_SECONDS 1.0
#define SLOW_SECONDS 5.0
/* In seconds of the budget: the most that is saved for a burst, and the most that is
 * paid back later. */
#define SAVED_SECONDS 1.0
#define OWED_SECONDS  10.0
/* The time in which CPU time above the budget is paid back. */
#define PAID_SECONDS 8.0
/* CPU seconds per second, more than possible. */
#define UNKNOWN 1e6
/* The share of the budget to aim at, so that unforeseen work stays within it. */
#define AIM 0.9
/* In budgets: above this the rate is lowered at once. */
#define FAR_ABOVE 1.5
/* In budgets: what work may take if nothing is saved, and if more than a second of the
 * budget is owed. The first SPARE_SECONDS that are saved belong to samples. */
#define WORK	      0.3
#define WORK_IN_DEBT  0.1
#define SPARE_SECONDS 0.5

enum {
	/* time between a change of the rate and one that lowers it */
	LOWER_NS = 500000000,
};
/* Between a change of the rate and one that raises it. It doubles up to RAISE_SHIFT_MAX
 * times if a raised rate is lowered again within UNDONE_NS. */
#define RAISE_NS	UINT64_C(5000000000)
#define UNDONE_NS	UINT64_C(10000000000)
#define RAISE_SHIFT_MAX 3
/* The most that one change raises the rate by. */
#define RAISE 2.0

static double clamp(double v, double least, double most)
{
	return v < least ? least : v > most ? most : v;
}

/* Work took @work CPU seconds in @seconds. If the names of one file take more than is
 * left, only work pays that back, until something is saved. */
static void add_work(struct op_budget *b, double seconds, double work)
{
	double part = (b->debt > b->share ? WORK_IN_DEBT : WORK) * b->share;

	b->work += (work / seconds - b->work) * seconds / (seconds + SLOW_SECONDS);
	b->left = OP_MIN(b->left - work + part * seconds, part);
	b->left = OP_MAX(b->left, b->balance - SPARE_SECONDS * b->share);
}

/* In @seconds the profiler used @cpu_seconds of CPU time, @work of it for work. */
static void add(struct op_budget *b, double seconds, double cpu_seconds, double work)
{
	double used = (cpu_seconds - work) / seconds;

	b->fast += (used - b->fast) * seconds / (seconds + FAST_SECONDS);
	b->slow += (used - b->slow) * seconds / (seconds + SLOW_SECONDS);
	b->last[2] = b->last[1];
	b->last[1] = b->last[0];
	b->last[0] = used;
	b->debt = clamp(b->debt + cpu_seconds - b->share * seconds, 0,
			OWED_SECONDS * b->share);
	b->balance = clamp(b->balance + b->share * seconds - cpu_seconds,
			   -OWED_SECONDS * b->share, SAVED_SECONDS * b->share);
	add_work(b, seconds, work);
}

/* What samples may use per second. */
static double room(const struct op_budget *b)
{
	return b->share - OP_MIN(b->work, WORK * b->share);
}

/* Change the rate to @next, within limits, and scale the measured use to the new rate. */
static uint32_t change(struct op_budget *b, uint64_t now_ns, uint32_t hz, double next)
{
	uint32_t rate = (uint32_t)clamp(next, 1, b->asked_hz);
	double factor = (double)rate / hz;

	if (rate == hz)
		return hz;
	if (rate < hz && b->raised && now_ns < b->changed_ns + UNDONE_NS)
		b->raise_shift = OP_MIN(b->raise_shift + 1u, RAISE_SHIFT_MAX + 0u);
	else if (rate > hz && b->raised)
		b->raise_shift -= b->raise_shift > 0;
	b->raised = rate > hz;
	b->fast *= factor;
	b->slow *= factor;
	b->last[0] *= factor;
	b->last[1] *= factor;
	b->last[2] *= factor;
	b->changed_ns = now_ns;
	b->changes++;
	return rate;
}

/* The lowest use of the last checks. No burst lasts that long. */
static double sure(const struct op_budget *b)
{
	return OP_MIN(b->last[0], OP_MIN(b->last[1], b->last[2]));
}

/*
 * Will the mean of ten seconds be above @may? The estimate takes the last five seconds,
 * and five more at the present use without bursts. Use above the budget so far is
 * deducted from @may.
 */
static bool will_be_above(const struct op_budget *b, double may)
{
	return (b->slow + sure(b)) / 2 > may - b->debt / PAID_SECONDS;
}

/* The present use: the highest of the means. */
static double most(const struct op_budget *b)
{
	return OP_MAX(OP_MAX(b->slow, b->fast), sure(b));
}

void op_budget_report_lost(struct op_budget *b, uint64_t now_ns, uint64_t lost)
{
	if (lost != b->lost)
		b->lost_ns = now_ns;
	b->lost = lost;
}

int64_t op_budget_left_ns(const struct op_budget *b)
{
	return (int64_t)(b->left * OP_NS_PER_S);
}

bool op_budget_count(struct op_budget *b, uint64_t now_ns, uint64_t used_ns,
		     uint64_t worked_ns)
{
	if (b->share <= 0)
		return false;
	if (!b->checked_ns) {
		b->checked_ns = b->changed_ns = now_ns;
		b->used_ns = used_ns;
		b->worked_ns = worked_ns;
		/* the first two checks decide by themselves */
		b->last[0] = UNKNOWN;
		b->balance = SAVED_SECONDS * b->share;
		b->left = b->balance - SPARE_SECONDS * b->share;
	}
	if (now_ns < b->checked_ns + OP_BUDGET_CHECK_NS)
		return false;
	add(b, (double)(now_ns - b->checked_ns) / OP_NS_PER_S,
	    (double)(used_ns - b->used_ns) / OP_NS_PER_S,
	    (double)(worked_ns - b->worked_ns) / OP_NS_PER_S);
	b->checked_ns = now_ns;
	b->used_ns = used_ns;
	b->worked_ns = worked_ns;
	return true;
}

uint32_t op_budget_rate(struct op_budget *b, uint64_t now_ns, uint64_t used_ns,
			uint64_t worked_ns, uint32_t hz)
{
	double owed;
	double aim;
	double may;

	if (!op_budget_count(b, now_ns, used_ns, worked_ns))
		return hz;
	owed = OP_MIN(b->balance, 0.0);
	may = room(b);
	aim = OP_MAX(AIM * may - b->debt / PAID_SECONDS, may / 10);
	/* Lower the rate in three cases: the use of some seconds is above the budget, or
	 * will be; a second of the budget is owed, and the present use is above it; use
	 * is far above it, and not in a burst. */
	if ((b->slow > may || will_be_above(b, may) ||
	     (owed < -b->share && b->fast > may) || sure(b) > FAR_ABOVE * may) &&
	    now_ns >= b->changed_ns + LOWER_NS)
		return change(b, now_ns, hz, hz * clamp(aim / most(b), 0.1, AIM));
	if (hz < b->asked_hz && b->slow < 0.7 * may && owed >= 0 &&
	    now_ns >= OP_MAX(b->changed_ns, b->lost_ns) + (RAISE_NS << b->raise_shift))
		return change(b, now_ns, hz,
			      OP_MAX(hz + 1.0, hz * clamp(aim / b->slow, 1, RAISE)));
	return hz;
}

uint32_t op_budget_scaled(uint32_t hz, uint32_t from, uint32_t to)
{
	/* to the nearest */
	uint64_t scaled = ((uint64_t)hz * to + from / 2) / from;

	return (uint32_t)OP_MAX(scaled, UINT64_C(1));
}
