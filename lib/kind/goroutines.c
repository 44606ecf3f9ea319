/* SPDX-License-Identifier: Apache-2.0 */
/* The kind goroutines, a snapshot of all goroutines: docs/kinds/goroutines.md. lib/golang
 * takes it. */
#include <linux/bpf.h>

#include "base/macros.h"
#include "kind/kind.h"

#include "goroutines.object.h"

static const char *const STATE[OP_GOROUTINE_STATES] = {
	[OP_GOROUTINE_RUNNING] = "running",	[OP_GOROUTINE_RUNNABLE] = "runnable",
	[OP_GOROUTINE_SYSCALL] = "syscall",	[OP_GOROUTINE_WAITING] = "waiting",
	[OP_GOROUTINE_PREEMPTED] = "preempted", [OP_GOROUTINE_LEAKED] = "leaked",
};

/* lib/golang relies on this order. */
static const struct op_kind_hook HOOKS[] = {
	{ NULL, "op_goroutines" },
};

static const struct op_otlp_kind ROWS[] = {
	{ OP_EVENT_GOROUTINES, OP_OTLP_COUNT, "goroutines", "count", OP_OTLP_PERIOD_ONE,
	  "goroutines", "count" },
};

const struct op_kind op_kind_goroutines = {
	.event = OP_EVENT_GOROUTINES,
	.name = "goroutines",
	.says = "the snapshot of goroutines",
	.object = &op_goroutines_object,
	.program_type = BPF_PROG_TYPE_TRACING,
	.hooks = HOOKS,
	.hooks_len = OP_ARRAY_SIZE(HOOKS),
	.snapshot = true,
	.rows = ROWS,
	.rows_len = OP_ARRAY_SIZE(ROWS),
	.detail_key = "goroutine.state",
	.details = STATE,
	.details_len = OP_GOROUTINE_STATES,
};
