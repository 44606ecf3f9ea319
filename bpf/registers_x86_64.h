/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* User registers on x86-64. */
#ifndef OP_REGISTERS_ARCH_H
#define OP_REGISTERS_ARCH_H

enum {
	OP_USER_CS = 0x33, /* __USER_CS: 64-bit code */
};

static __always_inline __u64 op_task_thread_pointer(struct task_struct *task)
{
	return BPF_CORE_READ(task, thread.fsbase);
}

/*
 * The user registers at the tick. Returns whether the kernel was interrupted. sp is 0
 * where there are none (a kernel thread; a 32-bit process).
 */
static __always_inline bool op_user_registers(struct bpf_perf_event_data *ctx,
					      struct task_struct *task,
					      struct op_registers *to)
{
	volatile __u64 *volatile_cs = &ctx->cs;
	__u64 cs = *volatile_cs;
	bool in_kernel = !(cs & 3);

	to->sp = 0;
	if (!in_kernel) {
		to->reg[0] = ctx->ax;
		to->reg[1] = ctx->dx;
		to->reg[2] = ctx->cx;
		to->reg[3] = ctx->bx;
		to->reg[4] = ctx->si;
		to->reg[5] = ctx->di;
		to->reg[8] = ctx->r8;
		to->reg[9] = ctx->r9;
		to->reg[10] = ctx->r10;
		to->reg[11] = ctx->r11;
		to->reg[12] = ctx->r12;
		to->reg[13] = ctx->r13;
		to->reg[14] = ctx->r14;
		to->reg[15] = ctx->r15;
		to->pc = ctx->ip;
		to->fp = ctx->bp;
		if (cs == OP_USER_CS)
			to->sp = ctx->sp;
	} else {
		/* saved at the top of the task's kernel stack when it entered the kernel */
		struct pt_regs *regs = op_task_registers(task);

		to->reg[0] = BPF_CORE_READ(regs, ax);
		to->reg[1] = BPF_CORE_READ(regs, dx);
		to->reg[2] = BPF_CORE_READ(regs, cx);
		to->reg[3] = BPF_CORE_READ(regs, bx);
		to->reg[4] = BPF_CORE_READ(regs, si);
		to->reg[5] = BPF_CORE_READ(regs, di);
		to->reg[8] = BPF_CORE_READ(regs, r8);
		to->reg[9] = BPF_CORE_READ(regs, r9);
		to->reg[10] = BPF_CORE_READ(regs, r10);
		to->reg[11] = BPF_CORE_READ(regs, r11);
		to->reg[12] = BPF_CORE_READ(regs, r12);
		to->reg[13] = BPF_CORE_READ(regs, r13);
		to->reg[14] = BPF_CORE_READ(regs, r14);
		to->reg[15] = BPF_CORE_READ(regs, r15);
		to->pc = BPF_CORE_READ(regs, ip);
		to->fp = BPF_CORE_READ(regs, bp);
		if ((BPF_CORE_READ(regs, cs) & 0xffff) == OP_USER_CS)
			to->sp = BPF_CORE_READ(regs, sp);
	}
	to->lr = 0;
	return in_kernel;
}

#endif
