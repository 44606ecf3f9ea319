/* SPDX-License-Identifier: Apache-2.0 */
/* The steps of aarch64, compiled for this host: signed return addresses. */
#define __TARGET_ARCH_arm64
#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif

#include "code/unwind/host.h"

#include "bpf/walk/native.h"

#include "base/macros.h"

#include "test.h"

enum {
	STACK_WORDS = 8,
	STACK_AT = 0x7f0000,
	CALL_AT = 0x401000,
	SIGNATURES = 64,
};

/* Bits of a process's addresses: pages of 4 KiB with three levels, of 16 KiB with three and
 * four, of 64 KiB, and with 52-bit addresses. */
static const int address_bits[] = { 36, 39, 42, 47, 48, 52 };

static uint64_t stack[STACK_WORDS];

static int read_stack(const struct op_memory *m, uint64_t addr, void *buf, size_t len)
{
	/* nop; bl +8 */
	static const uint32_t code[] = { 0xd503201f, 0x94000002 };

	if (addr == CALL_AT - 4 && len == sizeof(code)) {
		memcpy(buf, code, len);
		return 0;
	}
	if (addr < STACK_AT || len > sizeof(stack) ||
	    addr - STACK_AT > sizeof(stack) - len)
		return -EFAULT;
	memcpy(buf, (const char *)stack + (addr - STACK_AT), len);
	return 0;
}

static const struct op_memory memory = { .read = read_stack };
static const struct op_unwind_input input = { .memory = &memory };
static struct op_unwind_context context = { .input = &input };

/* A walk at its leaf, in a process whose addresses have @bits bits. */
static struct op_unwind walk_of(int bits)
{
	return (struct op_unwind){ .platform = (uintptr_t)&context,
				   .process.task_size = 1ULL << bits,
				   .window_at = ~0ULL,
				   .sp = STACK_AT,
				   .fp = STACK_AT,
				   .exact = 1 };
}

/* The code addresses whose bits are most alike to a signature: the highest, and one with each
 * bit set alone. */
static uint64_t code_at(int bits, int i)
{
	if (i >= bits)
		return (1ULL << bits) - 4096;
	return (1ULL << i) | 0x400000;
}

/* Signature @i in the bits that the CPU may use: those above the address but 55, which says
 * whose address it is (Arm ARM, D8.10: AddPAC). */
static uint64_t sign(uint64_t code, int bits, int i)
{
	uint64_t pac = 0x9e3779b97f4a7c15ULL * (uint64_t)(i + 1);

	return code | (pac & ~((1ULL << bits) - 1) & ~(1ULL << 55));
}

static void check_every_signature(void (*check)(int bits, uint64_t code, uint64_t ra))
{
	size_t n;
	int i;
	int k;

	for (n = 0; n < OP_ARRAY_SIZE(address_bits); n++)
		for (i = 12; i <= address_bits[n]; i++)
			for (k = 0; k < SIGNATURES; k++) {
				uint64_t code = code_at(address_bits[n], i);

				check(address_bits[n], code,
				      sign(code, address_bits[n], k));
			}
}

static void check_saved_pair(int bits, uint64_t code, uint64_t ra)
{
	static const struct op_unwind_rule rule = {
		.cfa = OP_CFA_SP, .cfa_off = 32, .save = OP_SAVE_PAIR, .save_off = -32
	};
	struct op_unwind u = walk_of(bits);

	stack[0] = STACK_AT + 32;
	stack[1] = ra;
	CHECK_INT(op_arch_apply(&u, &rule), OP_NEXT_CONTINUE);
	CHECK_INT(u.pc, code);
	CHECK_INT(u.fp, STACK_AT + 32);
	CHECK_INT(u.sp, STACK_AT + 32);
}

/* In a function that calls no other, the signed address is in lr. */
static void check_link_register(int bits, uint64_t code, uint64_t ra)
{
	static const struct op_unwind_rule rule = { .cfa = OP_CFA_SP,
						    .save = OP_SAVE_NONE };
	struct op_unwind u = walk_of(bits);

	u.lr = ra;
	CHECK_INT(op_arch_apply(&u, &rule), OP_NEXT_CONTINUE);
	CHECK_INT(u.pc, code);
}

static void check_frame_record(int bits, uint64_t code, uint64_t ra)
{
	struct op_unwind u = walk_of(bits);

	stack[0] = STACK_AT + 32;
	stack[1] = ra;
	CHECK_INT(op_step_frame_record(&u, 0), OP_NEXT_CONTINUE);
	CHECK_INT(u.pc, code);
	CHECK_INT(u.fp, STACK_AT + 32);
}

/* The caller's sp is where its own record is, or, in Go, a word above that. */
static void test_sp_behind_a_record(void)
{
	struct op_unwind u = walk_of(48);

	stack[0] = STACK_AT + 48;
	stack[1] = 0x401000;
	CHECK_INT(op_step_frame_record(&u, 0), OP_NEXT_CONTINUE);
	CHECK_INT(u.sp, STACK_AT + 48);
	CHECK_INT(op_arch_go_sp(u.sp, u.fp), STACK_AT + 56);
	u = walk_of(48);
	stack[0] = 0; /* the outermost one */
	CHECK_INT(op_step_frame_record(&u, 0), OP_NEXT_CONTINUE);
	CHECK_INT(u.sp, STACK_AT + 16);
	CHECK_INT(op_arch_go_sp(u.sp, u.fp), STACK_AT + 16);
}

/* Where no rule leads: a record whose return address is signed. */
static void test_guess_by_record(void)
{
	struct op_unwind u = walk_of(48);

	u.map.start = CALL_AT & ~0xfffULL;
	u.map.end = u.map.start + 4096;
	stack[0] = STACK_AT + 48;
	stack[1] = sign(CALL_AT + 4, 48, 1);
	CHECK(op_guess_frame(&u));
	CHECK_INT(u.pc, CALL_AT + 4);
	CHECK_INT(u.sp, STACK_AT + 48);
	CHECK_INT(u.fp, STACK_AT + 48);
	CHECK_INT(u.guessed, OP_GUESSED_CALLER);
}

/* The same, where the words of the stack are looked through. */
static void test_guess_by_slots(void)
{
	struct op_unwind u = walk_of(48);

	u.map.start = CALL_AT & ~0xfffULL;
	u.map.end = u.map.start + 4096;
	u.exact = 0;
	u.fp = 0;
	memset(stack, 0, sizeof(stack));
	stack[1] = sign(CALL_AT + 4, 48, 2);
	op_guess_begin(&u);
	while (u.step == OP_STEP_GUESS)
		CHECK_INT(op_step_guess(&u), OP_NEXT_CONTINUE);
	CHECK_INT(u.pc, CALL_AT + 4);
	CHECK_INT(u.sp, STACK_AT + 16);
}

/* Is a return address of zero the end of the stack? After a guess, and at the leaf, the walk may
 * have gone wrong instead, and it says so. */
static void test_zero_return(void)
{
	static const struct op_unwind_rule saves[] = {
		{ .cfa = OP_CFA_SP,
		  .cfa_off = 32,
		  .save = OP_SAVE_PAIR,
		  .save_off = -32 },
		{ .cfa = OP_CFA_SP, .cfa_off = 32, .save = OP_SAVE_RA, .save_off = -24 },
	};
	const uint64_t zeros[] = { 0, sign(0, 48, 1) }; /* also one that is signed */
	struct op_unwind u;
	size_t i;
	size_t k;

	memset(stack, 0, sizeof(stack));
	for (i = 0; i < OP_ARRAY_SIZE(saves); i++) {
		for (k = 0; k < OP_ARRAY_SIZE(zeros); k++) {
			stack[1] = zeros[k];
			u = walk_of(48);
			u.exact = 0;
			CHECK_INT(op_arch_apply(&u, &saves[i]), OP_NEXT_END);
			CHECK_INT(u.end, OP_END_COMPLETE);
			u = walk_of(48);
			u.exact = 0;
			u.guesses = 1;
			CHECK_INT(op_arch_apply(&u, &saves[i]), OP_NEXT_END);
			CHECK_INT(u.end, OP_ERROR_native_zero_return);
			u = walk_of(48);
			CHECK_INT(op_arch_apply(&u, &saves[i]), OP_NEXT_END);
			CHECK_INT(u.end, OP_ERROR_native_zero_return);
		}
	}
}

static void test_saved_pair(void)
{
	check_every_signature(check_saved_pair);
}

static void test_link_register(void)
{
	check_every_signature(check_link_register);
}

static void test_frame_record(void)
{
	check_every_signature(check_frame_record);
}

/* Where the kernel does not tell, or tells what cannot be, 48 bits are taken. */
static void test_unknown_size(void)
{
	const uint64_t odd[] = { 0, 3, ~0ULL, 0xfffffffff000 };
	size_t i;

	for (i = 0; i < OP_ARRAY_SIZE(odd); i++)
		CHECK_INT(op_arch_code_mask(odd[i]), 0xffffffffffff);
	CHECK_INT(op_arch_code_mask(1ULL << 39), 0x7fffffffff);
}

TEST_MAIN({ "saved_pair", test_saved_pair }, { "link_register", test_link_register },
	  { "frame_record", test_frame_record }, { "unknown_size", test_unknown_size },
	  { "sp", test_sp_behind_a_record }, { "guess-record", test_guess_by_record },
	  { "guess-slots", test_guess_by_slots }, { "zero_return", test_zero_return })
