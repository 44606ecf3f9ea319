/* SPDX-License-Identifier: Apache-2.0 */
/* The kind kernel_locks, waits for locks inside the kernel: docs/kinds/locks.md. */
#include <linux/bpf.h>

#include "base/macros.h"
#include "kernel/kinds/off.h"

#include "kernel_locks.object.h"

#define NEEDS                                                                            \
	"the tracepoints lock:contention_begin and lock:contention_end, which Linux has since 5.19"

/* The entry program runs in the interrupt that the end of a wait requests. The hooks of
 * beginnings come last, so that no wait is kept whose end would be missed. */
static const struct op_kind_hook HOOKS[] = {
	{ OP_KIND_INTERRUPT, NULL },
	{ .tracepoint = "contention_end", .program = "op_lock_ended", .needs = NEEDS },
	{ .tracepoint = "contention_begin",
	  .program = "op_lock_begun",
	  .loses = true,
	  .needs = NEEDS },
};

const struct op_kind op_kind_kernel_locks = {
	.event = OP_EVENT_KERNEL_LOCKS,
	.object = &op_kernel_locks_object,
	.program_type = BPF_PROG_TYPE_RAW_TRACEPOINT,
	.slots = 2,
	.hooks = HOOKS,
	.hooks_len = OP_ARRAY_SIZE(HOOKS),
	.size = op_kind_kicks_size,
	.kicks = true,
	.begun = { "op_lock_waits", "op_lock_cpus" },
	.detail_key = OP_KIND_LOCK_KEY,
	.details = op_kind_lock_types,
	.details_len = OP_LOCK_TYPES,
	.kernel_after = "contention_end",
};
