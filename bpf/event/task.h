/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The current task, and its ids in the profiler's PID namespace. */
#ifndef OP_TASK_H
#define OP_TASK_H

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "bpf/event/settings.h"
#include "bpf/platform/maps.h"

enum {
	OP_PID_LEVELS_MAX = 32, /* the kernel's MAX_PID_NS_LEVEL */
};

/* Does the kernel give a typed pointer to the current task? Its fields are loaded
 * directly. */
static __always_inline bool op_has_typed_task(void)
{
	return bpf_core_enum_value_exists(enum bpf_func_id___probe,
					  BPF_FUNC_get_current_task_btf___probe);
}

/* The current task. On many kernels this is a call, which takes as long as some tens of
 * instructions: a function gets the task once, and passes it on. */
static __always_inline struct task_struct *op_current_task(void)
{
	return op_has_typed_task() ? bpf_get_current_task_btf()
				   : (struct task_struct *)bpf_get_current_task();
}

/* A field of @task, and a field of what its member @pointer points to. @task is from
 * op_current_task(): where that is typed, the verifier refuses to load from any other
 * pointer. */
#define OP_CURRENT(task, field)                                                          \
	(op_has_typed_task() ? (task)->field : BPF_CORE_READ(task, field))
#define OP_CURRENT_OF(task, pointer, field)                                              \
	(op_has_typed_task() ? (task)->pointer->field                                    \
			     : BPF_CORE_READ(task, pointer, field))

/* Is @task, the current one, the CPU's idle one? */
static __always_inline bool op_is_idle(struct task_struct *task)
{
	return !OP_CURRENT(task, pid);
}

/* Pages of the current process, which has memory, that hold code and cannot be written. */
static __always_inline __u64 op_code_pages(struct task_struct *task)
{
	return OP_CURRENT_OF(task, mm, exec_vm);
}

static __always_inline struct upid *op_upid_at(struct pid *pid, __u32 level)
{
	return (struct upid *)((char *)pid + bpf_core_field_offset(struct pid, numbers) +
			       level * bpf_core_type_size(struct upid));
}

/* The number of @pid at depth @level, if its namespace there is the profiler's; otherwise
 * 0. */
static __always_inline __u32 op_pid_at(struct pid *pid, __u32 level)
{
	struct upid *upid = op_upid_at(pid, level);

	if (BPF_CORE_READ(pid, level) < level ||
	    BPF_CORE_READ(upid, ns, ns.inum) != op_settings.pid_namespace)
		return 0;
	return (__u32)BPF_CORE_READ(upid, nr);
}

/*
 * The same for an ancestor of a task in that namespace, whose namespace at this depth,
 * if any, is known to be the same. Without a branch, because the loop over ancestors
 * would multiply it for the verifier.
 */
static __always_inline __u32 op_ancestor_pid(struct pid *pid, __u32 level)
{
	__s32 deeper = (__s32)(BPF_CORE_READ(pid, level) - level);

	return (__u32)BPF_CORE_READ(op_upid_at(pid, level), nr) & ~(__u32)(deeper >> 31);
}

static __always_inline __u32 op_find_pid_level(struct pid *pid)
{
	__u32 level;

	for (level = 1; level <= OP_PID_LEVELS_MAX; level++)
		if (op_pid_at(pid, level))
			return level;
	return 0;
}

/*
 * The ids of @task, which is current, in the profiler's PID namespace. False if it has none
 * there. A process cannot see the depth of its namespace, so the first task in it shows
 * the depth.
 */
static __always_inline bool op_task_ids(struct task_struct *task, __u32 *ret_pid,
					__u32 *ret_tid)
{
	__u32 tgid = (__u32)OP_CURRENT(task, tgid);
	__u32 tid = (__u32)OP_CURRENT(task, pid);
	struct op_control *control;
	__u32 level;

	*ret_pid = tgid;
	*ret_tid = tid;
	if (!op_settings.pid_namespace)
		return true;
	control = op_control();
	if (!control)
		return false;
	level = control->pid_level;
	if (!level) {
		level = op_find_pid_level(BPF_CORE_READ(task, thread_pid));
		if (!level)
			return false;
		control->pid_level = level;
	}
	*ret_tid = op_pid_at(BPF_CORE_READ(task, thread_pid), level);
	*ret_pid = *ret_tid;
	if (tgid != tid)
		*ret_pid =
			op_pid_at(BPF_CORE_READ(task, group_leader, thread_pid), level);
	return *ret_pid != 0;
}

/* Is @task on a CPU, or about to leave one? on_cpu is an int, and since Linux 7 a byte:
 * it is read with the kernel's size. A kernel for one CPU may lack it. */
static __always_inline bool op_on_cpu(struct task_struct *task)
{
	return bpf_core_field_exists(task->on_cpu) &&
	       BPF_CORE_READ_BITFIELD_PROBED(task, on_cpu);
}

/* Is the task in execve(2)? Then its user registers are those of a program whose memory
 * may be gone. */
static __always_inline bool op_task_in_exec(struct task_struct *task)
{
	if (!bpf_core_field_exists(task->in_execve))
		return false;
	return BPF_CORE_READ_BITFIELD_PROBED(task, in_execve);
}

/* The pid of @child in the profiler's PID namespace; 0 if it is a thread or has none
 * there. */
static __always_inline __u32 op_child_pid(struct task_struct *child)
{
	struct op_control *control = op_control();
	__u32 tgid = BPF_CORE_READ(child, tgid);

	if ((__u32)BPF_CORE_READ(child, pid) != tgid || !control)
		return 0;
	if (!op_settings.pid_namespace)
		return tgid;
	if (!control->pid_level)
		return 0;
	return op_pid_at(BPF_CORE_READ(child, thread_pid), control->pid_level);
}

#endif
