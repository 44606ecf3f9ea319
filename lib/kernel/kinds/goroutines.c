/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kind goroutines, a snapshot of all goroutines: docs/kinds/goroutines.md.
 * lib/parts/goroutines takes it. The kind heap_live is the memory in use, and is
 * switched on with heap. lib/parts/heap takes it, and lib/parts/goroutines takes that
 * of Go programs. Both kinds use the list of processes that one program makes.
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

const struct op_kind op_kind_goroutines = {
	.event = OP_EVENT_GOROUTINES,
	.object = &op_goroutines_object,
	.program_type = BPF_PROG_TYPE_TRACING,
	.hooks = HOOKS,
	.hooks_len = OP_ARRAY_SIZE(HOOKS),
	.snapshot = true,
	.detail_key = "goroutine.state",
	.details = STATE,
	.details_len = OP_GOROUTINE_STATES,
};

/* Looks at random moments, by lib/parts/goroutines/waits.c. */
const struct op_kind op_kind_goroutine_waits = {
	.event = OP_EVENT_GOROUTINE_WAITS,
	.object = &op_goroutines_object,
	.program_type = BPF_PROG_TYPE_TRACING,
	.hooks = HOOKS,
	.hooks_len = OP_ARRAY_SIZE(HOOKS),
	.snapshot = true,
	.detail_key = "goroutine.state",
	.details = STATE,
	.details_len = OP_GOROUTINE_STATES,
};

const struct op_kind op_kind_heap_live = {
	.event = OP_EVENT_HEAP_LIVE,
	.object = &op_goroutines_object,
	.program_type = BPF_PROG_TYPE_TRACING,
	.hooks = HOOKS,
	.hooks_len = OP_ARRAY_SIZE(HOOKS),
	.snapshot = true,
	.optional = true,
};
