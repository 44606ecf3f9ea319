/* SPDX-License-Identifier: Apache-2.0 */
/* The PHP step over chains of frames made by the test. */
#define __TARGET_ARCH_x86
#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif

#include "code/unwind/host.h"

#include "bpf/runtime/php.h"

#include <elf.h>

#include "fake_memory.h"
#include "runtime/php/image.h"
#include "runtime/runtime.h"
#include "test.h"

enum {
	/* where things are put */
	EXECUTOR = BASE,
	FRAMES = BASE + 0x1000,
	FRAME_BYTES = 0x100,
	FUNCTION = BASE + 0x4000,
	NAME = BASE + 0x5000,
	FILE_NAME = BASE + 0x5400,
	OPS = BASE + 0x6000,
	/* flags of a frame in its type information */
	TOP = 1 << 17,
};

static uint8_t slab[OP_SLAB_BYTES] __attribute__((aligned(8)));
static uint64_t words[OP_WORDS_MAX];
static struct op_unwind_input input = { .memory = &fake.memory };
static struct op_unwind_context context = { .input = &input, .words = words };
static struct op_php_layout layout;
static struct op_php_image image;
static void *instance;
static size_t frames;

/* A walk from its start. */
static struct op_unwind walk_begin(void)
{
	return (struct op_unwind){
		.platform = (uintptr_t)&context,
		.step = OP_RUNTIME_PHP,
		.out.max_frames = 100,
		.window_at = ~0ULL,
		.state = { .instance = 1, .ref = 64 >> OP_REF_SHIFT, .runtime = 2 },
	};
}

/* A process of that version, with nothing on its chain. */
static struct op_unwind begin(uint16_t version)
{
	const struct op_runtime_target target = { .memory = &fake.memory };

	fake_begin();
	memset(slab, 0, sizeof(slab));
	frames = 0;
	CHECK_OK(op_layouts_find_number(NULL, &op_runtime_php_layouts, version, &layout));
	image = (struct op_php_image){ .machine = EM_X86_64,
				       .executor = EXECUTOR,
				       .version = version,
				       .layout = layout };
	CHECK_OK(op_runtime_php.attach(&image, &target, NULL, slab + 64, &instance));
	context.last_slab = slab;
	return walk_begin();
}

static void end(void)
{
	op_runtime_php.detach(instance);
}

static void put_string(uint64_t addr, const char *text, uint64_t hash)
{
	put_u32(addr + OP_PHP_STRING_TYPE, 6);
	put_u64(addr + OP_PHP_STRING_HASH, hash);
	put_u64(addr + OP_PHP_STRING_LENGTH, strlen(text));
	put(addr + OP_PHP_STRING_TEXT, text, strlen(text) + 1);
}

/* A function whose instructions stand in line 7. */
static void put_function(uint64_t addr, uint32_t flags)
{
	put_u64(addr, OP_PHP_FUNCTION_USER | (uint64_t)flags << 32);
	put_u64(addr + OP_PHP_FUNCTION_NAME, NAME);
	put_u64(addr + layout.opcodes, OPS);
	put_u32(addr + layout.last, 1);
	put_u64(addr + layout.filename, FILE_NAME);
	put_u32(addr + layout.line_start, 5);
	put_u32(addr + layout.line_start + 4, 9);
	put_u32(OPS + OP_PHP_OP_LINE, 7);
	put_string(NAME, "work", 0x8123456701234567);
	put_string(FILE_NAME, "/srv/a.php", 0x8123456789abcdef);
}

/* The next frame outwards. */
static void put_frame(uint64_t function, uint32_t info)
{
	uint64_t at = FRAMES + frames * FRAME_BYTES;

	if (frames)
		put_u64(at - FRAME_BYTES + OP_PHP_FRAME_PREVIOUS, at);
	else
		put_u64(EXECUTOR + layout.current, at);
	put_u64(at + OP_PHP_FRAME_OPLINE, OPS);
	put_u64(at + OP_PHP_FRAME_FUNCTION, function);
	put_u32(at + OP_PHP_FRAME_INFO, info);
	frames++;
}

/* Walk the activation; returns the number of its frames. */
static uint32_t walk(struct op_unwind *u)
{
	int steps = 0;

	while (u->step == OP_RUNTIME_PHP && steps++ < 100)
		CHECK_INT(op_step_php(u), OP_NEXT_CONTINUE);
	CHECK_INT(u->state.error, 0);
	return u->out.frames;
}

/* The function of the frame number @i. */
static uint64_t function_at(uint32_t i)
{
	CHECK_INT(op_frame_words(words[i * OP_PHP_FRAME_WORDS]), OP_PHP_FRAME_WORDS);
	return words[i * OP_PHP_FRAME_WORDS] & OP_FRAME_ADDRESS_MASK;
}

/* The frame of @at, as the process is now. */
static void check_described(const uint64_t at[OP_PHP_FRAME_WORDS], const char *name,
			    const char *file)
{
	struct op_runtime_frame frame = { 0 };

	CHECK_OK(op_runtime_php.describe(instance, at, OP_PHP_FRAME_WORDS, &frame));
	CHECK_INT(frame.len, 1);
	CHECK_STR(frame.function[0].name, name);
	CHECK_STR(frame.function[0].file, file);
	CHECK_INT(frame.function[0].line, *file ? 7 : 0);
}

/* Without OPcache, each request makes its functions anew, where those of the request before
 * were. Two scripts that are alike but for names differ in nothing but their files' names. */
static void test_requests(void)
{
	uint64_t first[OP_PHP_FRAME_WORDS];
	struct op_unwind u = begin(0x0802);
	char unknown[32];

	put_function(FUNCTION, 0);
	put_frame(FUNCTION, TOP);
	CHECK_INT(walk(&u), 1);
	CHECK_INT(u.out.words, OP_PHP_FRAME_WORDS);
	memcpy(first, words, sizeof(first));
	check_described(first, "work", "/srv/a.php");

	put_string(NAME, "idle", 0x8123456701234568);
	put_string(FILE_NAME, "/srv/b.php", 0x8123456789abcdf0);
	u = walk_begin();
	CHECK_INT(walk(&u), 1);
	check_described(words, "idle", "/srv/b.php");
	CHECK(first[1] >> 32 != words[1] >> 32);
	/* late frames of the other request */
	check_described(first, "work", "/srv/a.php");
	op_runtime_php.window_end(instance);
	check_described(first, "work", "/srv/a.php");
	check_described(words, "idle", "/srv/b.php");

	/* Another's function is not taken for one that was not read in time. */
	put_string(NAME, "gone", 0x8123456701234569);
	put_string(FILE_NAME, "/srv/c.php", 0x8123456789abcdf1);
	u = walk_begin();
	CHECK_INT(walk(&u), 1);
	put_string(NAME, "idle", 0x8123456701234568);
	put_string(FILE_NAME, "/srv/b.php", 0x8123456789abcdf0);
	(void)snprintf(unknown, sizeof(unknown), "php@0x%x", FUNCTION);
	check_described(words, unknown, "");
	end();
}

/* An instruction that is none of the function's, as an earlier frame may have left it, has no
 * line. */
static void test_line(void)
{
	struct op_runtime_frame frame = { 0 };
	struct op_unwind u = begin(0x0802);

	put_function(FUNCTION, 0);
	put_frame(FUNCTION, TOP);
	put_u64(FRAMES + OP_PHP_FRAME_OPLINE, OPS + OP_PHP_OP_BYTES);
	put_u32(OPS + OP_PHP_OP_BYTES + OP_PHP_OP_LINE, 8);
	CHECK_INT(walk(&u), 1);
	CHECK_OK(op_runtime_php.describe(instance, words, OP_PHP_FRAME_WORDS, &frame));
	CHECK_STR(frame.function[0].name, "work");
	CHECK_INT(frame.function[0].line, 0);
	end();
}

/* While OPcache compiles a file, its main code may have a frame that stands for all others. */
static void test_compiling(void)
{
	struct op_unwind u = begin(0x0802);

	put_function(FUNCTION, 0);
	put_frame(FUNCTION, 0);
	while (u.step == OP_RUNTIME_PHP)
		CHECK_INT(op_step_php(&u), OP_NEXT_CONTINUE);
	CHECK_INT(u.state.error, OP_ERROR_php_compiling);
	CHECK_INT(u.out.frames, 0);
	end();
}

enum {
	GENERATORS = BASE + 0x8000,
	GENERATOR_BYTES = 0x200,
	WAITERS = BASE + 0x4800, /* their functions */
};

static uint64_t generator(uint32_t i)
{
	return GENERATORS + i * GENERATOR_BYTES;
}

/* Frame number @i is generator @i's. */
static void put_generator(uint32_t i, bool old)
{
	uint64_t at = FRAMES + i * FRAME_BYTES;

	put_u64(at + OP_PHP_FRAME_RETURN, generator(i));
	put_u64(at + OP_PHP_FRAME_FUNCTION, i ? WAITERS + i * 0x100 : FUNCTION);
	put_u64(at + OP_PHP_FRAME_OPLINE, OPS);
	put_u32(at + OP_PHP_FRAME_INFO, TOP);
	put_u64(generator(i) + (old ? OP_PHP_NODE_OLD : OP_PHP_NODE) -
			OP_PHP_NODE_TO_FRAME,
		at);
	if (i)
		put_function(WAITERS + i * 0x100, 0);
}

/* Generator @i waits for generator @i - 1. */
static void put_waits(uint32_t i, bool old)
{
	uint32_t node = old ? OP_PHP_NODE_OLD : OP_PHP_NODE;

	put_u64(generator(i) + node, generator(i - 1));
	put_u32(generator(i - 1) + node + 8, 1);
	put_u64(generator(i - 1) + node + (old ? 24 : 16), generator(i));
}

/* The first of three generators runs; two wait for it, and the last one's placeholder stands in
 * the chain. @old: as in PHP 8.0 and before. Returns the walk's error. */
static uint32_t walk_generators(bool old, uint32_t *ret_frames)
{
	uint64_t placeholder =
		generator(2) + (old ? OP_PHP_PLACEHOLDER_OLD : OP_PHP_PLACEHOLDER);
	struct op_unwind u = walk_begin();
	int steps;

	put_u64(FRAMES + OP_PHP_FRAME_PREVIOUS, placeholder);
	put_u64(placeholder + OP_PHP_FRAME_INFO - 8, generator(2));
	put_u32(placeholder + OP_PHP_FRAME_INFO, OP_PHP_IS_OBJECT);
	put_u64(placeholder + OP_PHP_FRAME_PREVIOUS, FRAMES + 3 * FRAME_BYTES);
	for (steps = 0; steps < 20; steps++) {
		/* the loop's next activation */
		if (u.step != OP_RUNTIME_PHP)
			u.step = OP_RUNTIME_PHP;
		CHECK_INT(op_step_php(&u), OP_NEXT_CONTINUE);
	}
	*ret_frames = u.out.frames;
	return u.state.error;
}

static void test_generators(void)
{
	uint32_t count;
	uint32_t old;
	uint32_t i;

	for (old = 0; old < 2; old++) {
		(void)begin(old ? 0x0704 : 0x0802);
		put_function(FUNCTION, 0);
		put_function(FUNCTION + 0x400, 0);
		for (i = 0; i < 4; i++)
			put_frame(FUNCTION + 0x400, TOP);
		for (i = 0; i < 3; i++)
			put_generator(i, old);
		put_waits(1, old);
		put_waits(2, old);
		CHECK_INT(walk_generators(old, &count), 0);
		CHECK_INT(count, 4);
		CHECK_INT(function_at(0), FUNCTION);
		CHECK_INT(function_at(1), WAITERS + 0x100);
		CHECK_INT(function_at(2), WAITERS + 0x200);
		CHECK_INT(function_at(3), FUNCTION + 0x400);
		/* a frame that is not the generator's */
		put_u64(FRAMES + FRAME_BYTES + OP_PHP_FRAME_RETURN, 0);
		CHECK_INT(walk_generators(old, &count), OP_ERROR_php_generator);
		CHECK_INT(count, 1);
		put_generator(1, old);
		/* two wait for it */
		put_u32(generator(0) + (old ? OP_PHP_NODE_OLD : OP_PHP_NODE) + 8, 2);
		CHECK_INT(walk_generators(old, &count), OP_ERROR_php_generator);
		put_waits(1, old);
		put_u64(generator(2) + (old ? OP_PHP_NODE_OLD : OP_PHP_NODE), 0);
		CHECK_INT(walk_generators(old, &count), OP_ERROR_php_generator);
		CHECK_INT(count, 2);
		end();
	}
}

/* ---- pieces that the kernel kept ---- */

static uint8_t kept[1024] __attribute__((aligned(8)));

/* Keep @len bytes at @addr as they are now, or without bytes @check for @addr. */
static void keep(uint64_t addr, uint32_t len, uint32_t check)
{
	const struct op_chain_piece piece = { .at = addr, .bytes = len, .check = check };
	uint8_t *to = kept + context.chain.len;

	CHECK(context.chain.len + sizeof(piece) + len + 8 <= sizeof(kept));
	memcpy(to, &piece, sizeof(piece));
	if (len)
		CHECK_OK(op_memory_read(&fake.memory, addr, to + sizeof(piece), len));
	context.chain.len += sizeof(piece) + OP_ALIGN_UP(len, 8U);
}

static int read_nothing(const struct op_memory *memory, uint64_t addr, void *buf,
			size_t len)
{
	return -EFAULT;
}

/* Walk after the process has gone on. Returns the walk's error. */
static uint32_t walk_late(uint32_t *ret_frames)
{
	struct op_unwind u = walk_begin();
	int steps = 0;

	u.heap_moved = 1;
	while (u.step == OP_RUNTIME_PHP && steps++ < 100)
		CHECK_INT(op_step_php(&u), OP_NEXT_CONTINUE);
	*ret_frames = u.out.frames;
	return u.state.error;
}

/* A frame is as it was when the kernel read it, or is not told. */
static void test_kept(void)
{
	struct op_memory nothing = { .read = read_nothing };
	struct op_unwind u = begin(0x0802);
	uint64_t want[2 * OP_PHP_FRAME_WORDS];
	uint32_t count;
	size_t whole;

	put_function(FUNCTION, 0);
	put_frame(FUNCTION, 0);
	put_frame(FUNCTION, TOP);
	CHECK_INT(walk(&u), 2);
	memcpy(want, words, sizeof(want));
	keep(EXECUTOR + layout.current, 8, 0);
	if (layout.active_fiber)
		keep(EXECUTOR + layout.active_fiber, 8, 0);
	keep(FRAMES, OP_PHP_FRAME_PREVIOUS + 8, 0);
	keep(FRAMES + FRAME_BYTES, OP_PHP_FRAME_PREVIOUS + 8, 0);
	keep(FUNCTION, layout.filename + 16, 0);
	keep(OPS + OP_PHP_OP_LINE, 4, 0);
	whole = context.chain.len;
	keep(want[0], 0, (uint32_t)(want[1] >> 32));
	context.chain.bytes = kept;
	input.stack = &nothing;
	put_u64(EXECUTOR + layout.current, 0);
	put_string(NAME, "idle", 0x8123456701234568);
	put_u32(OPS + OP_PHP_OP_LINE, 8);
	CHECK_INT(walk_late(&count), 0);
	CHECK_INT(count, 2);
	CHECK(memcmp(want, words, sizeof(want)) == 0);
	/* what would name it was not told */
	context.chain.len = whole;
	CHECK_INT(walk_late(&count), OP_ERROR_php_late);
	CHECK_INT(count, 0);
	context.chain.bytes = NULL;
	CHECK_INT(walk_late(&count), OP_ERROR_php_late);
	context.chain.len = 0;
	input.stack = NULL;
	end();
}

TEST_MAIN({ "requests", test_requests }, { "line", test_line },
	  { "compiling", test_compiling }, { "generators", test_generators },
	  { "kept", test_kept })
