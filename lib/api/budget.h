/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A budget of CPU time: nearly all that the profiler costs is done for samples, so it is kept by
 * the rate. What was used is compared every quarter of a second; the rate is lowered at once and
 * raised slowly, never above what the caller asked for.
 */
#ifndef OP_API_BUDGET_H
#define OP_API_BUDGET_H

#include <stdint.h>

/* What is used is looked at so often. */
#define OP_BUDGET_CHECK_NS UINT64_C(250000000)

struct op_budget {
	double share;	     /* CPU seconds a second; 0: no budget */
	uint32_t asked_hz;   /* by the caller */
	uint64_t checked_ns; /* time of the last check; 0: none was */
	uint64_t used_ns;    /* CPU time until then */
	uint64_t changed_ns; /* when the rate was changed last */
	uint64_t changes;
	double fast;	/* share that is used, over the last second */
	double slow;	/* over the last five */
	double balance; /* CPU seconds saved, or owed where negative */
};

/*
 * Now, at @now_ns, the profiler has used @used_ns of CPU time in all and samples at @hz. Returns
 * the rate that it is to sample at: @hz where nothing is to change.
 */
uint32_t op_budget_rate(struct op_budget *budget, uint64_t now_ns, uint64_t used_ns,
			uint32_t hz);

#endif
