/* SPDX-License-Identifier: Apache-2.0 */
/* The kind cpu, time on the CPUs: the clock of each CPU ticks at the configured rate. Some
 * kernels have no ticks on an idle CPU, so where idle time counts, switches say how long it was. */
#include <linux/bpf.h>
#include <linux/perf_event.h>

#include "base/macros.h"
#include "kernel/kinds/kind.h"

#include "cpu.object.h"

static void cpu_event(uint32_t i, const struct op_kind_options *options,
		      struct perf_event_attr *ret)
{
	op_kind_clock(i, options, ret);
	if (i == OP_CPU_TICKS)
		return;
	ret->config = PERF_COUNT_SW_CONTEXT_SWITCHES;
	ret->sample_period = 1;
}

const struct op_kind op_kind_cpu = {
	.event = OP_EVENT_CPU,
	.object = &op_cpu_object,
	.program_type = BPF_PROG_TYPE_PERF_EVENT,
	.slots = 1,
	.perf_events = 2,
	.idle_events = 1,
	.perf_event = cpu_event,
	.ticks = true,
};
