/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A budget of CPU time. Most CPU time of the profiler is spent on samples, so the budget is kept
 * by changing the sample rate. Use is measured every quarter of a second; the rate is lowered at
 * once and raised slowly, never above the rate that the caller asked for.
 *
 * What no rate lowers, unwind tables and the names of files, is work: it may take what was saved
 * before, and a share of the budget at any time. What it takes is left out of what the rate is
 * judged by, and its share is taken off what samples may use.
 */
#ifndef OP_API_BUDGET_H
#define OP_API_BUDGET_H

#include <stdbool.h>
#include <stdint.h>

/* The interval in which use is measured. */
#define OP_BUDGET_CHECK_NS UINT64_C(250000000)

struct op_budget {
	double share;	     /* CPU seconds per second; 0: no budget */
	uint32_t asked_hz;   /* the rate that the caller asked for */
	uint64_t checked_ns; /* time of the last check; 0: there was none */
	uint64_t used_ns;    /* CPU time used until then */
	uint64_t worked_ns;  /* of it, by work */
	uint64_t changed_ns; /* when the rate was last changed */
	uint64_t changes;
	uint64_t lost;	      /* samples for which the ring had no room, until now */
	uint64_t lost_ns;     /* when some were lost, at last; 0: none */
	bool raised;	      /* by the last change */
	uint32_t raise_shift; /* how often in a row that was soon undone */
	/* Without work: */
	double fast;	/* CPU seconds used per second, over the last second */
	double slow;	/* the same, over the last five seconds */
	double last[3]; /* the same between the last checks, the last one first */
	double work;	/* of work, over the last five seconds */
	/* With it: */
	double balance; /* CPU seconds that are saved or, if negative, owed */
	double debt;	/* CPU seconds above the budget, whatever was saved before */
	double left;	/* CPU seconds that work may take until the next check */
	/* What the handle counts and decides: */
	uint32_t
		wanted_hz; /* the rate to change to once the ring is empty; 0: no change */
	uint64_t wanted_ns;  /* since when it is wanted */
	uint64_t own_ns;     /* CPU time of public calls, if there is a budget */
	uint64_t entered_ns; /* that of the thread that holds the lock, when it took it */
};

/* At @now_ns the profiler has used @used_ns of CPU time in all, of it @worked_ns by work, and
 * samples at @hz. Returns the rate at which it must sample from now on; @hz: no change. */
uint32_t op_budget_rate(struct op_budget *budget, uint64_t now_ns, uint64_t used_ns,
			uint64_t worked_ns, uint32_t hz);

/* Tell how many samples had no room in the ring until now. What is lost is not paid for, so that
 * the use that is measured says nothing about a higher rate, until a while later. */
void op_budget_report_lost(struct op_budget *budget, uint64_t now_ns, uint64_t lost);

/* As op_budget_rate() without a rate, for times in which nothing is sampled. Returns whether it was time for
 * a check. */
bool op_budget_count(struct op_budget *budget, uint64_t now_ns, uint64_t used_ns,
		     uint64_t worked_ns);

/* The CPU time that work may take until the next check; not more than 0: none. */
int64_t op_budget_left_ns(const struct op_budget *budget);

/* The rate in place of @hz where @to is asked for and not @from: as far below it. What is asked
 * for and taken back leaves the rate as it was. At least 1. */
uint32_t op_budget_scaled(uint32_t hz, uint32_t from, uint32_t to);

#endif
