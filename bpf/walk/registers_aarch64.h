/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* User registers on aarch64. */
#ifndef OP_REGISTERS_ARCH_H
#define OP_REGISTERS_ARCH_H

enum {
	OP_RETURN_BYTES = 0,	    /* of a return address on the stack: it is in x30 */
	OP_PSR_MODE_MASK = 0xf,	    /* bits of pstate; 0: EL0, user mode */
	OP_PSR_MODE32 = 1 << 4,	    /* a 32-bit process */
	OP_ARM64_GENERAL_REGS = 29, /* x0 to x28 */
	OP_ARCH_REGS = 32,	    /* entries of op_registers.reg that exist */
	OP_CALL_FUTEX = 98,
	/* those of 32-bit code */
	OP_CALL32_FUTEX = 240,
	OP_CALL32_FUTEX_TIME64 = 422,
	OP_CALLS_ALIKE = 424, /* from here on all tables are one */
	OP_CALL_OTHER = 0x7fff,
};

static __always_inline __u64 op_task_thread_pointer(struct task_struct *task)
{
	return OP_CURRENT(task, thread.uw.tp_value);
}

/* Read the user registers that the kernel saved at @regs when @task entered it. sp is set
 * to 0 if there are none (a kernel thread or a 32-bit process). */
static __always_inline void op_read_registers(struct task_struct *task,
					      const struct pt_regs *regs,
					      struct op_registers *to)
{
	bpf_probe_read_kernel(to->reg, OP_ARM64_GENERAL_REGS * 8, &regs->regs[0]);
	to->fp = BPF_CORE_READ(regs, regs[29]);
	to->lr = BPF_CORE_READ(regs, regs[30]);
	to->sp = BPF_CORE_READ(regs, sp);
	to->pc = BPF_CORE_READ(regs, pc);
	if (BPF_CORE_READ(regs, pstate) & OP_PSR_MODE32)
		to->sp = 0;
	to->task_size = BPF_CORE_READ(task, mm, task_size);
}

/* Read the user registers of @task. */
static __always_inline void op_saved_registers(struct task_struct *task,
					       struct op_registers *to)
{
	op_read_registers(task, op_task_registers(task), to);
}

/* At the first instruction of a function: its address, and the sp that its caller has when it
 * returns. */
static __always_inline __u64 op_called_pc(const struct pt_regs *regs)
{
	return BPF_CORE_READ(regs, pc);
}

static __always_inline __u64 op_called_sp(const struct pt_regs *regs)
{
	return BPF_CORE_READ(regs, sp);
}

/* When it has returned. */
static __always_inline __u64 op_returned_sp(const struct pt_regs *regs)
{
	return BPF_CORE_READ(regs, sp);
}

/* The trap of a breakpoint leaves pc at it. */
static __always_inline bool op_is_after_breakpoint(const struct op_registers *r)
{
	(void)r;
	return false;
}

/* The trampoline of uprobes is one breakpoint. */
static __always_inline void op_leave_trampoline(struct op_registers *r)
{
	(void)r;
}

static __always_inline __u64 op_thread_pointer_of(struct task_struct *task)
{
	return BPF_CORE_READ(task, thread.uw.tp_value);
}

/* The number of the system call that the task with these registers is in, of 64-bit code's table;
 * negative: none, it was interrupted. */
static __always_inline __s32 op_syscall_of(struct pt_regs *regs)
{
	__s32 call = BPF_CORE_READ(regs, syscallno);

	if (call < 0 || call >= OP_CALLS_ALIKE ||
	    !(BPF_CORE_READ(regs, pstate) & OP_PSR_MODE32))
		return call;
	return call == OP_CALL32_FUTEX || call == OP_CALL32_FUTEX_TIME64 ? OP_CALL_FUTEX
									 : OP_CALL_OTHER;
}

static __always_inline bool op_is_futex(__s32 call)
{
	return call == OP_CALL_FUTEX || call == 455 ||
	       call == 449; /* futex, _wait, _waitv */
}

/* Read the user registers. The context has those of the interrupted code. Returns whether
 * that was the kernel; then the saved ones are read. */
static __always_inline bool op_user_registers(struct bpf_perf_event_data *ctx,
					      struct task_struct *task,
					      struct op_registers *to)
{
	volatile __u64 *volatile_pstate = &ctx->pstate;
	__u64 pstate = *volatile_pstate;
	int i;

	if (pstate & OP_PSR_MODE_MASK) {
		op_saved_registers(task, to);
		return true;
	}
	for (i = 0; i < OP_ARM64_GENERAL_REGS; i++)
		to->reg[i] = ctx->regs[i];
	to->fp = ctx->regs[29];
	to->lr = ctx->regs[30];
	to->sp = pstate & OP_PSR_MODE32 ? 0 : ctx->sp;
	to->pc = ctx->pc;
	to->task_size = BPF_CORE_READ(task, mm, task_size);
	return false;
}

#endif
