/* SPDX-License-Identifier: Apache-2.0 */
/* HotSpot's step over a code cache made by the test: its map, and stubs without a frame
 * size. */
#define __TARGET_ARCH_x86
#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif

#include "code/unwind/host.h"

#include "bpf/runtime/hotspot_code.h"

#include "base/macros.h"
#include "fake_memory.h"
#include "test.h"

enum {
	/* where things are put */
	CACHE = BASE,
	CACHE_BYTES = 0x4000,
	SEGMAP = BASE + 0x4000,
	NAME = BASE + 0x5000,
	STACK = BASE + 0x8000,
	LIBRARY = BASE + 0xc000, /* one page, which is mapped */
	UNKNOWN = BASE + 0xd000, /* code as there, of no mapping that is known */
	VM = BASE + 0xe000,
	VM_BYTES = 0x1000,
	/* the blob: in segments 2 to 5, behind the header of its block */
	SEGMENT_BITS = 7,
	BLOCK_BYTES = 8,
	PIECE = 3, /* segments of a free block that is joined with others */
	BLOB = CACHE + (2 << SEGMENT_BITS) + BLOCK_BYTES,
	CODE = BLOB + 64,
	INSIDE = CODE + 0x50,
	RETURN = CODE + 0x60,
	/* of a library */
	CALLER = LIBRARY + 0x40,     /* where a call through a register returns */
	TAIL_CALLER = CALLER + 0x40, /* a call of a function, which jumps on */
	NO_CALLER = CALLER + 0x80,
	RECORD = STACK + 40 * 8, /* the stub's frame record */
	CALLER_FP = 12345,
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

/* A library with calls in it, at @at. */
static void put_library(uint64_t at)
{
	static const uint8_t call[] = { 0xff, 0xd0 }; /* call rax */
	static const uint8_t call_to[] = { 0xe8, 0x10, 0, 0, 0 };

	memset(fake.bytes + (at - BASE), 0x90, 0x1000);
	put(at + (CALLER - LIBRARY) - sizeof(call), call, sizeof(call));
	put(at + (TAIL_CALLER - LIBRARY) - sizeof(call_to), call_to, sizeof(call_to));
}

/* A process with one stub, of that name. */
static void begin(const char *name)
{
	static const uint8_t map[] = { 0, 1, 0, 1, 2, 1, 0 };
	const uint16_t no_frame = OP_HS_NEVER;

	fake_begin();
	put(NAME, name, strlen(name));
	put(SEGMAP, map, sizeof(map));
	put_u64(BLOB + 8, NAME);
	put(BLOB + 30, &no_frame, sizeof(no_frame));
	put_u32(BLOB + 32, CODE - BLOB);
	memset(fake.bytes + (CODE - BASE), 0x90, RETURN - CODE);
	put_u32(RETURN, OP_HS_RET);
	put_library(LIBRARY);
	put_library(UNKNOWN);
	slab.process = (struct op_hotspot){
		.cache = CACHE,
		.cache_end = CACHE + CACHE_BYTES,
		.vm = VM,
		.vm_end = VM + VM_BYTES,
		.heap = { { CACHE, CACHE + CACHE_BYTES, SEGMAP } },
		.log2_segment = SEGMENT_BITS,
		.block_bytes = BLOCK_BYTES,
		.blob_name = 8,
		.blob_frame_size = 24,
		.blob_frame_complete = 30,
		.blob_code = 32,
		.blob_header_bytes = 36,
		.nmethod_bytes = 300,
	};
}

/* At @pc of the stub, whose frame record is where fp points to; @ra is the caller. */
static struct op_unwind in_stub(uint64_t pc, bool exact, uint64_t ra)
{
	memset(fake.bytes + (STACK - BASE), 0, 0x1000);
	put_u64(RECORD, CALLER_FP);
	put_u64(RECORD + 8, ra);
	return (struct op_unwind){ .platform = (uintptr_t)&context,
				   .window_at = ~0ULL,
				   .out.max_frames = 100,
				   .pc = pc,
				   .sp = STACK,
				   .fp = RECORD,
				   .step = OP_RUNTIME_HOTSPOT,
				   .map.start = LIBRARY,
				   .map.end = LIBRARY + 0x1000,
				   .map.segment = 1,
				   .exact = exact };
}

static enum op_next step(struct op_unwind *u)
{
	u->out.words = 0;
	return op_hotspot_other(u, &view, u->exact ? u->pc : u->pc - 1);
}

static void check_caller(struct op_unwind *u, uint64_t pc, uint64_t sp, uint32_t runtime)
{
	CHECK_INT(step(u), OP_NEXT_CONTINUE);
	CHECK_INT(u->step, runtime);
	CHECK_INT(u->pc, pc);
	CHECK_INT(u->sp, sp);
	CHECK_INT(u->fp, CALLER_FP);
	CHECK_INT(u->exact, 0);
	CHECK_INT(u->out.frames, 1);
	/* what Java code left in the registers is no caller's */
	CHECK_INT(u->kept_lost, runtime == OP_STEP_NATIVE);
}

static void check_no_caller(struct op_unwind *u, uint32_t why)
{
	CHECK_INT(step(u), OP_NEXT_END);
	CHECK_INT(u->end, why);
}

/* A stub that is not called from elsewhere. */
static void test_other_stub(void)
{
	struct op_unwind u;

	begin("StubRoutines");
	u = in_stub(INSIDE, false, CACHE + 0x1000);
	check_caller(&u, CACHE + 0x1000, RECORD + 16, OP_RUNTIME_HOTSPOT);
	u = in_stub(INSIDE, false, VM + 0x100);
	check_caller(&u, VM + 0x100, RECORD + 16, OP_STEP_NATIVE);
	u = in_stub(INSIDE, false, CALLER);
	check_no_caller(&u, OP_ERROR_hotspot_return_address);
	u = in_stub(INSIDE, true, CALLER);
	check_no_caller(&u, OP_ERROR_hotspot_return_address);
}

/* qsort() in libc, for one, calls a comparator that is Java. */
static void test_upcall(void)
{
	static const uint64_t callers[] = { CALLER, TAIL_CALLER };
	struct op_unwind u;
	size_t i;

	begin("upcall_stub");
	for (i = 0; i < sizeof(callers) / sizeof(callers[0]); i++) {
		u = in_stub(INSIDE, false, callers[i]);
		check_caller(&u, callers[i], RECORD + 16, OP_STEP_NATIVE);
		u = in_stub(INSIDE, true, callers[i]);
		check_caller(&u, callers[i], RECORD + 16, OP_STEP_NATIVE);
	}
	/* Java code may call it as if it were native */
	u = in_stub(INSIDE, false, CACHE + 0x1000);
	check_caller(&u, CACHE + 0x1000, RECORD + 16, OP_RUNTIME_HOTSPOT);
}

/* The frame is being made or taken down: the record at fp is the caller's own. */
static void test_upcall_without_frame(void)
{
	static const struct {
		uint64_t pc;
		unsigned int pushed;
	} at[] = { { CODE, 0 }, { CODE + 1, 1 }, { RETURN, 0 } };
	struct op_unwind u;
	size_t i;

	begin("upcall_stub_(II)I");
	for (i = 0; i < sizeof(at) / sizeof(at[0]); i++) {
		u = in_stub(at[i].pc, true, TAIL_CALLER);
		put_u64(STACK + 8 * at[i].pushed, CALLER);
		CHECK_INT(step(&u), OP_NEXT_CONTINUE);
		CHECK_INT(u.pc, CALLER);
		CHECK_INT(u.sp, STACK + 8 * (at[i].pushed + 1));
		CHECK_INT(u.fp, RECORD);
	}
}

/* What stands there is no return address. */
static void test_upcall_of_none(void)
{
	static const uint64_t none[] = { 0,	     1,
					 LIBRARY,    NO_CALLER,
					 CALLER - 1, UNKNOWN + 0xc0,
					 STACK,	     BASE + BYTES,
					 UINT64_MAX };
	struct op_unwind u;
	size_t i;
	int exact;

	begin("upcall_stub");
	for (i = 0; i < sizeof(none) / sizeof(none[0]); i++) {
		for (exact = 0; exact < 2; exact++) {
			u = in_stub(INSIDE, exact, none[i]);
			check_no_caller(&u, OP_ERROR_hotspot_return_address);
		}
		u = in_stub(CODE, true, CALLER);
		put_u64(STACK, none[i]);
		check_no_caller(&u, OP_ERROR_hotspot_return_address);
	}
	/* a call in no known mapping: the native step ends there, without a frame */
	u = in_stub(INSIDE, false, UNKNOWN + (CALLER - LIBRARY));
	check_caller(&u, UNKNOWN + (CALLER - LIBRARY), RECORD + 16, OP_STEP_NATIVE);
	CHECK_INT(op_step_native(&u), OP_NEXT_END);
	CHECK_INT(u.end, OP_ERROR_native_no_mapping);
	CHECK_INT(u.out.frames, 1);
	u = in_stub(INSIDE, false, CALLER);
	u.fp = STACK - 8; /* below the frame */
	check_no_caller(&u, OP_ERROR_hotspot_frame_pointer);
	u = in_stub(INSIDE, false, CALLER);
	u.fp += OP_HS_SENDER_MAX;
	check_no_caller(&u, OP_ERROR_hotspot_frame_pointer);
	u = in_stub(INSIDE, false, CALLER);
	u.fp++;
	check_no_caller(&u, OP_ERROR_hotspot_frame_pointer);
}

static uint64_t blob_at(struct op_unwind *u, uint64_t segment)
{
	fake.reads = 0;
	return op_hotspot_blob(u, &view, CACHE + (segment << SEGMENT_BITS) + 100, CACHE,
			       SEGMAP);
}

/*
 * When the VM joins two free blocks, it changes one entry: the second block's first one now
 * leads to where the entry before it leads. A method that takes the whole leaves the map so.
 */
static void test_map_of_joined_blocks(void)
{
	static const uint8_t wrong[] = { 0xff, 6, 0xfe };
	const uint64_t last = 2 + PIECE * (OP_HOTSPOT_HOPS - 1);
	uint8_t map[PIECE * OP_HOTSPOT_HOPS] = { 0, 1, 2 };
	struct op_unwind u;
	uint64_t at;
	size_t i;

	begin("");
	u = in_stub(INSIDE, true, 0);
	for (i = PIECE; i < sizeof(map); i++)
		map[i] = i % PIECE ? i % PIECE : PIECE;
	put(SEGMAP + 2, map, sizeof(map));
	for (at = 2; at <= last; at++)
		CHECK_INT(blob_at(&u, at), BLOB);
	/* the map of a process may say anything */
	CHECK_INT(blob_at(&u, last + 1), 0);
	CHECK_INT(fake.reads, OP_HOTSPOT_HOPS);
	for (i = 0; i < sizeof(wrong); i++) {
		put(SEGMAP + 5, &wrong[i], 1);
		CHECK_INT(blob_at(&u, 5), 0);
		CHECK_INT(fake.reads, 1);
	}
}

/* The blob is found in each heap that a VM may have. */
static void test_heaps(void)
{
	struct op_unwind u;
	int i;

	for (i = 0; i < OP_HOTSPOT_HEAPS; i++) {
		begin("StubRoutines");
		memset(slab.process.heap, 0, sizeof(slab.process.heap));
		slab.process.heap[i] =
			(struct op_hotspot_heap){ CACHE, CACHE + CACHE_BYTES, SEGMAP };
		u = in_stub(INSIDE, false, 0);
		CHECK_INT(op_hotspot_find_blob(&u, &view, INSIDE), BLOB);
	}
}

/* What a virtual thread's frames return to where those of their callers are still in the heap: the
 * walk goes on at the carrier, and says that there are others between. */
static void test_continuation(void)
{
	static const struct {
		const char *name;
		uint32_t missing;
	} stubs[] = {
		{ "StubRoutines (continuation stubs)", OP_ERROR_hotspot_unmounted },
		{ "StubRoutines (continuationstubs)", OP_ERROR_hotspot_unmounted },
		{ "StubRoutines (compiler stubs)", OP_END_COMPLETE },
		{ "StubRoutines", OP_END_COMPLETE },
	};
	size_t i;

	for (i = 0; i < OP_ARRAY_SIZE(stubs); i++) {
		struct op_unwind u;

		begin(stubs[i].name);
		u = in_stub(INSIDE, false, CACHE + 0x1000);
		check_caller(&u, CACHE + 0x1000, RECORD + 16, OP_RUNTIME_HOTSPOT);
		CHECK_INT(op_missing_frames(&u), stubs[i].missing);
	}
}

/* A rule says where the frame of the caller is; no other word is believed, whatever it is. */
static void test_rules(void)
{
	static const struct {
		struct op_hotspot_rule rule;
		uint64_t ra; /* words above sp of the return address */
		uint64_t fp; /* and of the caller's fp; 0: fp is the caller's */
	} ruled[] = {
		{ { .frame = OP_HOTSPOT_FROM_SP, .words = 12 }, 11, 0 },
		{ { .frame = OP_HOTSPOT_FROM_SP, .words = 12, .where = 5 }, 11, 7 },
		{ { .frame = OP_HOTSPOT_FROM_FP, .words = 4, .where = 4 }, 43, 40 },
		{ { .frame = OP_HOTSPOT_FROM_SLOT + 7, .words = 4, .where = 2 }, 23, 22 },
	};
	struct op_unwind u;
	size_t i;
	int exact;

	for (i = 0; i < 2 * OP_ARRAY_SIZE(ruled); i++) {
		exact = i & 1;
		begin("StubRoutines (1)");
		slab.process.rule_count = 3;
		slab.process.rule[0] =
			(struct op_hotspot_rule){ .at = 0, .frame = OP_HOTSPOT_NO_RULE };
		slab.process.rule[1] = ruled[i / 2].rule;
		slab.process.rule[1].at = INSIDE - exact - CACHE;
		slab.process.rule[2] =
			(struct op_hotspot_rule){ .at = INSIDE + 1 - CACHE,
						  .frame = OP_HOTSPOT_NO_RULE };
		u = in_stub(INSIDE + !exact, exact, 0);
		/* what finished calls left */
		put_u64(STACK, CACHE + 0x1000);
		put_u64(STACK + 8, VM + 0x100);
		put_u64(STACK + 7 * 8, STACK + 20 * 8); /* the slot */
		put_u64(STACK + ruled[i / 2].ra * 8, CALLER);
		if (ruled[i / 2].fp)
			put_u64(STACK + ruled[i / 2].fp * 8, CALLER_FP);
		else
			u.fp = CALLER_FP;
		check_caller(&u, CALLER, STACK + (ruled[i / 2].ra + 1) * 8,
			     OP_STEP_NATIVE);
		/* it is no return address */
		u = in_stub(INSIDE + !exact, exact, 0);
		put_u64(STACK, CACHE + 0x1000);
		put_u64(STACK + 7 * 8, STACK + 20 * 8);
		put_u64(STACK + ruled[i / 2].ra * 8, NO_CALLER);
		check_no_caller(&u, OP_ERROR_hotspot_return_address);
	}
	slab.process.rule[1] = (struct op_hotspot_rule){ .at = INSIDE - CACHE,
							 .frame = OP_HOTSPOT_FROM_SLOT,
							 .words = 1 };
	u = in_stub(INSIDE + 1, false, 0);
	put_u64(STACK, STACK - 64); /* below the frame */
	check_no_caller(&u, OP_ERROR_hotspot_frame_pointer);
	/* the caller's fp is not known */
	slab.process.rule[1].frame = OP_HOTSPOT_FROM_SP;
	slab.process.rule[1].where = OP_HOTSPOT_FP_LOST;
	u = in_stub(INSIDE + 1, false, 0);
	put_u64(STACK, CACHE + 0x1000);
	CHECK_INT(step(&u), OP_NEXT_CONTINUE);
	CHECK_INT(u.pc, CACHE + 0x1000);
	CHECK_INT(u.fp, 0);
}

/* Where there is no rule, what is taken for a return address stands behind a call. */
static void test_searched(void)
{
	struct op_unwind u;

	begin("StubRoutines (1)");
	u = in_stub(INSIDE, true, 0);
	put_u64(STACK + 8, CACHE + 0x1000); /* of the stack it may be a number */
	check_no_caller(&u, OP_ERROR_hotspot_return_address);
	u = in_stub(INSIDE, true, 0);
	put_u64(STACK + 8, VM + 0x100);
	put(VM + 0x100 - 2, "\xff\xd0", 2);
	u.fp = CALLER_FP;
	check_caller(&u, VM + 0x100, STACK + 16, OP_STEP_NATIVE);
}

TEST_MAIN({ "other_stub", test_other_stub }, { "upcall", test_upcall },
	  { "upcall_without_frame", test_upcall_without_frame },
	  { "upcall_of_none", test_upcall_of_none },
	  { "continuation", test_continuation },
	  { "map_of_joined_blocks", test_map_of_joined_blocks }, { "rules", test_rules },
	  { "heaps", test_heaps }, { "searched", test_searched })
