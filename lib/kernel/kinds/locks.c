/* SPDX-License-Identifier: Apache-2.0 */
/* The kind locks, waits for locks: docs/kinds/locks.md. */
#include <linux/bpf.h>

#include "base/macros.h"
#include "kernel/kinds/off.h"

#include "locks.object.h"

/* The entry program runs in the interrupt that the other program requests. */
static const struct op_kind_hook HOOKS[] = {
	{ OP_KIND_INTERRUPT, NULL },
	{ "sched_switch", "op_locks_switched", .loses = true },
	{ .tracepoint = "sched_waking", .program = "op_locks_woken", .wakers = true },
};

const char *const op_kind_lock_types[OP_LOCK_TYPES] = {
	[OP_LOCK_FUTEX] = "futex",
	[OP_LOCK_SPINLOCK] = "spinlock",
	[OP_LOCK_RWLOCK_READ] = "rwlock_read",
	[OP_LOCK_RWLOCK_WRITE] = "rwlock_write",
	[OP_LOCK_MUTEX] = "mutex",
	[OP_LOCK_RWSEM_READ] = "rwsem_read",
	[OP_LOCK_RWSEM_WRITE] = "rwsem_write",
	[OP_LOCK_PERCPU_RWSEM_READ] = "percpu_rwsem_read",
	[OP_LOCK_PERCPU_RWSEM_WRITE] = "percpu_rwsem_write",
	[OP_LOCK_RTMUTEX] = "rtmutex",
	[OP_LOCK_SEMAPHORE] = "semaphore",
};

const struct op_kind op_kind_locks = {
	.event = OP_EVENT_LOCKS,
	.object = &op_locks_object,
	.program_type = BPF_PROG_TYPE_RAW_TRACEPOINT,
	.slots = 1,
	.hooks = HOOKS,
	.hooks_len = OP_ARRAY_SIZE(HOOKS),
	.size = op_kind_off_size,
	.kicks = true,
	.begun = { OP_KIND_OFF_BEGUN },
	.detail_key = OP_KIND_LOCK_KEY,
	.details = op_kind_lock_types,
	.details_len = OP_LOCK_TYPES,
	.kernel_from = "__schedule",
};
