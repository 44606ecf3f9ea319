/* SPDX-License-Identifier: Apache-2.0 */
/* The kind cpu, time on the CPUs: the clock of each CPU ticks at the configured rate. */
#include <linux/bpf.h>
#include <linux/perf_event.h>

#include "base/macros.h"
#include "kernel/kinds/kind.h"

#include "cpu.object.h"

static void clock_event(uint32_t i, const struct op_kind_options *options,
			struct perf_event_attr *ret)
{
	op_kind_clock(i, options, ret);
	ret->exclude_idle = !options->idle;
}

static const struct op_otlp_kind ROWS[] = {
	{ OP_EVENT_CPU, OP_OTLP_TIMES, "samples", "count", OP_OTLP_PERIOD_WINDOW, "cpu",
	  "nanoseconds" },
};

const struct op_kind op_kind_cpu = {
	.event = OP_EVENT_CPU,
	.name = "cpu",
	.says = "sampling of the CPUs",
	.object = &op_cpu_object,
	.program_type = BPF_PROG_TYPE_PERF_EVENT,
	.slots = 1,
	.perf_events = 1,
	.perf_event = clock_event,
	.ticks = true,
	.rows = ROWS,
	.rows_len = OP_ARRAY_SIZE(ROWS),
};
