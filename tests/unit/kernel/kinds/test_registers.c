/* SPDX-License-Identifier: Apache-2.0 */
/*
 * User registers and numbers of system calls as the kernel saved them, for what no kernel here
 * has: Xen PV's segments, 32-bit and x32 code (bpf/walk/registers_*.h of both machines,
 * compiled for the host).
 */
#include <errno.h>
#include <linux/types.h>
#include <stdbool.h>
#include <string.h>

#include "test.h"

#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif
#include "op_records.h"
#include "op_types.h"

struct mm {
	__u64 task_size;
};

struct task_struct {
	struct {
		__u64 fsbase;
		struct {
			__u64 tp_value;
		} uw;
	} thread;
	struct mm *mm;
};

#ifdef TEST_AARCH64
struct pt_regs {
	__u64 regs[31], sp, pc, pstate;
	__s32 syscallno;
};
#else
/* As in struct op_x86_regs, of which this is the kernel's. */
struct pt_regs {
	__u64 r15, r14, r13, r12, bp, bx, r11, r10, r9, r8, ax, cx, dx, si, di;
	__u64 orig_ax, ip, cs, flags, sp, ss;
};
#endif
#define bpf_perf_event_data pt_regs

static struct mm memory = { .task_size = UINT64_C(1) << 39 };
static struct task_struct current_task = { .mm = &memory };
static struct pt_regs entered; /* what the kernel has of the current task */

static int read_memory(void *to, size_t len, const void *from)
{
	memcpy(to, from, len);
	return 0;
}

/* Stands in for what bpf/walk/registers.h has. */
#define CORE_1(from, field)	       ((from)->field)
#define CORE_2(from, pointer, field)   ((from)->pointer->field)
#define CORE_OF(from, a, b, core, ...) core
#define BPF_CORE_READ(from, ...)                                                         \
	CORE_OF(from, __VA_ARGS__, CORE_2, CORE_1)(from, __VA_ARGS__)
#define OP_CURRENT(task, field)		     ((task)->field)
#define op_task_registers(task)		     ((task) == &current_task ? &entered : NULL)
#define bpf_probe_read_kernel(to, len, from) read_memory(to, len, from)
#define bpf_probe_read_user(to, len, from)   read_memory(to, len, from)
#ifdef TEST_AARCH64
#include "bpf/walk/registers_aarch64.h"
#else
#include "bpf/walk/registers_x86_64.h"
#endif

static const uint64_t SP = UINT64_C(0x7ffc12345678);

/* The registers of the current task, as it entered the kernel. */
static struct op_registers saved_registers(void)
{
	struct op_registers r;

	memset(&r, 0xff, sizeof(r));
	op_saved_registers(&current_task, &r);
	return r;
}

/* Those that a sample in @regs finds; @kernel: that interrupted the kernel. */
static struct op_registers found_registers(const struct pt_regs *regs, bool kernel)
{
	struct pt_regs context = *regs;
	struct op_registers r;

	memset(&r, 0xff, sizeof(r));
	CHECK_INT(op_user_registers(&context, &current_task, &r), kernel);
	return r;
}

#ifdef TEST_AARCH64
static struct pt_regs code_of(uint64_t pstate)
{
	struct pt_regs regs = { .sp = SP, .pc = 0x400000, .pstate = pstate };
	int i;

	for (i = 0; i < 31; i++)
		regs.regs[i] = 1000 + (uint64_t)i;
	return regs;
}

static void check_whole(const struct op_registers *r)
{
	int i;

	for (i = 0; i < 29; i++)
		CHECK_INT(r->reg[i], 1000 + i);
	CHECK_INT(r->fp, 1029);
	CHECK_INT(r->lr, 1030);
	CHECK_INT(r->pc, 0x400000);
	CHECK_INT(r->sp, SP);
	CHECK_INT(r->task_size, memory.task_size);
}

static const uint64_t CODE64[] = { 0, UINT64_C(0x60000000), UINT64_C(0x80001000) };
static const uint64_t CODE32[] = { 0x10, 0x30, UINT64_C(0x60000010) };
static const uint64_t KERNEL = 0x5; /* EL1h */
enum {
	FUTEX = 98
};

static int call_of(uint64_t pstate, int32_t call)
{
	struct pt_regs regs = { .pstate = pstate, .syscallno = call };

	return op_syscall_of(&regs);
}
#else
static struct pt_regs code_of(uint64_t cs)
{
	return (struct pt_regs){ .ax = 1000,
				 .dx = 1001,
				 .cx = 1002,
				 .bx = 1003,
				 .si = 1004,
				 .di = 1005,
				 .bp = 1006,
				 .r8 = 1008,
				 .r9 = 1009,
				 .r10 = 1010,
				 .r11 = 1011,
				 .r12 = 1012,
				 .r13 = 1013,
				 .r14 = 1014,
				 .r15 = 1015,
				 .ip = 0x400000,
				 .cs = cs,
				 .sp = SP };
}

static void check_whole(const struct op_registers *r)
{
	int i;

	for (i = 0; i < 16; i++)
		if (i != 6 && i != 7)
			CHECK_INT(r->reg[i], 1000 + i);
	CHECK_INT(r->fp, 1006);
	CHECK_INT(r->pc, 0x400000);
	CHECK_INT(r->sp, SP);
}

/* The segments of Linux and of Xen PV. What is above the 16 bits of cs may be anything (FRED has
 * bits of the event there). */
static const uint64_t CODE64[] = { 0x33, 0xe033, UINT64_C(0xabcd000000020033),
				   UINT64_C(0x1e033) };
static const uint64_t CODE32[] = { 0x23, UINT64_C(0xabcd000000020023) };
static const uint64_t KERNEL = 0x10;
enum {
	FUTEX = 202
};

static int call_of(uint64_t cs, int64_t call)
{
	struct pt_regs regs = { .cs = cs, .orig_ax = (uint64_t)call };

	return op_syscall_of(&regs);
}

/* x32 code has the segment of 64-bit code, and a bit in its numbers. */
static void test_x32(void)
{
	CHECK_INT(call_of(CODE64[0], 0x40000000 + FUTEX), FUTEX);
	CHECK_INT(call_of(CODE64[1], 0x40000000 + 1), 1);
}
#endif

/* Only 64-bit code is walked; sp says so. */
static void test_stack_pointer(void)
{
	struct op_registers r;
	struct pt_regs regs;
	size_t i;

	for (i = 0; i < sizeof(CODE64) / sizeof(CODE64[0]); i++) {
		entered = regs = code_of(CODE64[i]);
		r = saved_registers();
		check_whole(&r);
		r = found_registers(&regs, false);
		check_whole(&r);
		regs = code_of(KERNEL);
		regs.sp = 1;
		r = found_registers(&regs, true);
		check_whole(&r);
	}
	for (i = 0; i < sizeof(CODE32) / sizeof(CODE32[0]); i++) {
		entered = regs = code_of(CODE32[i]);
		CHECK_INT(saved_registers().sp, 0);
		CHECK_INT(found_registers(&regs, false).sp, 0);
		regs = code_of(KERNEL);
		CHECK_INT(found_registers(&regs, true).sp, 0);
	}
}

/* futex(2) of each table, and what has its number in another one. */
static void test_futex(void)
{
	size_t i;

	for (i = 0; i < sizeof(CODE64) / sizeof(CODE64[0]); i++) {
		CHECK(op_is_futex(call_of(CODE64[i], FUTEX)));
		CHECK(op_is_futex(call_of(CODE64[i], 449)));
		CHECK(op_is_futex(call_of(CODE64[i], 455)));
		CHECK_INT(call_of(CODE64[i], 240), 240);
		CHECK_INT(call_of(CODE64[i], 422), 422);
		CHECK(!op_is_futex(240) && !op_is_futex(422));
		CHECK(call_of(CODE64[i], -1) < 0);
	}
	for (i = 0; i < sizeof(CODE32) / sizeof(CODE32[0]); i++) {
		CHECK(op_is_futex(call_of(CODE32[i], 240)));
		CHECK(op_is_futex(call_of(CODE32[i], 422)));
		/* from 424 on all tables are one */
		CHECK_INT(call_of(CODE32[i], 449), 449);
		CHECK_INT(call_of(CODE32[i], 455), 455);
		CHECK_INT(call_of(CODE32[i], 424), 424);
		CHECK(!op_is_futex(call_of(CODE32[i], FUTEX)));
		CHECK(!op_is_futex(call_of(CODE32[i], 1)));
		CHECK(call_of(CODE32[i], -1) < 0);
	}
}

#ifdef TEST_AARCH64
TEST_MAIN({ "sp", test_stack_pointer }, { "futex", test_futex })
#else
TEST_MAIN({ "sp", test_stack_pointer }, { "futex", test_futex }, { "x32", test_x32 })
#endif
