/* SPDX-License-Identifier: Apache-2.0 */
/* The kind locks, waits for locks: docs/kinds/locks.md. */
#include <linux/bpf.h>

#include "base/macros.h"
#include "kind/off.h"

#include "locks.object.h"

/* The entry program runs in the interrupt that the other program requests. */
static const struct op_kind_hook HOOKS[] = {
	{ OP_KIND_INTERRUPT, NULL },
	{ "sched_switch", "op_locks_switched" },
};

/* A value holds both the number of waits and their time. */
static const struct op_otlp_kind ROWS[] = {
	{ .event = OP_EVENT_LOCKS,
	  .shape = OP_OTLP_SUM,
	  .type = "contentions",
	  .unit = "count",
	  .period = OP_OTLP_PERIOD_ONE,
	  .period_type = "contentions",
	  .period_unit = "count",
	  .shift = OP_LOCKS_COUNT_SHIFT,
	  .mask = OP_LOCKS_COUNT_MAX },
	{ .event = OP_EVENT_LOCKS,
	  .shape = OP_OTLP_SUM,
	  .type = "delay",
	  .unit = "nanoseconds",
	  .period = OP_OTLP_PERIOD_ONE,
	  .period_type = "contentions",
	  .period_unit = "count",
	  .mask = OP_LOCKS_DELAY_MAX },
};

const struct op_kind op_kind_locks = {
	.event = OP_EVENT_LOCKS,
	.name = "locks",
	.says = "sampling of waits for locks",
	.object = &op_locks_object,
	.program_type = BPF_PROG_TYPE_RAW_TRACEPOINT,
	.slots = 1,
	.hooks = HOOKS,
	.hooks_len = OP_ARRAY_SIZE(HOOKS),
	.size = op_kind_off_size,
	.kicks = true,
	.rows = ROWS,
	.rows_len = OP_ARRAY_SIZE(ROWS),
	.kernel_from = "__schedule",
};
