/* SPDX-License-Identifier: Apache-2.0 */
/* The kind wall_tick, the part of wall-clock time on the CPU. Its samples count as those
 * of wall. */
#include <linux/bpf.h>

#include "kernel/kinds/kind.h"

#include "wall_tick.object.h"

const struct op_kind op_kind_wall_tick = {
	.event = OP_EVENT_WALL_TICK,
	.name = "wall_tick",
	.says = "sampling of wall-clock time on the CPUs",
	.object = &op_wall_tick_object,
	.program_type = BPF_PROG_TYPE_PERF_EVENT,
	.slots = 1,
	.perf_events = 1,
	.perf_event = op_kind_clock,
	.ticks = true,
	.hidden = true,
};
