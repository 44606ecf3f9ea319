/* SPDX-License-Identifier: Apache-2.0 */
#include <sys/auxv.h>
#include <ucontext.h>

#include "snapshot.h"
#include "test.h"

struct snapshot snapshot;

__attribute__((noinline, no_sanitize("address"))) static void copy_stack(uint64_t sp)
{
	const volatile uint8_t *from = (const volatile uint8_t *)(uintptr_t)sp;
	/* The program's name stands in the stack's last page, behind the environment,
	 * which may be an empty one. */
	const uint64_t end = (getauxval(AT_EXECFN) | 4095) + 1;
	size_t i;

	if (snapshot.len > end - sp)
		snapshot.len = (size_t)(end - sp);
	for (i = 0; i < snapshot.len; i++)
		snapshot.stack[i] = from[i];
}

KEEP_FRAME static void take_snapshot(void)
{
	ucontext_t u;

	CHECK(getcontext(&u) == 0);
#if defined(__x86_64__)
	/* DWARF's numbers of rax to r15 */
	static const int order[] = { REG_RAX, REG_RDX, REG_RCX, REG_RBX, REG_RSI, REG_RDI,
				     REG_RBP, REG_RSP, REG_R8,	REG_R9,	 REG_R10, REG_R11,
				     REG_R12, REG_R13, REG_R14, REG_R15 };
	size_t i;

	for (i = 0; i < 16; i++)
		snapshot.registers.reg[i] = (uint64_t)u.uc_mcontext.gregs[order[i]];
	snapshot.registers.pc = (uint64_t)u.uc_mcontext.gregs[REG_RIP];
	snapshot.registers.sp = (uint64_t)u.uc_mcontext.gregs[REG_RSP];
	snapshot.registers.fp = (uint64_t)u.uc_mcontext.gregs[REG_RBP];
#elif defined(__aarch64__)
	memcpy(snapshot.registers.reg, u.uc_mcontext.regs, sizeof(u.uc_mcontext.regs));
	snapshot.registers.pc = (uint64_t)(uintptr_t)__builtin_return_address(0);
	snapshot.registers.sp = u.uc_mcontext.sp;
	snapshot.registers.fp = u.uc_mcontext.regs[29];
	snapshot.registers.lr = u.uc_mcontext.regs[30];
#endif
	copy_stack(snapshot.registers.sp);
}

KEEP_FRAME static int level_three(int x)
{
	take_snapshot();
	__asm__ volatile("" : "+r"(x));
	return x + 1;
}

KEEP_FRAME static int level_two(int x)
{
	x = level_three(x + 1);
	__asm__ volatile("" : "+r"(x));
	return x + 1;
}

KEEP_FRAME int level_one(int x)
{
	x = level_two(x + 1);
	__asm__ volatile("" : "+r"(x));
	return x + 1;
}

void check_levels(const struct world *w, const char *test)
{
	CHECK_STR(world_name(w, 0), "take_snapshot");
	CHECK_STR(world_name(w, 1), "level_three");
	CHECK_STR(world_name(w, 2), "level_two");
	CHECK_STR(world_name(w, 3), "level_one");
	CHECK_STR(world_name(w, 4), test);
}
