/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kind goroutines, a snapshot of all goroutines: docs/kinds/goroutines.md.
 * lib/parts/goroutines takes it. And the kind heap_live, what is in use of the heap, which is
 * switched on with heap: lib/parts/heap takes it, and lib/parts/goroutines that of Go programs.
 * Both kinds need the list of processes that one program makes.
 */
#include <linux/bpf.h>

#include "base/macros.h"
#include "kernel/kinds/kind.h"

#include "goroutines.object.h"

static const char *const STATE[OP_GOROUTINE_STATES] = {
	[OP_GOROUTINE_RUNNING] = "running",	[OP_GOROUTINE_RUNNABLE] = "runnable",
	[OP_GOROUTINE_SYSCALL] = "syscall",	[OP_GOROUTINE_WAITING] = "waiting",
	[OP_GOROUTINE_PREEMPTED] = "preempted", [OP_GOROUTINE_LEAKED] = "leaked",
};

/* lib/parts/goroutines relies on this order. */
static const struct op_kind_hook HOOKS[] = {
	{ NULL, "op_goroutines" },
};

static const struct op_otlp_kind ROWS[] = {
	{ OP_EVENT_GOROUTINES, OP_OTLP_COUNT, "goroutines", "count", OP_OTLP_PERIOD_ONE,
	  "goroutines", "count" },
};

#define LIVE_ROW(of_shape, of_type, of_unit)                                             \
	.event = OP_EVENT_HEAP_LIVE, .shape = of_shape, .type = of_type,                 \
	.unit = of_unit, .period = OP_OTLP_PERIOD_ONE, .period_type = "space",           \
	.period_unit = "bytes"

static const struct op_otlp_kind LIVE_ROWS[] = {
	{ LIVE_ROW(OP_OTLP_SUM, "inuse_space", "bytes") },
	{ LIVE_ROW(OP_OTLP_COUNT, "inuse_objects", "count") },
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

const struct op_kind op_kind_heap_live = {
	.event = OP_EVENT_HEAP_LIVE,
	.name = "heap_live",
	.says = "the heaps of Go programs",
	.object = &op_goroutines_object,
	.program_type = BPF_PROG_TYPE_TRACING,
	.hooks = HOOKS,
	.hooks_len = OP_ARRAY_SIZE(HOOKS),
	.snapshot = true,
	.optional = true,
	.hidden = true,
	.rows = LIVE_ROWS,
	.rows_len = OP_ARRAY_SIZE(LIVE_ROWS),
};
