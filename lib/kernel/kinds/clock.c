/* SPDX-License-Identifier: Apache-2.0 */
/* The perf event of the kinds that tick: a software clock on each CPU, which virtual
 * machines have too. */
#include <linux/perf_event.h>

#include "base/macros.h"
#include "kernel/kinds/kind.h"

void op_kind_clock(uint32_t i, const struct op_kind_options *options,
		   struct perf_event_attr *ret)
{
	(void)i;
	ret->type = PERF_TYPE_SOFTWARE;
	ret->config = PERF_COUNT_SW_CPU_CLOCK;
	ret->sample_period = options->tick_ns;
}
