/* SPDX-License-Identifier: Apache-2.0 */
/* The PHP step over chains of frames that are made here. */
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
	CODE = 1 << 16,
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

/* The words of the frame at word @at. */
static uint32_t words_at(uint32_t at)
{
	return op_frame_words(words[at]);
}

/* The function of a closure may be freed before user space reads it, so its frame has what
 * would be read. The flag that says so is another one in PHP 7.3. */
static void test_closures(void)
{
	static const struct {
		uint16_t version;
		uint32_t info;
		uint32_t words;
	} cases[] = {
		{ 0x0703, 0, OP_PHP_FRAME_WORDS },
		{ 0x0703, 1 << 21, OP_PHP_COPY_WORDS },	 /* ZEND_CALL_CLOSURE */
		{ 0x0703, 1 << 26, OP_PHP_COPY_WORDS },	 /* ZEND_CALL_FAKE_CLOSURE */
		{ 0x0703, 1 << 22, OP_PHP_FRAME_WORDS }, /* ZEND_CALL_RELEASE_THIS */
		{ 0x0703, 1 << 23, OP_PHP_FRAME_WORDS }, /* ZEND_CALL_ALLOCATED */
		{ 0x0704, 1 << 22, OP_PHP_COPY_WORDS },
		{ 0x0704, 1 << 23, OP_PHP_COPY_WORDS },
		{ 0x0704, 1 << 21, OP_PHP_FRAME_WORDS },
		{ 0x0802, 1 << 22, OP_PHP_COPY_WORDS },
		{ 0x0802, 1 << 26, OP_PHP_FRAME_WORDS }, /* MAY_HAVE_UNDEF */
	};
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct op_unwind u = begin(cases[i].version);

		put_function(FUNCTION, 0);
		put_frame(FUNCTION, cases[i].info);
		put_frame(FUNCTION, CODE | TOP);
		CHECK_INT(walk(&u), 2);
		CHECK_INT(words_at(0), cases[i].words);
		CHECK_INT(words_at(cases[i].words), OP_PHP_COPY_WORDS);
		CHECK_INT(u.out.words, cases[i].words + OP_PHP_COPY_WORDS);
		end();
	}
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

/* A function that stays takes one read more than its frame, and its frame is as it was. */
static void test_functions_that_stay(void)
{
	static const struct {
		uint16_t version;
		uint32_t flags;
		bool stays;
	} cases[] = {
		{ 0x0703, 1 << 25, true }, /* ZEND_ACC_IMMUTABLE */
		{ 0x0703, 1 << 7, false },  { 0x0704, 1 << 7, true },
		{ 0x0704, 1 << 25, false }, { 0x0802, 1 << 7, true },
		{ 0x0805, 1 << 7, true },   { 0x0805, 0, false },
	};
	const int stay_reads = 1 + 2 * 2; /* the chain; each frame and function's head */
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct op_unwind u = begin(cases[i].version);

		put_function(FUNCTION, cases[i].flags);
		put_frame(FUNCTION, 0);
		put_frame(FUNCTION, 0);
		fake.reads = 0;
		CHECK_INT(walk(&u), 2);
		CHECK_INT(u.out.words, 2 * OP_PHP_FRAME_WORDS);
		CHECK_INT(words[1] & OP_PHP_OPLINE_MASK, OPS);
		CHECK_INT(words[1] >> OP_PHP_GUARD_SHIFT == 0, cases[i].stays);
		CHECK_INT(words[1], words[3]);
		CHECK_INT(fake.reads, stay_reads + (layout.active_fiber != 0) +
					      (cases[i].stays ? 0 : 2 * 2));
		check_described(words, "work", "/srv/a.php");
		end();
	}
}

TEST_MAIN({ "closures", test_closures }, { "requests", test_requests },
	  { "functions_that_stay", test_functions_that_stay })
