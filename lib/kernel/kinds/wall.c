/* SPDX-License-Identifier: Apache-2.0 */
/* The kind wall, wall-clock time: docs/kinds/wall.md. Its part on the CPU is the kind wall_tick, whose
 * samples count as those of wall. */
#include <linux/bpf.h>
#include <stdio.h>

#include "base/macros.h"
#include "kernel/kinds/off.h"

#include "wall.object.h"
#include "wall_tick.object.h"

/* The entry program runs in the interrupt that the other program requests. */
static const struct op_kind_hook HOOKS[] = {
	{ OP_KIND_INTERRUPT, NULL },
	{ "sched_switch", "op_wall_switched", .loses = true },
};

static size_t attributes(const struct op_kind_sample *sample,
			 struct op_kind_attribute ret[OP_KIND_ATTRIBUTES_MAX])
{
	const char *state = sample->detail < OP_REASONS
				    ? op_kind_off_reasons[sample->detail]
				    : "on_cpu";

	ret[0] = (struct op_kind_attribute){ .key = "wall.state" };
	(void)snprintf(ret[0].text, sizeof(ret[0].text), "%s", state);
	return 1;
}

const struct op_kind op_kind_wall = {
	.event = OP_EVENT_WALL,
	.object = &op_wall_object,
	.program_type = BPF_PROG_TYPE_RAW_TRACEPOINT,
	.slots = 1,
	.hooks = HOOKS,
	.hooks_len = OP_ARRAY_SIZE(HOOKS),
	.size = op_kind_off_size,
	.kicks = true,
	.begun = { OP_KIND_OFF_BEGUN },
	.with = UINT64_C(1) << OP_EVENT_WALL_TICK,
	.attributes = attributes,
	.kernel_from = "__schedule",
};

const struct op_kind op_kind_wall_tick = {
	.event = OP_EVENT_WALL_TICK,
	.object = &op_wall_tick_object,
	.program_type = BPF_PROG_TYPE_PERF_EVENT,
	.slots = 1,
	.perf_events = 1,
	.perf_event = op_kind_clock,
	.ticks = true,
};
