/* SPDX-License-Identifier: Apache-2.0 */
/* The steps of x86-64 where no rule leads on: callers that are guessed, a register that is
 * followed, the end of a stack. */
#define __TARGET_ARCH_x86
#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif

#include "code/unwind/host.h"

#include "bpf/walk/fold.h"
#include "bpf/walk/native.h"

#include "test.h"

enum {
	CODE_AT = 0x400000,
	CODE_BYTES = 0x20000,
	FUNCTION = 0x1000, /* of the code: what is walked out of */
	FAR = 0x10000,	   /* another function, too far to be the same */
	STACK_AT = 0x7f0000,
	STACK_WORDS = 256,
};

static uint64_t stack[STACK_WORDS];
static uint8_t code[CODE_BYTES];
static struct op_arena *arena;

static int read_memory(const struct op_memory *m, uint64_t addr, void *buf, size_t len)
{
	if (addr >= STACK_AT && addr - STACK_AT <= sizeof(stack) - len) {
		memcpy(buf, (const char *)stack + (addr - STACK_AT), len);
		return 0;
	}
	if (addr >= CODE_AT && addr - CODE_AT <= sizeof(code) - len) {
		memcpy(buf, code + (addr - CODE_AT), len);
		return 0;
	}
	return -EFAULT;
}

static int no_slab(void *ctx, uint32_t index, void **ret)
{
	return -ENOMEM;
}

static const struct op_arena_ops arena_ops = { .add_slab = no_slab };
static const struct op_memory memory = { .read = read_memory };
static struct op_unwind_input input = { .memory = &memory };
static struct op_unwind_context context = { .input = &input };

/* In FUNCTION, at its leaf or not, with nothing on the stack. */
static struct op_unwind walk_of(bool exact)
{
	memset(stack, 0, sizeof(stack));
	memset(code, 0x90, sizeof(code));
	return (struct op_unwind){ .platform = (uintptr_t)&context,
				   .window_at = ~0ULL,
				   .pc = CODE_AT + FUNCTION + 0x20,
				   .sp = STACK_AT,
				   .fp = 1,
				   .map.start = CODE_AT,
				   .map.end = CODE_AT + CODE_BYTES,
				   .map.segment = 1,
				   .exact = exact };
}

/* Put @len bytes of a call before the return address @at of the code. */
static uint64_t call_before(uint64_t at, const void *bytes, size_t len)
{
	memcpy(code + at - len, bytes, len);
	return CODE_AT + at;
}

/* The same of a call to @to of the code. */
static uint64_t call_to(uint64_t at, uint64_t to)
{
	uint8_t bytes[5] = { 0xe8 };
	int32_t distance = (int32_t)(to - at);

	memcpy(bytes + 1, &distance, sizeof(distance));
	return call_before(at, bytes, sizeof(bytes));
}

static void guess(struct op_unwind *u)
{
	int steps = 0;

	CHECK_INT(op_guess_begin(u), OP_NEXT_CONTINUE);
	while (u->step == OP_STEP_GUESS && op_step_guess(u) == OP_NEXT_CONTINUE)
		CHECK(++steps < 1000);
}

static void check_caller(struct op_unwind *u, uint64_t pc, size_t slot, uint64_t fp)
{
	guess(u);
	CHECK_INT(u->step, OP_STEP_NATIVE);
	CHECK_INT(u->pc, pc);
	CHECK_INT(u->sp, STACK_AT + (slot + 1) * 8);
	CHECK_INT(u->fp, fp);
	CHECK_INT(op_frame_kind_now(u), OP_FRAME_NATIVE_GUESSED);
}

static void check_end(struct op_unwind *u, unsigned int end)
{
	guess(u);
	CHECK_INT(u->end, end);
}

static void test_leaf(void)
{
	struct op_unwind u = walk_of(true);

	stack[0] = call_to(0x5000, FUNCTION);
	check_caller(&u, CODE_AT + 0x5000, 0, 1);
}

/* Pushed registers: data, code that follows no call, a call of something else. */
static void test_pushes(void)
{
	struct op_unwind u = walk_of(true);

	stack[0] = 12345;
	stack[1] = CODE_AT + 0x3000;
	stack[2] = call_to(0x4000, FAR);
	stack[3] = UINT64_MAX;
	stack[4] = call_to(0x5000, FUNCTION);
	check_caller(&u, CODE_AT + 0x5000, 4, 1);
}

static void test_every_call(void)
{
	static const struct {
		uint8_t bytes[7];
		size_t len;
	} calls[] = {
		{ { 0xff, 0xd0 }, 2 },	     /* rax */
		{ { 0x41, 0xff, 0xd4 }, 3 }, /* r12 */
		{ { 0xff, 0x13 }, 2 },	     /* (rbx) */
		{ { 0xff, 0x50, 0x18 }, 3 },
		{ { 0xff, 0x14, 0xc3 }, 3 },
		{ { 0xff, 0x54, 0x24, 0x08 }, 4 },
		{ { 0xff, 0x15, 1, 2, 3, 4 }, 6 },
		{ { 0xff, 0x93, 1, 2, 0, 0 }, 6 },
		{ { 0xff, 0x94, 0xc3, 1, 2, 0, 0 }, 7 },
		{ { 0xff, 0x14, 0xc5, 1, 2, 0, 0 }, 7 },
	};
	size_t i;

	for (i = 0; i < sizeof(calls) / sizeof(calls[0]); i++) {
		struct op_unwind u = walk_of(true);

		stack[1] = call_before(0x5000, calls[i].bytes, calls[i].len);
		check_caller(&u, CODE_AT + 0x5000, 1, 1);
	}
}

/* A function that was jumped to: its caller called another one. */
static void test_call_elsewhere(void)
{
	struct op_unwind u = walk_of(false);

	stack[3] = call_to(0x4000, FAR);
	stack[9] = call_to(0x5000, FAR);
	check_caller(&u, CODE_AT + 0x4000, 3, 1);
}

static void test_frame_record(void)
{
	struct op_unwind u = walk_of(false);

	u.fp = STACK_AT + 100 * 8;
	stack[2] = call_to(0x4000, FUNCTION); /* of an earlier call */
	stack[100] = STACK_AT + 200 * 8;
	stack[101] = call_to(0x5000, FUNCTION);
	check_caller(&u, CODE_AT + 0x5000, 101, STACK_AT + 200 * 8);
	/* It leads down, or to no return address: then it is none. */
	stack[100] = STACK_AT + 10 * 8;
	u.window_at = ~0ULL;
	u.sp = STACK_AT;
	u.fp = STACK_AT + 100 * 8;
	u.pc = CODE_AT + FUNCTION;
	check_caller(&u, CODE_AT + 0x4000, 2, STACK_AT + 100 * 8);
}

/* Assembly that uses rbp for data has pushed it. */
static void test_pushed_fp(void)
{
	struct op_unwind u = walk_of(true);

	u.fp = 0xdeadbeef;
	stack[1] = STACK_AT + 50 * 8;
	stack[2] = 7;
	stack[3] = call_to(0x5000, FUNCTION);
	check_caller(&u, CODE_AT + 0x5000, 3, STACK_AT + 50 * 8);
}

/* A caller that does not hold is taken back, and the next one above it is tried. */
static void test_next_candidate(void)
{
	struct op_unwind u = walk_of(true);

	u.out.words = u.out.frames = 1;
	stack[2] = call_to(0x4000, FUNCTION);
	stack[5] = call_to(0x5000, FUNCTION);
	check_caller(&u, CODE_AT + 0x4000, 2, 1);
	CHECK_INT(u.guessed, OP_GUESSED_CALLER);
	u.out.words = u.out.frames = 2;
	CHECK_INT(op_guess_on(&u, u.guessed), OP_NEXT_CONTINUE);
	CHECK_INT(u.out.frames, 1);
	while (u.step == OP_STEP_GUESS)
		CHECK_INT(op_step_guess(&u), OP_NEXT_CONTINUE);
	CHECK_INT(u.pc, CODE_AT + 0x5000);
	u.out.words = u.out.frames = 2;
	CHECK_INT(op_guess_on(&u, u.guessed), OP_NEXT_CONTINUE);
	while (u.step == OP_STEP_GUESS && !u.end)
		(void)op_step_guess(&u);
	CHECK_INT(u.end, OP_ERROR_native_no_rule);
	/* what was not found by a guess, or has frames of a runtime on it, stays */
	u = walk_of(true);
	u.out.words = 3;
	CHECK_INT(op_guess_on(&u, OP_GUESSED_CALLER), OP_NEXT_CONTINUE);
	CHECK_INT(u.out.words, 3);
}

/* Nothing there: 0 in fp is no mark of the outermost frame in code that says nothing. */
static void test_none(void)
{
	struct op_unwind u = walk_of(false);

	check_end(&u, OP_ERROR_native_no_rule);
	u = walk_of(false);
	u.fp = 0;
	check_end(&u, OP_ERROR_native_no_rule);
	u = walk_of(true);
	u.fp = 0;
	check_end(&u, OP_ERROR_native_no_rule);
}

static void test_zero_return(void)
{
	static const struct op_unwind_rule rule = { .cfa = OP_CFA_SP, .cfa_off = 16 };
	struct op_unwind u = walk_of(false);

	/* as of makecontext(3) */
	CHECK_INT(op_arch_apply(&u, &rule), OP_NEXT_END);
	CHECK_INT(u.end, OP_END_COMPLETE);
	u = walk_of(false);
	u.guesses = 1;
	CHECK_INT(op_arch_apply(&u, &rule), OP_NEXT_END);
	CHECK_INT(u.end, OP_ERROR_native_zero_return);
	/* a leaf's own rule may be of another place */
	u = walk_of(true);
	CHECK_INT(op_arch_apply(&u, &rule), OP_NEXT_END);
	CHECK_INT(u.end, OP_ERROR_native_zero_return);
	/* an outermost frame record is all zero */
	u = walk_of(false);
	u.fp = STACK_AT + 16;
	CHECK_INT(op_step_frame_record(&u, STACK_AT), OP_NEXT_END);
	CHECK_INT(u.end, OP_END_COMPLETE);
	u = walk_of(false);
	u.guesses = 1;
	u.fp = STACK_AT + 16;
	stack[2] = STACK_AT + 64;
	CHECK_INT(op_step_frame_record(&u, STACK_AT), OP_NEXT_END);
	CHECK_INT(u.end, OP_ERROR_native_zero_return);
}

/* A frame pointer of zero is the ABI's mark of the outermost frame. In code of no file that is
 * so for a caller only: a leaf may use the register for anything. */
static void test_zero_frame_pointer(void)
{
	struct op_unwind u = walk_of(true);

	u.fp = 0;
	u.map.segment = 0;
	CHECK_INT(op_step_frame_record(&u, STACK_AT), OP_NEXT_END);
	CHECK_INT(u.end, OP_ERROR_native_frame_pointer);
	u = walk_of(false);
	u.fp = 0;
	u.map.segment = 0;
	CHECK_INT(op_step_frame_record(&u, STACK_AT), OP_NEXT_END);
	CHECK_INT(u.end, OP_END_COMPLETE);
	u = walk_of(true);
	u.fp = 0;
	CHECK_INT(op_step_frame_record(&u, STACK_AT), OP_NEXT_END);
	CHECK_INT(u.end, OP_END_COMPLETE);
	u = walk_of(false);
	u.fp = 0;
	CHECK(op_leads_to_code(&u, !u.map.segment));
}

/* Code of no file may keep no frame pointer, and have 0 in its register: a caller is looked
 * for, and the stack ends where there is none. */
static void test_zero_in_made_code(void)
{
	struct op_unwind u = walk_of(false);

	u.fp = 0;
	u.map.segment = 0;
	CHECK(!op_leads_to_code(&u, !u.map.segment));
	stack[2] = call_to(0x5000, FUNCTION);
	check_caller(&u, CODE_AT + 0x5000, 2, 0);
	u = walk_of(false);
	u.fp = 0;
	u.map.segment = 0;
	check_end(&u, OP_ERROR_native_no_rule);
}

static void check_recordless(const char *bytes, size_t at, size_t ra_slot)
{
	struct op_unwind u = walk_of(true);

	u.fp = STACK_AT + 800;
	u.map.segment = 0;
	stack[0] = u.fp; /* where it is pushed already */
	stack[100] = STACK_AT + 900;
	stack[101] = call_to(0x6000, FUNCTION);
	stack[ra_slot] = call_to(0x5000, FUNCTION);
	CHECK(op_leads_to_code(&u, !u.map.segment)); /* to the caller's caller */
	CHECK(!op_arch_is_recordless(&u, u.pc));
	memcpy(code + FUNCTION + 0x20 - at, bytes, strlen(bytes));
	CHECK(op_arch_is_recordless(&u, u.pc));
	check_caller(&u, CODE_AT + 0x5000, ra_slot, STACK_AT + 800);
}

/* Code of no file that keeps frame pointers: at its end and beginning there is no record. */
static void test_recordless(void)
{
	struct op_unwind u = walk_of(true);

	check_recordless("\xc3", 0, 0);
	check_recordless("\x55\x48\x89\xe5", 0, 0);
	check_recordless("\x55\x48\x8b\xec", 0, 0);
	check_recordless("\x55\x48\x89\xe5", 1, 1);
	check_recordless("\x55\x48\x8b\xec", 1, 1);
	check_recordless("\xc9\xe9", 1, 0);
	check_recordless("\x5d\xeb", 1, 0);
	/* a push of another kind, and code that cannot be read */
	memcpy(code + FUNCTION + 0x20, "\x55\x53", 2);
	CHECK(!op_arch_is_recordless(&u, u.pc));
	CHECK(!op_arch_is_recordless(&u, 0x1000));
}

/* The dynamic linker's resolver: its CFA is in rbx, which the function it called has saved. */
static void test_kept_register(void)
{
	const struct op_unwind_rule callee = { .cfa = OP_CFA_SP,
					       .cfa_off = 64,
					       .save = 7 << OP_SAVE_KEPT_SHIFT };
	const struct op_unwind_rule same = { .cfa = OP_CFA_SP,
					     .cfa_off = 16,
					     .save = OP_SAVE_KEPT_SAME
						     << OP_SAVE_KEPT_SHIFT };
	const struct op_unwind_rule unknown = { .cfa = OP_CFA_SP, .cfa_off = 16 };
	const struct op_unwind_rule resolver = { .cfa = OP_CFA_REG,
						 .cfa_off = 24 << 8 | OP_X86_RBX };
	struct op_unwind u = walk_of(true);

	stack[1] = STACK_AT + 800;
	stack[7] = CODE_AT + 0x2000;
	stack[9] = CODE_AT + 0x3000;
	stack[(800 + 24) / 8 - 1] = CODE_AT + 0x4000;
	CHECK_INT(op_arch_apply(&u, &callee), OP_NEXT_CONTINUE);
	CHECK_INT(op_arch_apply(&u, &same), OP_NEXT_CONTINUE);
	CHECK_INT(op_arch_apply(&u, &resolver), OP_NEXT_CONTINUE);
	CHECK_INT(u.pc, CODE_AT + 0x4000);
	CHECK_INT(u.sp, STACK_AT + 800 + 24);
	/* where one frame between does not say, it is not known */
	u = walk_of(true);
	stack[1] = CODE_AT + 0x2000;
	CHECK_INT(op_arch_apply(&u, &unknown), OP_NEXT_CONTINUE);
	CHECK_INT(op_arch_apply(&u, &resolver), OP_NEXT_END);
	CHECK_INT(u.end, OP_ERROR_native_leaf_rule);
}

/* Code that may be another file's by now: what a rule leads to is checked, and where it is
 * wrong the walk ends before this frame, to be resumed. */
static void test_replaced(void)
{
	const struct op_unwind_rule rule = { .cfa = OP_CFA_SP, .cfa_off = 32 };
	struct op_unwind u = walk_of(true);

	u.map.flags = OP_MAPPING_REPLACED;
	u.out.words = u.out.frames = 1; /* its own */
	stack[3] = call_to(0x5000, FUNCTION);
	CHECK_INT(op_step_by_rule(&u, &rule, 0), OP_NEXT_CONTINUE);
	CHECK_INT(u.pc, CODE_AT + 0x5000);
	CHECK_INT(u.out.frames, 1);
	u = walk_of(true);
	u.map.flags = OP_MAPPING_REPLACED;
	u.out.words = u.out.frames = 1;
	stack[3] = CODE_AT + 0x3000; /* no call stands before it */
	CHECK_INT(op_step_by_rule(&u, &rule, 0), OP_NEXT_END);
	CHECK_INT(u.end, OP_END_UNKNOWN);
	CHECK_INT(u.pc, CODE_AT + FUNCTION + 0x20);
	CHECK_INT(u.sp, STACK_AT);
	CHECK_INT(u.out.frames, 0);
	CHECK_INT(u.out.words, 0);
	CHECK(u.exact);
	/* nor is a word of a call elsewhere, which is over */
	u = walk_of(true);
	u.map.flags = OP_MAPPING_REPLACED;
	u.out.words = u.out.frames = 1;
	stack[3] = call_to(0x5000, FAR);
	CHECK_INT(op_step_by_rule(&u, &rule, 0), OP_NEXT_END);
	CHECK_INT(u.end, OP_END_UNKNOWN);
	/* nor is a zero the end of a stack there */
	u = walk_of(true);
	u.map.flags = OP_MAPPING_REPLACED;
	u.out.words = u.out.frames = 1;
	CHECK_INT(op_step_by_rule(&u, &rule, 0), OP_NEXT_END);
	CHECK_INT(u.end, OP_END_UNKNOWN);
	/* user space knows what is mapped */
	u = walk_of(true);
	u.map.flags = OP_MAPPING_REPLACED;
	u.heap_moved = 1;
	CHECK_INT(op_step_by_rule(&u, &rule, 0), OP_NEXT_END);
	CHECK_INT(u.end, OP_ERROR_native_zero_return);
}

/* What a mark tells of a mapping is taken into its flags, and into those of no other. */
static void test_marks(void)
{
	const __u32 third = OP_MAPPING_REPLACED | 3 << OP_MAPPING_MARK_SHIFT;
	struct op_unwind u = walk_of(true);

	CHECK_INT(op_flags_now(&u, third), third);
	u.marks = (__u64)OP_MARK_SEEN_HELD << 3 * OP_MARK_BITS;
	CHECK_INT(op_flags_now(&u, third) & (OP_MAPPING_REPLACED | OP_MAPPING_LAZY), 0);
	CHECK_INT(op_flags_now(&u, OP_MAPPING_REPLACED), OP_MAPPING_REPLACED);
	CHECK_INT(op_flags_now(&u, OP_MAPPING_REPLACED | 2 << OP_MAPPING_MARK_SHIFT) &
			  OP_MAPPING_REPLACED,
		  OP_MAPPING_REPLACED);
	u.marks = (__u64)OP_MARK_SEEN_FAILED << 3 * OP_MARK_BITS;
	CHECK(op_flags_now(&u, third) & OP_MAPPING_LAZY);
	u.marks = (__u64)OP_MARK_SEEN_FAILED << OP_MARKS_MAX * OP_MARK_BITS;
	CHECK(op_flags_now(&u,
			   OP_MAPPING_REPLACED | OP_MARKS_MAX << OP_MAPPING_MARK_SHIFT) &
	      OP_MAPPING_LAZY);
	CHECK_INT(op_flags_now(&u, 0), 0);
}

/* A room that is no multiple of four keeps the frames that came last, too. */
static void check_fold_odd(struct op_unwind *u, uint64_t *words)
{
	uint64_t i;

	for (i = 0; i < 22; i++)
		words[i] = i;
	u->out.max_frames = u->out.frames = 19;
	u->out.words = 22;
	CHECK(op_fold(u));
	CHECK_INT(u->out.words, 15);
	for (i = 0; i < 11; i++)
		CHECK_INT(words[i], i);
	for (i = 12; i < 15; i++)
		CHECK_INT(words[i], i + 7);
}

/* Where there is no room the third quarter of the frames goes, and the walk goes on. */
static void test_fold(void)
{
	struct op_unwind u = walk_of(true);
	uint64_t words[OP_WORDS_MAX];
	uint64_t i;

	for (i = 0; i < 19; i++)
		words[i] = i;
	context.words = words;
	u.end = OP_END_TRUNCATED;
	u.out.max_frames = u.out.frames = 16;
	u.out.words_user = 3; /* after three of the kernel */
	u.out.words = 19;
	u.state.instance = 1; /* frames of a runtime may be taken back */
	CHECK(!op_fold(&u));
	u.state.instance = 0;
	CHECK(op_fold(&u));
	CHECK_INT(u.out.frames, 12);
	CHECK_INT(u.out.words, 15);
	for (i = 0; i < 11; i++)
		CHECK_INT(words[i], i);
	CHECK_INT(words[11] >> OP_FRAME_KIND_SHIFT, OP_FRAME_LEFT_OUT);
	for (i = 12; i < 15; i++)
		CHECK_INT(words[i], i + 4);
	CHECK(!op_fold(&u)); /* there is room */
	check_fold_odd(&u, words);
	u.out.frames = 16;
	u.out.words = 19;
	u.end = OP_ERROR_native_no_rule;
	CHECK(!op_fold(&u));
	context.words = NULL;
}

/* A rule read from code: where it is wrong the caller is guessed. */
static void test_checked_rule(void)
{
	const struct op_unwind_rule rule = { .cfa = OP_CFA_SP,
					     .cfa_off = 32,
					     .save = OP_SAVE_CHECK };
	struct op_unwind u = walk_of(true);

	stack[3] = call_to(0x5000, FUNCTION);
	CHECK_INT(op_step_by_rule(&u, &rule, 0), OP_NEXT_CONTINUE);
	CHECK_INT(u.pc, CODE_AT + 0x5000);
	CHECK(!u.guesses);
	/* a zero is no end of a stack there either */
	u = walk_of(true);
	CHECK_INT(op_step_by_rule(&u, &rule, 0), OP_NEXT_CONTINUE);
	CHECK_INT(u.step, OP_STEP_GUESS);
	u = walk_of(true);
	stack[3] = CODE_AT + 0x3000;
	stack[5] = call_to(0x5000, FUNCTION);
	CHECK_INT(op_step_by_rule(&u, &rule, 0), OP_NEXT_CONTINUE);
	CHECK_INT(u.step, OP_STEP_GUESS);
	CHECK_INT(u.sp, STACK_AT);
	check_caller(&u, CODE_AT + 0x5000, 5, 1);
}

static void run(void (*test)(void))
{
	CHECK_OK(op_arena_new(&arena_ops, NULL, 1 << 20, &arena));
	input.arena = arena;
	test();
	arena = op_arena_free(arena);
}

static struct op_unwind_rule rule_of_all;
static bool exact_step;

static bool rule_of_any(void *ctx, uint64_t pc, struct op_unwind_rule *ret)
{
	*ret = rule_of_all;
	return true;
}

/* A step from the middle of the stack to a lower frame. */
static enum op_next step_down(struct op_unwind *u, struct op_unwind_rule rule)
{
	static uint64_t words[OP_WORDS_MAX];
	enum op_next next;

	*u = walk_of(exact_step);
	u->map.flags = OP_MAPPING_LAZY;
	u->reg[12] = STACK_AT + 0x100;
	u->out.max_frames = 100;
	u->sp = STACK_AT + 0x200;
	u->fp = STACK_AT + 0x300;
	stack[0x208 / 8] = STACK_AT + 0x100; /* where the caller's stack was left */
	stack[0x308 / 8] = STACK_AT + 0x100;
	stack[0x108 / 8] = call_to(0x5000, FUNCTION);
	rule_of_all = rule;
	input.direct = rule_of_any;
	context.words = words;
	next = op_step_native(u);
	input.direct = NULL;
	return next;
}

/* Code that runs on a stack of its own has put away where its caller's is, which may be lower:
 * OCaml calls C so, and Go's race detector is called with it in a register. Any other frame is
 * above those that it called. */
static void test_another_stack(void)
{
	struct op_unwind u;

	CHECK_INT(step_down(&u, (struct op_unwind_rule){ .cfa = OP_CFA_DEREF_SP,
							 .cfa_off = 16 << 16 | 8 }),
		  OP_NEXT_CONTINUE);
	CHECK_INT(u.sp, STACK_AT + 0x110);
	CHECK_INT(u.pc, CODE_AT + 0x5000);
	(void)step_down(&u, (struct op_unwind_rule){ .cfa = OP_CFA_DEREF_FP,
						     .cfa_off = 16 << 16 | 8 });
	CHECK_INT(u.end, OP_ERROR_native_stuck);
	(void)step_down(&u,
			(struct op_unwind_rule){ .cfa = OP_CFA_SP, .cfa_off = -0xf0 });
	CHECK_INT(u.end, OP_ERROR_native_stuck);
	exact_step = true;
	CHECK_INT(step_down(&u, (struct op_unwind_rule){ .cfa = OP_CFA_REG,
							 .cfa_off = 16 << 8 | 12 }),
		  OP_NEXT_CONTINUE);
	CHECK_INT(u.sp, STACK_AT + 0x110);
	exact_step = false;
}

#define TEST(name)                                                                       \
	static void run_##name(void)                                                     \
	{                                                                                \
		run(test_##name);                                                        \
	}
TEST(leaf)
TEST(pushes)
TEST(every_call)
TEST(call_elsewhere)
TEST(frame_record)
TEST(pushed_fp)
TEST(next_candidate)
TEST(none)
TEST(zero_return)
TEST(zero_frame_pointer)
TEST(zero_in_made_code)
TEST(recordless)
TEST(kept_register)
TEST(replaced)
TEST(marks)
TEST(fold)
TEST(checked_rule)
TEST(another_stack)

TEST_MAIN({ "leaf", run_leaf }, { "pushes", run_pushes },
	  { "every_call", run_every_call }, { "elsewhere", run_call_elsewhere },
	  { "frame_record", run_frame_record }, { "pushed_fp", run_pushed_fp },
	  { "next_candidate", run_next_candidate }, { "none", run_none },
	  { "zero_return", run_zero_return },
	  { "zero_frame_pointer", run_zero_frame_pointer },
	  { "zero_in_made_code", run_zero_in_made_code },
	  { "recordless", run_recordless }, { "kept_register", run_kept_register },
	  { "replaced", run_replaced }, { "marks", run_marks }, { "fold", run_fold },
	  { "checked_rule", run_checked_rule }, { "another_stack", run_another_stack })
