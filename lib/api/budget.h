/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A budget of CPU time. Most CPU time of the profiler goes to samples, so the library
 * changes the sample rate to keep the budget. It measures use every quarter of a
 * second. It lowers the rate at once and raises it slowly, never above the caller's
 * rate.
 *
 * Work is CPU time that no rate lowers: unwind tables and names of files. It may take
 * what was saved before, and a share of the budget at any time. The rate is judged
 * without work, and samples may use the budget without the share of work.
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
	uint64_t used_ns;    /* CPU time used until the last check */
	uint64_t worked_ns;  /* the part of it that work used */
	uint64_t changed_ns; /* when the rate was last changed */
	uint64_t changes;
	uint64_t lost;	      /* samples that did not fit into the ring so far */
	uint64_t lost_ns;     /* when the last of them was lost; 0: none was */
	bool raised;	      /* the last change raised the rate */
	uint32_t raise_shift; /* how often in a row a raise was soon undone */
	/* Without work: */
	double fast;	/* CPU seconds per second, mean of the last second */
	double slow;	/* mean of the last five seconds */
	double last[3]; /* use between the last checks, newest first */
	double work;	/* of work, mean of the last five seconds */
	/* With it: */
	double balance; /* CPU seconds that are saved or, if negative, owed */
	double debt;	/* CPU seconds above the budget, whatever was saved before */
	double left;	/* CPU seconds that work may take until the next check */
	/* For the handle: */
	uint32_t wanted_hz; /* the next rate, from when the ring is empty; 0: no change */
	uint64_t wanted_ns; /* since when that change is wanted */
	uint64_t own_ns;    /* CPU time of public calls, if there is a budget */
	/* CPU time of the thread that holds the lock, when it took it */
	uint64_t entered_ns;
};

/* Note the CPU time used until @now_ns: @used_ns in all, @worked_ns of it by work, at a
 * rate of @hz. Returns the new rate, or @hz for no change. */
uint32_t op_budget_rate(struct op_budget *budget, uint64_t now_ns, uint64_t used_ns,
			uint64_t worked_ns, uint32_t hz);

/* Note that @lost samples in all did not fit into the ring. Lost samples cost nothing,
 * so for a while low use is no reason to raise the rate. */
void op_budget_report_lost(struct op_budget *budget, uint64_t now_ns, uint64_t lost);

/* Like op_budget_rate(), for times without sampling. Returns whether a check was due. */
bool op_budget_count(struct op_budget *budget, uint64_t now_ns, uint64_t used_ns,
		     uint64_t worked_ns);

/* The CPU time that work may take until the next check. 0 or less: none. */
int64_t op_budget_left_ns(const struct op_budget *budget);

/* Scale @hz from rate @from to rate @to, at least to 1. Scaling back gives the first
 * rate. */
uint32_t op_budget_scaled(uint32_t hz, uint32_t from, uint32_t to);

#endif
