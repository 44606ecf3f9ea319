/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Reads user registers and thread pointers of tasks. */
#ifndef OP_REGISTERS_H
#define OP_REGISTERS_H

#include <bpf/bpf_core_read.h>

#include "bpf/event/task.h"

enum {
	/* THREAD_SIZE of kernels before 5.15, which lack bpf_task_pt_regs() */
	OP_THREAD_BYTES = 16384,
};

/* The address of the user registers of @task, for kernels without bpf_task_pt_regs(). */
static __always_inline struct pt_regs *op_stack_registers(struct task_struct *task)
{
	char *end = (char *)BPF_CORE_READ(task, stack) + OP_THREAD_BYTES;

	return (struct pt_regs *)(end - bpf_core_type_size(struct pt_regs));
}

/* The user registers of @task, which the kernel saved at its entry. @task: the current one,
 * or that of an iterator. */
static __always_inline struct pt_regs *op_task_registers(struct task_struct *task)
{
	if (bpf_core_enum_value_exists(enum bpf_func_id___probe,
				       BPF_FUNC_task_pt_regs___probe))
		return (struct pt_regs *)bpf_task_pt_regs(task);
	return op_stack_registers(task);
}

#if defined(__TARGET_ARCH_x86)
#include "bpf/walk/registers_x86_64.h"
#else
#include "bpf/walk/registers_aarch64.h"
#endif

/* Like op_syscall_of(), for @task. */
static __always_inline __s32 op_saved_syscall(struct task_struct *task)
{
	return op_syscall_of(op_task_registers(task));
}

#endif
