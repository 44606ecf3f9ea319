/* SPDX-License-Identifier: Apache-2.0 */
/* The kind threads, a snapshot of all threads: docs/kinds/threads.md. */
#include <linux/bpf.h>
#include <stdio.h>

#include "base/macros.h"
#include "kernel/kinds/kind.h"

#include "threads.object.h"

static const char *const STATE[OP_THREAD_STATES] = {
	[OP_THREAD_RUNNING] = "running",
	[OP_THREAD_RUNNABLE] = "runnable",
	[OP_THREAD_SLEEPING] = "sleeping",
	[OP_THREAD_UNINTERRUPTIBLE] = "uninterruptible",
	[OP_THREAD_STOPPED] = "stopped",
};

/* lib/parts/threads relies on this order. */
static const struct op_kind_hook HOOKS[] = {
	{ NULL, "op_threads" },
	{ NULL, "op_threads_now" },
};

const struct op_kind op_kind_threads = {
	.event = OP_EVENT_THREADS,
	.object = &op_threads_object,
	.program_type = BPF_PROG_TYPE_TRACING,
	.hooks = HOOKS,
	.hooks_len = OP_ARRAY_SIZE(HOOKS),
	.snapshot = true,
	.detail_key = "thread.state",
	.details = STATE,
	.details_len = OP_THREAD_STATES,
};
