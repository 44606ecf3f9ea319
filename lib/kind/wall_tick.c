/* SPDX-License-Identifier: Apache-2.0 */
/* Wall-clock time on the CPUs. Its samples are those of the kind wall. */
#include <linux/bpf.h>
#include <linux/perf_event.h>

#include "kind/kind.h"

#include "wall_tick.skel.h"

enum {
	NS_A_SECOND = 1000000000,
};

static void clock_event(uint32_t i, const struct op_kind_options *options,
			struct perf_event_attr *ret)
{
	(void)i;
	ret->type = PERF_TYPE_SOFTWARE;
	ret->config = PERF_COUNT_SW_CPU_CLOCK;
	ret->sample_period = NS_A_SECOND / options->rate_hz;
	ret->exclude_idle = 1;
}

const struct op_kind op_kind_wall_tick = {
	.event = OP_EVENT_WALL_TICK,
	.name = "wall_tick",
	.says = "sampling of wall-clock time on the CPUs",
	.object = op_wall_tick_bpf__elf_bytes,
	.program_type = BPF_PROG_TYPE_PERF_EVENT,
	.slots = 1,
	.perf_events = 1,
	.perf_event = clock_event,
	.ticks = true,
	.hidden = true,
};
