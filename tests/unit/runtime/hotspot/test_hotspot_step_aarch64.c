/* SPDX-License-Identifier: Apache-2.0 */
/*
 * HotSpot's step of aarch64, compiled for this host, at each instruction of compiled
 * methods. The test runs their instructions on a machine of its own, which knows where the
 * caller is: its sp, fp and pc are those of the entry. The code is JDK 17's, by GNU as.
 */
#define __TARGET_ARCH_arm64
#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif

#include "code/unwind/host.h"

#include "bpf/runtime/hotspot.h"

#include "../fake_memory.h"
#include "base/macros.h"
#include "test.h"

enum {
	CACHE = BASE,
	CACHE_BYTES = 0x4000,
	SEGMAP = BASE + 0x4000,
	STACK = BASE + 0x8000, /* the caller's sp */
	CODE_OFFSET = 64,
	SEGMENT_BITS = 7,
	BLOCK_BYTES = 8,
	BLOB = CACHE + (2 << SEGMENT_BITS) + BLOCK_BYTES,
	CODE = BLOB + CODE_OFFSET,
	CALLER = CACHE + 0x1000,
	CALLER_FP = STACK + 0x100,
	METHOD_BYTES = 300,
	INSTRUCTIONS_MAX = 32,
	SIGNED_BITS = 48,
};

enum effect {
	NONE,
	SP,   /* sp += value */
	SAVE, /* fp and lr to sp + value */
	PUSH, /* and sp -= 16 before */
	LOAD,
	POP,
	FP_SP, /* fp = sp */
	SP_FP,
	FP,    /* fp = value */
	CALL,  /* lr = the next instruction */
	LEAVE, /* what follows is reached in another way */
};

struct instruction {
	uint32_t word;
	enum effect effect;
	int value;
};

/* A method: its frame's bytes, and how many instructions make it. */
struct method {
	uint64_t bytes;
	uint32_t made;
	struct instruction code[INSTRUCTIONS_MAX];
};

static const struct method methods[] = {
	/* a frame of up to 512 bytes, of C1 and C2 */
	{ 64,
	  5,
	  { { 0xd503201f, NONE, 0 },	  /* nop */
	    { 0xd14053e9, NONE, 0 },	  /* sub x9, sp, 20, lsl 12 */
	    { 0xf900013f, NONE, 0 },	  /* str xzr, [x9] */
	    { 0xd10103ff, SP, -64 },	  /* sub sp, sp, 64 */
	    { 0xa9037bfd, SAVE, 48 },	  /* stp x29, x30, [sp, 48] */
	    { 0xd280003d, FP, 1 },	  /* mov x29, 1 */
	    { 0x94000400, CALL, 0 },	  /* bl */
	    { 0xa9437bfd, LOAD, 48 },	  /* ldp x29, x30, [sp, 48] */
	    { 0x910103ff, SP, 64 },	  /* add sp, sp, 64 */
	    { 0xf941a388, NONE, 0 },	  /* ldr x8, [x28, 832] */
	    { 0xeb2863ff, NONE, 0 },	  /* cmp sp, x8 */
	    { 0x54000048, NONE, 0 },	  /* b.hi */
	    { 0xd65f03c0, LEAVE, 0 },	  /* ret */
	    { 0x10ffff88, NONE, 0 },	  /* adr x8: the poll's slow path */
	    { 0xf901af88, NONE, 0 },	  /* str x8, [x28, 856] */
	    { 0x17ead351, LEAVE, 0 } } }, /* b */
	/* a large frame */
	{ 0x10010,
	  3,
	  { { 0xa9bf7bfd, PUSH, 0 },	  /* stp x29, x30, [sp, -16]! */
	    { 0xd2a00029, NONE, 0 },	  /* mov x9, 0x10000 */
	    { 0xcb2963ff, SP, -0x10000 }, /* sub sp, sp, x9 */
	    { 0xd280003d, FP, 1 },
	    { 0xd2a00028, NONE, 0 },	 /* mov x8, 0x10000 */
	    { 0x8b2863ff, SP, 0x10000 }, /* add sp, sp, x8 */
	    { 0xa8c17bfd, POP, 0 },	 /* ldp x29, x30, [sp], 16 */
	    { 0xf941a388, NONE, 0 },
	    { 0xeb2863ff, NONE, 0 },
	    { 0x54000048, NONE, 0 },
	    { 0xd65f03c0, LEAVE, 0 } } },
	/* the wrapper of a native method */
	{ 0x40,
	  3,
	  { { 0xa9bf7bfd, PUSH, 0 },
	    { 0x910003fd, FP_SP, 0 },  /* mov x29, sp */
	    { 0xd100c3ff, SP, -0x30 }, /* sub sp, sp, 0x30 */
	    { 0x94000400, CALL, 0 },
	    { 0x910003bf, SP_FP, 0 }, /* mov sp, x29 */
	    { 0xa8c17bfd, POP, 0 },
	    { 0xf9400788, NONE, 0 }, /* ldr x8, [x28, 8] */
	    { 0xb5000048, NONE, 0 }, /* cbnz x8 */
	    { 0xd65f03c0, LEAVE, 0 } } },
	/* C2's call of native code, and a jump behind an epilogue */
	{ 32,
	  2,
	  { { 0xd10083ff, SP, -32 },
	    { 0xa9017bfd, SAVE, 16 },
	    { 0x10000089, NONE, 0 }, /* adr x9 */
	    { 0xa9bf27ff, SP, -16 }, /* stp xzr, x9, [sp, -16]! */
	    { 0xd63f0100, CALL, 0 }, /* blr x8 */
	    { 0x910043ff, SP, 16 },  /* add sp, sp, 16 */
	    { 0xd503201f, NONE, 0 },
	    { 0xa9417bfd, LOAD, 16 },
	    { 0x910083ff, SP, 32 },
	    { 0x15d6689a, LEAVE, 0 } } },
};

static union {
	struct op_hotspot process;
	uint8_t bytes[OP_SLAB_BYTES];
} slab;
static const struct op_runtime_view view = { .slab = slab.bytes };
static uint64_t words[OP_WORDS_MAX];
static struct op_unwind_input input = { .memory = &fake.memory };
static struct op_unwind_context context = { .input = &input,
					    .last_slab = slab.bytes,
					    .words = words };

static void begin(uint32_t frame_words, uint32_t complete, bool method)
{
	static const uint8_t map[] = { 0, 1, 0, 1, 2, 3, 4, 0 };
	uint16_t bytes = method ? METHOD_BYTES : 0;

	fake_begin();
	put(SEGMAP, map, sizeof(map));
	put_u64(BLOB + 8, SEGMAP + 64);
	put_u32(BLOB + 24, frame_words);
	put(BLOB + 30, &complete, sizeof(uint16_t));
	put_u32(BLOB + 32, CODE_OFFSET);
	put(BLOB + 36, &bytes, sizeof(bytes));
	slab.process = (struct op_hotspot){
		.cache = CACHE,
		.cache_end = CACHE + CACHE_BYTES,
		.heap = { { CACHE, CACHE + CACHE_BYTES, SEGMAP } },
		.log2_segment = SEGMENT_BITS,
		.block_bytes = BLOCK_BYTES,
		.blob_name = 8,
		.blob_frame_size = 24,
		.blob_frame_complete = 30,
		.blob_code = 32,
		.blob_header_bytes = 36,
		.nmethod_bytes = METHOD_BYTES,
		.entry_sender = 13,
	};
}

struct machine {
	uint64_t sp, fp, lr;
};

static struct op_unwind at(uint64_t pc, const struct machine *m, bool exact)
{
	return (struct op_unwind){ .platform = (uintptr_t)&context,
				   .process.task_size = 1ULL << SIGNED_BITS,
				   .window_at = ~0ULL,
				   .out.max_frames = 100,
				   .pc = pc,
				   .sp = m->sp,
				   .fp = m->fp,
				   .lr = m->lr,
				   .step = OP_RUNTIME_HOTSPOT,
				   .exact = exact };
}

static void check_caller(struct op_unwind *u)
{
	u->out.words = 0;
	CHECK_INT(op_hotspot_other(u, &view, u->exact ? u->pc : u->pc - 1),
		  OP_NEXT_CONTINUE);
	CHECK_INT(u->pc, CALLER);
	CHECK_INT(u->sp, STACK);
	CHECK_INT(u->fp, CALLER_FP);
}

static void run(struct machine *m, const struct instruction *in, uint64_t pc)
{
	uint64_t to =
		m->sp + (uint64_t)(int64_t)in->value - (in->effect == PUSH ? 16 : 0);

	switch (in->effect) {
	case PUSH:
	case SAVE:
		put_u64(to, m->fp);
		put_u64(to + 8, m->lr);
		m->sp = in->effect == PUSH ? to : m->sp;
		break;
	case POP:
	case LOAD:
		memcpy(&m->fp, fake.bytes + (to - BASE), 8);
		memcpy(&m->lr, fake.bytes + (to + 8 - BASE), 8);
		m->sp += in->effect == POP ? 16 : 0;
		break;
	case SP:
		m->sp = to;
		break;
	case FP_SP:
		m->fp = m->sp;
		break;
	case SP_FP:
		m->sp = m->fp;
		break;
	case FP:
		m->fp = (uint64_t)in->value;
		break;
	case CALL:
		m->lr = pc + 4;
		break;
	default:
		break;
	}
}

static void check_method(const struct method *method, uint64_t signature)
{
	struct machine m = { .sp = STACK, .fp = CALLER_FP, .lr = CALLER | signature };
	uint64_t pc = CODE;
	size_t i;

	begin((uint32_t)method->bytes / 8, method->made * 4, true);
	for (i = 0; method->code[i].word; i++)
		put_u32(CODE + i * 4, method->code[i].word);
	for (i = 0; method->code[i].word; i++, pc += 4) {
		struct op_unwind u = at(pc, &m, true);

		/* the test's memory ends below a large frame */
		if (m.sp >= BASE)
			check_caller(&u);
		run(&m, &method->code[i], pc);
		if (method->code[i].effect == CALL) {
			u = at(pc + 4, &m, false);
			check_caller(&u);
		}
	}
}

static void test_methods(void)
{
	size_t i;

	for (i = 0; i < OP_ARRAY_SIZE(methods); i++)
		check_method(&methods[i], 0);
}

/* -XX:UseBranchProtection=standard signs return addresses. */
static void test_signed(void)
{
	size_t i;

	for (i = 0; i < OP_ARRAY_SIZE(methods); i++)
		check_method(&methods[i], 0x2aULL << SIGNED_BITS);
}

/* A stub with a rule: before its record is there, lr has the return address. */
static void test_ruled(void)
{
	struct machine m = { .sp = STACK - 32, .fp = CALLER_FP, .lr = CALLER };
	struct op_unwind u;

	begin(0, OP_HS_NEVER, false);
	put_u32(CALLER - 4, 0x94000400);
	slab.process.rule_count = 1;
	slab.process.rule[0] =
		(struct op_hotspot_rule){ .frame = OP_HOTSPOT_FROM_SP, .words = 4 };
	u = at(CODE, &m, true);
	check_caller(&u);
	/* a caller's lr is not known */
	u = at(CODE + 4, &m, false);
	u.out.words = 0;
	CHECK_INT(op_hotspot_other(&u, &view, CODE + 3), OP_NEXT_END);
	/* a record that fp points to */
	slab.process.rule[0] = (struct op_hotspot_rule){ .frame = OP_HOTSPOT_FROM_FP,
							 .words = 2,
							 .where = 2 };
	m = (struct machine){ .sp = STACK - 64, .fp = STACK - 16, .lr = CODE + 8 };
	put_u64(STACK - 16, CALLER_FP);
	put_u64(STACK - 8, CALLER);
	u = at(CODE + 8, &m, true);
	check_caller(&u);
	u = at(CODE + 8, &m, false);
	check_caller(&u);
}

/* A stub without a rule: it has no frame, or a record with the address that is in lr. */
static void test_unruled(void)
{
	struct machine m = { .sp = STACK, .fp = CALLER_FP, .lr = CALLER };
	struct op_unwind u;

	begin(0, OP_HS_NEVER, false);
	put_u32(CALLER - 4, 0x94000400);
	u = at(CODE, &m, true);
	check_caller(&u);
	m.sp = m.fp = STACK - 16;
	put_u64(STACK - 16, CALLER_FP);
	put_u64(STACK - 8, CALLER);
	u = at(CODE, &m, true);
	check_caller(&u);
	/* an adapter has moved sp */
	put(SEGMAP + 64, "I2C/C2I adapters", 17);
	m = (struct machine){ .sp = STACK - 48, .fp = CALLER_FP, .lr = CALLER };
	u = at(CODE, &m, true);
	u.reg[13] = STACK;
	check_caller(&u);
}

TEST_MAIN({ "methods", test_methods }, { "signed", test_signed }, { "ruled", test_ruled },
	  { "unruled", test_unruled })
