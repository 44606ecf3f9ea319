/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* User registers on x86-64. */
#ifndef OP_REGISTERS_ARCH_H
#define OP_REGISTERS_ARCH_H

enum {
	OP_RETURN_BYTES = 8, /* of a return address on the stack */
	/* __USER32_CS; 64-bit code has __USER_CS, or with Xen PV another one */
	OP_USER32_CS = 0x23,
	OP_X32_CALL = 0x40000000, /* __X32_SYSCALL_BIT */
	OP_CALL_FUTEX = 202,
	/* those of i386 */
	OP_CALL32_FUTEX = 240,
	OP_CALL32_FUTEX_TIME64 = 422,
	OP_CALLS_ALIKE = 424, /* from here on all tables are one */
	OP_CALL_OTHER = 0x7fff,
	OP_ARCH_REGS = 16, /* entries of op_registers.reg that exist */
};

/* struct pt_regs as asm/ptrace.h defines it for user space. */
struct op_x86_regs {
	__u64 r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di;
	__u64 orig_ax, ip, cs, flags, sp, ss;
};

static __always_inline __u64 op_task_thread_pointer(struct task_struct *task)
{
	return OP_CURRENT(task, thread.fsbase);
}

/* @regs is in the last words of @to->reg, so the copy overwrites its first words. */
static __always_inline void op_copy_registers(const struct op_x86_regs *regs,
					      struct op_registers *to)
{
	__u64 r12 = regs->r12;
	__u64 r13 = regs->r13;
	__u64 r14 = regs->r14;
	__u64 r15 = regs->r15;

	to->fp = regs->bp;
	to->reg[0] = regs->ax;
	to->reg[1] = regs->dx;
	to->reg[2] = regs->cx;
	to->reg[3] = regs->bx;
	to->reg[4] = regs->si;
	to->reg[5] = regs->di;
	to->reg[8] = regs->r8;
	to->reg[9] = regs->r9;
	to->reg[10] = regs->r10;
	to->reg[11] = regs->r11;
	to->reg[12] = r12;
	to->reg[13] = r13;
	to->reg[14] = r14;
	to->reg[15] = r15;
	to->pc = regs->ip;
	to->sp = (regs->cs & 0xffff) == OP_USER32_CS ? 0 : regs->sp;
	to->lr = 0;
}

/* Read the user registers that the kernel saved at @saved when @task entered it. sp is
 * set to 0 if there are none (a kernel thread or a 32-bit process). */
static __always_inline void op_read_registers(struct task_struct *task,
					      const struct pt_regs *saved,
					      struct op_registers *to)
{
	/*
	 * One read is enough, because the order of the fields is part of the kernel's
	 * user interface. The buffer is in @to because BPF's stack is small: 512 bytes
	 * for all functions together.
	 */
	struct op_x86_regs *regs =
		(void *)&to->reg[OP_LEAF_REGS - sizeof(struct op_x86_regs) / 8];

	to->sp = 0;
	if (!bpf_probe_read_kernel(regs, sizeof(*regs), saved))
		op_copy_registers(regs, to);
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
	return BPF_CORE_READ(regs, ip);
}

static __always_inline __u64 op_called_sp(const struct pt_regs *regs)
{
	return BPF_CORE_READ(regs, sp) + 8;
}

/* When it has returned. */
static __always_inline __u64 op_returned_sp(const struct pt_regs *regs)
{
	return BPF_CORE_READ(regs, sp);
}

/* Is pc right after a breakpoint? The trap leaves it there until the kernel handles the
 * probe. Before an aligned pc the byte may be padding. */
static __always_inline bool op_is_after_breakpoint(const struct op_registers *r)
{
	__u8 code = 0;

	if (r->pc % 16)
		bpf_probe_read_user(&code, sizeof(code), (void *)(r->pc - 1));
	return code == 0xcc;
}

/* If pc is after the system call of a trampoline of uprobes: leave it. It pops %rax unless a
 * function has returned there, %r11 and %rcx, and returns. */
static __always_inline void op_leave_trampoline(struct op_registers *r)
{
	__u64 code = 0;
	__u64 words;
	__u64 to;

	bpf_probe_read_user(&code, sizeof(code), (void *)(r->pc - 2));
	if ((code & 0xffffffffffffff) == 0xc3595b4158050f)
		words = 3;
	else if ((code & 0xffffffffffff) == 0xc3595b41050f)
		words = 2;
	else
		return;
	if (bpf_probe_read_user(&to, sizeof(to), (void *)(r->sp + words * 8)))
		return;
	r->pc = to;
	r->sp += (words + 1) * 8;
}

static __always_inline __u64 op_thread_pointer_of(struct task_struct *task)
{
	return BPF_CORE_READ(task, thread.fsbase);
}

/* The number of the system call that the task with these registers is in, of 64-bit code's table;
 * negative: none, it was interrupted. */
static __always_inline __s32 op_syscall_of(struct pt_regs *regs)
{
	const char *from =
		(const char *)regs + __builtin_offsetof(struct op_x86_regs, orig_ax);
	struct {
		__u64 orig_ax, ip, cs; /* as in struct op_x86_regs */
	} saved;
	__s32 call;

	if (bpf_probe_read_kernel(&saved, sizeof(saved), from))
		return -1;
	call = (__s32)saved.orig_ax;
	if (call < 0)
		return call;
	if ((saved.cs & 0xffff) != OP_USER32_CS)
		return call & ~OP_X32_CALL;
	if (call >= OP_CALLS_ALIKE)
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
	volatile __u64 *volatile_cs = &ctx->cs;
	__u64 cs = *volatile_cs;

	if (!(cs & 3)) {
		op_saved_registers(task, to);
		return true;
	}
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
	to->sp = (cs & 0xffff) == OP_USER32_CS ? 0 : ctx->sp;
	to->lr = 0;
	return false;
}

#endif
