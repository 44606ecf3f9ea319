/* SPDX-License-Identifier: Apache-2.0 */
/* The Perl step over contexts that are made here: which of them belong to which activation. */
#define __TARGET_ARCH_x86
#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif

#include "code/unwind/host.h"

#include "bpf/runtime/perl.h"

#include "perl_fake.h"
#include "test.h"

enum {
	/* where things are put */
	THREAD = BASE,
	PERL = BASE + 0x100,
	INFOS = BASE + 0x800,	/* PERL_SI, 0x40 each */
	STACKS = BASE + 0x1000, /* of contexts, 0x1000 for each of these */
	COPS = BASE + 0x6000,
	SUBS = BASE + 0x8000,
	NAMES = BASE + 0xc000,
	ENVS = BASE + 0xf000, /* the C stack */
	LOOP = 0x400000,
	SP = BASE + 0xf400,
	/* of contexts */
	BLOCK = 2,
	SUB = 9,
	EVAL = 11,
	C_SUB = 0x100, /* a sub that C code called: it returns to no op */
	C_EVAL = 0x200,
	/* types of PERL_SI */
	MAIN = 1,
	MAGIC = 2,
	SORT = 3,
	MULTICALL = 10,
};

static uint8_t slab[OP_SLAB_BYTES] __attribute__((aligned(8)));
static uint64_t words[OP_WORDS_MAX];
static struct op_unwind_input input = { .memory = &fake.memory };
static struct op_unwind_context context = { .input = &input, .words = words };
static uint32_t infos;
static uint32_t contexts; /* of the newest PERL_SI */
static uint32_t cops;

static struct op_perl *process(void)
{
	return (struct op_perl *)(slab + 64);
}

/* The next statement: its line is its number. */
static uint64_t statement(void)
{
	uint64_t at = COPS + cops * 0x40;

	cops++;
	put_u32(at + 36, cops);
	put_u64(at + 48, 0x1234);
	put_u64(PERL + layout.curcop, at);
	return at;
}

static void push_info(uint32_t type)
{
	uint64_t at = INFOS + infos * 0x40;

	put_u64(at + 8, STACKS + infos * 0x1000);
	put_u64(at + 16, infos ? at - 0x40 : 0);
	put_u32(at + 32, (uint32_t)-1);
	put_u32(at + layout.si_type, type);
	put_u64(PERL + layout.stackinfo, at);
	infos++;
	contexts = 0;
}

/* Push a context. A sub then executes a statement. */
static void push(uint32_t type)
{
	uint64_t info = INFOS + (infos - 1) * 0x40;
	uint64_t at =
		STACKS + (infos - 1) * 0x1000 + (uint64_t)contexts * layout.cx_bytes;
	uint64_t cop;
	uint64_t sub = SUBS + cops * 0x100;

	memcpy(&cop, fake.bytes + (PERL + layout.curcop - BASE), 8);
	put_u32(at, type & 0xff);
	put_u64(at + 16, cop);
	put_u64(at + 48, type & (C_SUB | C_EVAL) ? 0 : 1);
	put_u64(at + layout.cx_cv, sub);
	put_u64(sub, sub + 0x20);
	put_u32(sub + 12, OP_PERL_TYPE_CV);
	put_u64(sub + 0x20 + OP_PERL_CV_NAME, sub + 0x80);
	put_u32(info + 32, contexts++);
	statement();
}

static void begin(const char *version)
{
	fake_version(version);
	memset(slab, 0, sizeof(slab));
	infos = cops = 0;
	*process() = (struct op_perl){
		.at = 0x20,
		.cx_bytes = layout.cx_bytes,
		.cx_sub = layout.cx_sub,
		.cx_cv = layout.cx_cv,
		.si_type = layout.si_type,
		.hash_aux = layout.hash_aux,
		.op = 8,
		.curcop = layout.curcop,
		.stackinfo = layout.stackinfo,
		.top_env = layout.top_env,
	};
	put_u64(THREAD + 0x20, PERL);
	put_u64(PERL + 8, 0x123456); /* PL_op */
	context.last_slab = slab;
	push_info(MAIN);
	statement();
}

static void begin_op(uint64_t op)
{
	put_u64(PERL + 8, op);
}

/* A walk at an activation of the loop. */
static struct op_unwind walk_at(bool exact)
{
	return (struct op_unwind){
		.platform = (uintptr_t)&context,
		.pc = LOOP,
		.sp = SP,
		.loop_cfa = SP + 0x10,
		.exact = exact,
		.process.thread_pointer = THREAD,
		.step = OP_RUNTIME_PERL,
		.out.max_frames = 100,
		.window_at = ~0ULL,
		.state = { .instance = 1,
			   .ref = 64 >> OP_REF_SHIFT,
			   .runtime = OP_RUNTIME_PERL },
	};
}

/* Walk one activation; the next one is 0x100 bytes above it. Returns the number of its frames. */
static uint32_t walk(struct op_unwind *u)
{
	uint32_t before = u->out.frames;
	int steps = 0;

	u->step = OP_RUNTIME_PERL;
	while (u->step == OP_RUNTIME_PERL && steps++ < 100)
		CHECK_INT(op_step_perl(u), OP_NEXT_CONTINUE);
	if (u->out.frames != before || u->state.error != OP_ERROR_perl_no_activation)
		CHECK_INT(u->state.error, 0);
	CHECK_INT(u->runtime_done, 1);
	u->exact = 0;
	u->sp += 0x100;
	u->loop_cfa += 0x100;
	return u->out.frames - before;
}

static uint32_t line(uint32_t frame)
{
	return (uint32_t)words[frame * 3 + 1];
}

/* main calls a sub, which calls one by way of C code; blocks have no frame. */
static void test_groups(void)
{
	static const char *const versions[] = { "5.28", "5.32", "5.34", "5.36", "5.42" };
	struct op_unwind u;
	size_t i;

	for (i = 0; i < OP_ARRAY_SIZE(versions); i++) {
		begin(versions[i]);
		push(SUB);
		push(BLOCK);
		push_info(MAGIC);
		push(C_SUB | SUB);
		push(SUB);
		u = walk_at(false);
		CHECK_INT(walk(&u), 2);
		CHECK_INT(walk(&u), 2);
		CHECK_INT(walk(&u), 0);
		CHECK_INT(line(0), 5);
		CHECK_INT(line(1), 4);
		CHECK_INT(line(2), 3);
		CHECK_INT(line(3), 1);
		CHECK_INT(words[2], 0x1234);
		CHECK_INT(words[11] >> OP_PERL_KIND_SHIFT, OP_PERL_MAIN);
	}
}

/* A sort's block has no frame, and its group no activation while no op of it runs. */
static void test_sort(void)
{
	struct op_unwind u;

	begin("5.36");
	push(SUB);
	push_info(SORT);
	push(0);
	push(SUB);
	u = walk_at(false);
	CHECK_INT(walk(&u), 1);
	CHECK_INT(walk(&u), 2);
	CHECK_INT(line(1), 3); /* of the block, in the sub */
	begin("5.36");
	push(SUB);
	push_info(SORT);
	push(C_SUB | SUB);
	u = walk_at(false);
	CHECK_INT(walk(&u), 1);
	CHECK_INT(walk(&u), 2);
	begin_op(0);
	u = walk_at(false);
	CHECK_INT(walk(&u), 2);
	CHECK_INT(line(0), 2);
	/* the loop that ran it is about to return */
	u = walk_at(true);
	CHECK_INT(walk(&u), 0);
	CHECK_INT(walk(&u), 2);
}

/* The last op of a block leads to no op, and so does a sub that it calls. */
static void test_last_op(void)
{
	struct op_unwind u;

	begin("5.36");
	push(SUB);
	push_info(SORT);
	push(0);
	push(C_SUB | SUB);
	push(SUB);
	u = walk_at(false);
	CHECK_INT(walk(&u), 2);
	CHECK_INT(walk(&u), 2);
	begin("5.36");
	push(SUB);
	push_info(MULTICALL);
	push(C_SUB | SUB | OP_PERL_CX_REGEX);
	push(C_SUB | SUB);
	u = walk_at(false);
	CHECK_INT(walk(&u), 2);
	CHECK_INT(walk(&u), 2);
}

/* Code in a regular expression: a frame of its own, or none. */
static void test_regex(void)
{
	struct op_unwind u;

	begin("5.36");
	push(SUB);
	push_info(MULTICALL);
	push(C_SUB | SUB | OP_PERL_CX_REGEX | OP_PERL_CX_REGEX_FAKE);
	u = walk_at(false);
	CHECK_INT(walk(&u), 0);
	/* if it was the last activation, the group had none */
	CHECK_INT(u.state.error, OP_ERROR_perl_no_activation);
	CHECK_INT(walk(&u), 2);
	CHECK_INT(u.state.error, 0);
	CHECK_INT(line(0), 3);
	/* the match goes on: PL_op and the COP are its caller's */
	put_u64(PERL + layout.curcop, COPS + 0x40);
	u = walk_at(false);
	CHECK_INT(walk(&u), 2);
	CHECK_INT(line(0), 2);
}

/* C code calls a sub: it has a context, and no activation yet. */
static void test_calling(void)
{
	struct op_unwind u;

	begin("5.36");
	push(SUB);
	push(C_SUB | SUB);
	put_u64(PERL + layout.curcop, COPS + 0x40);
	begin_op(SP - 0x80);
	u = walk_at(false);
	CHECK_INT(walk(&u), 2);
	CHECK_INT(line(0), 2);
	/* Perl code enters a sub: its context has no CV yet */
	begin("5.36");
	push(SUB);
	push(SUB);
	put_u64(PERL + layout.curcop, COPS + 0x40);
	put_u64(STACKS + layout.cx_bytes + layout.cx_cv, 0);
	u = walk_at(false);
	CHECK_INT(walk(&u), 2);
	CHECK_INT(line(0), 2);
	/* and leaves one that C code called */
	begin("5.36");
	push(SUB);
	push(C_SUB | SUB);
	put_u64(STACKS + layout.cx_bytes + layout.cx_cv, 0);
	u = walk_at(false);
	CHECK_INT(walk(&u), 0);
	CHECK_INT(walk(&u), 2);
	CHECK_INT(line(0), 2);
}

/* An eval in the middle of a group began an activation, which runs the group to its end. */
static void test_caught(void)
{
	struct op_unwind u;

	begin("5.36");
	push_info(MAGIC);
	push(C_SUB | SUB);
	push(EVAL | OP_PERL_CX_BLOCK);
	put_u64(PERL + layout.top_env, SP + 0x40);
	put_u64(SP + 0x40, SP + 0x1000);
	u = walk_at(false);
	CHECK_INT(walk(&u), 2);
	CHECK_INT(walk(&u), 0);
	CHECK_INT(walk(&u), 1);
	/* call_sv() caught what the sub may throw */
	begin("5.36");
	push_info(MAGIC);
	push(C_EVAL | EVAL | OP_PERL_CX_BLOCK);
	push(C_SUB | SUB);
	put_u64(PERL + layout.top_env, SP + 0x40);
	put_u64(SP + 0x40, SP + 0x1000);
	u = walk_at(false);
	CHECK_INT(walk(&u), 2);
	CHECK_INT(walk(&u), 1);
	/* and so does eval_sv() */
	begin("5.36");
	push(C_EVAL | EVAL | OP_PERL_CX_REAL);
	put_u64(PERL + layout.top_env, SP + 0x40);
	put_u64(SP + 0x40, SP + 0x40);
	u = walk_at(false);
	CHECK_INT(walk(&u), 1);
	CHECK_INT(walk(&u), 1);
}

/* The last sub has its name itself. try {} has no frame. */
static void test_kinds(void)
{
	struct op_unwind u;

	begin("5.36");
	push(SUB);
	put_u32(SUBS + 0x100 + 0x20 + OP_PERL_CV_FLAGS + 4, OP_PERL_CV_NAMED);
	push(EVAL | OP_PERL_CX_BLOCK | OP_PERL_CX_TRY);
	push(EVAL);
	u = walk_at(false);
	CHECK_INT(walk(&u), 3);
	CHECK_INT(words[2] >> OP_PERL_KIND_SHIFT, OP_PERL_FILE);
	CHECK_INT(words[3] & OP_FRAME_ADDRESS_MASK, SUBS + 0x100);
	CHECK_INT(words[5] >> OP_PERL_KIND_SHIFT, OP_PERL_NAMED);
}

/* A sub of version @version has the identity that the library finds. */
static void check_identity(const char *version, bool named)
{
	struct op_perl_objects objects = { .memory = &fake.memory, .layout = &layout };
	uint64_t cv = SUBS + 0x100;
	struct op_unwind u;

	begin(version);
	push(SUB);
	put_hek(NAMES, "inner", 5, 0);
	put_hek(NAMES + 0x80, "Foo::Bar", 8, 0);
	put_package(NAMES + 0x200, NAMES + 0x80, 0);
	put_glob(NAMES + 0x400, NAMES, NAMES + 0x200);
	put_u64(cv + 0x20 + OP_PERL_CV_NAME, named ? NAMES : NAMES + 0x400);
	put_u64(cv + 0x20 + OP_PERL_CV_STASH, NAMES + 0x200);
	put_u32(cv + 0x20 + OP_PERL_CV_FLAGS + 4, named ? OP_PERL_CV_NAMED : 0);
	u = walk_at(false);
	CHECK_INT(walk(&u), 2);
	CHECK(words[1] >> 32);
	CHECK_OK(op_runtime_perl_is(&objects, words[0] & OP_FRAME_ADDRESS_MASK, named,
				    (uint32_t)(words[1] >> 32)));
	/* another package of that name's length, and another name */
	put_u32(NAMES + 0x80, 7);
	CHECK_INT(op_runtime_perl_is(&objects, words[0] & OP_FRAME_ADDRESS_MASK, named,
				     (uint32_t)(words[1] >> 32)),
		  -EBADMSG);
	put_u32(NAMES + 0x80, 0);
	put_u32(NAMES, 7);
	CHECK_INT(op_runtime_perl_is(&objects, words[0] & OP_FRAME_ADDRESS_MASK, named,
				     (uint32_t)(words[1] >> 32)),
		  -EBADMSG);
}

static void test_identity(void)
{
	check_identity("5.32", false);
	check_identity("5.32", true);
	check_identity("5.36", false);
	check_identity("5.36", true);
}

/* A defer block begins an activation, with a JMPENV; its last op calls a sub. */
static void test_defer(void)
{
	struct op_unwind u;

	begin("5.36");
	push(SUB);
	push(13);
	push(C_SUB | SUB);
	put_u64(PERL + layout.top_env, SP + 0x40);
	put_u64(SP + 0x40, SP + 0x1000);
	u = walk_at(false);
	CHECK_INT(walk(&u), 1);
	CHECK_INT(walk(&u), 2);
}

/* A frame of a file names the file, which its hash tells from another. */
static void test_files(void)
{
	struct op_unwind u;
	uint64_t hash;

	begin("5.36");
	push(EVAL);
	put_u64(COPS + 0x40 + 48, SUBS);
	put(SUBS, "/srv/a.pl", 10);
	u = walk_at(false);
	CHECK_INT(walk(&u), 2);
	CHECK_INT(words[0] & OP_FRAME_ADDRESS_MASK, SUBS);
	CHECK_INT(words[2], SUBS | (uint64_t)OP_PERL_FILE << OP_PERL_KIND_SHIFT);
	hash = words[1] >> 32;
	put(SUBS, "/srv/b.pl", 10);
	u = walk_at(false);
	CHECK_INT(walk(&u), 2);
	CHECK(words[1] >> 32 != hash);
	CHECK_INT(line(0), 2);
	/* without threads it has a glob, which stays */
	process()->globs = 1;
	u = walk_at(false);
	CHECK_INT(walk(&u), 2);
	CHECK_INT(words[0] & OP_FRAME_ADDRESS_MASK, 0);
}

/* All evals are one file: each has a number of its own. */
static void test_eval_files(void)
{
	struct op_unwind u;

	begin("5.36");
	push(EVAL | OP_PERL_CX_REAL);
	put_u64(COPS + 0x40 + 48, SUBS);
	put(SUBS, "(eval 17)", 10);
	u = walk_at(false);
	CHECK_INT(walk(&u), 2);
	CHECK_INT(words[2], (uint64_t)(OP_PERL_EVAL | OP_PERL_TEXT)
				    << OP_PERL_KIND_SHIFT);
	CHECK_INT(words[5], 0x1234 | (uint64_t)OP_PERL_MAIN << OP_PERL_KIND_SHIFT);
	/* by a glob */
	process()->globs = 1;
	put_u64(SUBS, SUBS + 0x40);
	put_u64(SUBS + 0x40 + OP_PERL_GV_NAME, SUBS + 0x80);
	put(SUBS + 0x88, "_<(eval 17)", 12);
	u = walk_at(false);
	CHECK_INT(walk(&u), 2);
	CHECK_INT(words[2], (uint64_t)(OP_PERL_EVAL | OP_PERL_TEXT)
				    << OP_PERL_KIND_SHIFT);
}

static uint32_t error_at(void)
{
	struct op_unwind u = walk_at(false);
	int steps = 0;

	while (u.step == OP_RUNTIME_PERL && steps++ < 10)
		CHECK_INT(op_step_perl(&u), OP_NEXT_CONTINUE);
	CHECK_INT(u.step, OP_STEP_NATIVE);
	return u.state.error;
}

static void test_hostile(void)
{
	struct op_unwind u;
	int i;

	begin("5.36");
	put_u64(THREAD + 0x20, 0);
	CHECK_INT(error_at(), OP_ERROR_perl_no_interpreter);
	put_u64(THREAD + 0x20, 8);
	CHECK_INT(error_at(), OP_ERROR_perl_read_interpreter);
	begin("5.36");
	put_u64(PERL + layout.stackinfo, 8);
	CHECK_INT(error_at(), OP_ERROR_perl_read_context);
	begin("5.36");
	put_u32(INFOS + 32, 0x7fffffff);
	CHECK_INT(error_at(), OP_ERROR_perl_read_context);
	begin("5.36");
	put_u32(INFOS + 32, 0);
	put_u64(INFOS + 8, 8);
	CHECK_INT(error_at(), OP_ERROR_perl_read_context);
	begin("5.36");
	push(SUB);
	push(SUB);
	put_u64(STACKS + layout.cx_cv, 8);
	CHECK_INT(error_at(), OP_ERROR_perl_read_frame);
	u = walk_at(false);
	u.heap_moved = 1;
	CHECK_INT(op_step_perl(&u), OP_NEXT_CONTINUE);
	CHECK_INT(u.state.error, OP_ERROR_perl_late);
	/* a PERL_SI and a JMPENV that lead to themselves: the walk's limit ends it */
	begin("5.36");
	push(SUB);
	put_u64(INFOS + 16, INFOS);
	put_u64(PERL + layout.top_env, SP - 0x100);
	put_u64(SP - 0x100, SP - 0x100);
	u = walk_at(false);
	for (i = 0; i < 1000 && op_step_perl(&u) == OP_NEXT_CONTINUE; i++)
		continue;
	CHECK_INT(u.end, OP_END_TRUNCATED);
	CHECK_INT(u.out.frames, 100);
}

TEST_MAIN({ "groups", test_groups }, { "sort", test_sort }, { "last_op", test_last_op },
	  { "regex", test_regex }, { "calling", test_calling }, { "caught", test_caught },
	  { "kinds", test_kinds }, { "identity", test_identity }, { "defer", test_defer },
	  { "files", test_files }, { "eval_files", test_eval_files },
	  { "hostile", test_hostile })
