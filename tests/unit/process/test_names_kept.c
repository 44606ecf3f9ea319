/* SPDX-License-Identifier: Apache-2.0 */
/* Names of native code: which are kept, and names of functions without symbols. */
#include <dlfcn.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "inside.h"
#include "process/image/names.h"
#include "tools.h"
#include "world.h"

enum {
	FUNCTIONS = 2000,
	FUNCTION_BYTES = 16,
	NAME_BYTES = 4000, /* of each function's name: 8 MB of all */
	SLACK_BYTES = 2 << 20,
};

/* Make a library of FUNCTIONS functions with long names, and map it. Returns the address of the
 * first one. */
static const char *load(const char *name, const char *more)
{
	FILE *out;
	char pad[NAME_BYTES];
	void *library;
	int i;

	TOOLS_NEED("gcc");
	memset(pad, 'n', sizeof(pad) - 1);
	pad[sizeof(pad) - 1] = '\0';
	out = fopen(tools_path("a.S"), "we");
	CHECK(out);
	CHECK(fprintf(out, ".text\n.p2align 4\n.globl first\nfirst:\n") > 0);
	for (i = 0; i < FUNCTIONS; i++)
		CHECK(fprintf(out,
			      ".type f%d%s, @function\nf%d%s:\n.cfi_startproc\n"
			      ".skip %d, 0x90\n.cfi_endproc\n.size f%d%s, %d\n",
			      i, pad, i, pad, FUNCTION_BYTES, i, pad,
			      FUNCTION_BYTES) > 0);
	CHECK(fprintf(out, ".section .note.GNU-stack,\"\",@progbits\n") > 0);
	CHECK_OK(fclose(out));
	TOOLS_RUN("gcc -shared -nostdlib -o %s a.S && rm a.S %s", name, more);
	library = dlopen(tools_path(name), RTLD_NOW);
	CHECK(library);
	return dlsym(library, "first");
}

/* A sample whose callers are guessed from @first on, @len of them. Its leaf is always one. */
static void add_guessed(struct world *w, const char *first, int from, int len)
{
	uint64_t words[64];
	int i;

	CHECK(len < 64);
	words[0] = world_exact((const void *)known_function);
	for (i = 0; i < len; i++)
		words[i + 1] =
			(uint64_t)(uintptr_t)(first + (from + i) * FUNCTION_BYTES + 5) |
			(uint64_t)OP_FRAME_NATIVE_GUESSED << OP_FRAME_KIND_SHIFT;
	CHECK_OK(world_sample(w, world_self(), NULL, 0, words, (size_t)len + 1,
			      OP_END_COMPLETE));
}

/* However long a file's names are, and whether or not the places are kept with them. */
static void test_bytes_are_bounded(void)
{
	const char *first = load("long.so", "");
	char begins[16];
	struct world w;
	uint64_t most = 0;
	int from;
	int i;

	world_init(&w, NULL);
	world_learn_self(&w);
	for (from = 0; from + 50 <= FUNCTIONS; from += 50) {
		add_guessed(&w, first, from, 50);
		(void)snprintf(begins, sizeof(begins), "f%dn", from);
		CHECK_INT(strncmp(world_name(&w, 1), begins, strlen(begins)), 0);
		most = OP_MAX(most, inside_name_bytes(w.p));
		if (from % 500 == 0) {
			op_processes_window_end(w.p, false);
			op_window_reset(w.window);
		}
	}
	printf("at most %llu bytes with guesses\n", (unsigned long long)most);
	CHECK(most > OP_NAMES_TEXT_MAX / 2); /* else nothing was kept */
	CHECK(most < OP_NAMES_TEXT_MAX + SLACK_BYTES);
	/* The same without guesses. */
	for (i = 0, most = 0; i < FUNCTIONS; i++) {
		uint64_t word = world_native(first + i * FUNCTION_BYTES + 5);

		CHECK_OK(world_sample(&w, world_self(), NULL, 0, &word, 1,
				      OP_END_COMPLETE));
		most = OP_MAX(most, inside_name_bytes(w.p));
		if (i % 500 == 0) {
			op_processes_window_end(w.p, false);
			op_window_reset(w.window);
		}
	}
	printf("at most %llu bytes without\n", (unsigned long long)most);
	CHECK(most > OP_NAMES_TEXT_MAX / 2);
	CHECK(most < OP_NAMES_TEXT_MAX + SLACK_BYTES);
	world_deinit(&w);
}

/* All addresses of a function have one name, which is made of its start. */
static void test_named_by_start(void)
{
	const char *first = load("bare.so", "&& strip bare.so");
	uint64_t words[3];
	char name[64];
	Dl_info info;
	struct world w;
	int i;

	CHECK(dladdr(first, &info));
	(void)snprintf(name, sizeof(name), "bare.so+0x%lx",
		       (unsigned long)(first - (const char *)info.dli_fbase) +
			       7 * FUNCTION_BYTES);
	for (i = 0; i < 3; i++)
		words[i] = world_native(first + 7 * FUNCTION_BYTES + 1 + 5 * i);
	world_init(&w, NULL);
	world_learn_self(&w);
	CHECK_OK(world_sample(&w, world_self(), NULL, 0, words, 3, OP_END_COMPLETE));
	for (i = 0; i < 3; i++)
		CHECK_STR(world_name(&w, (size_t)i), name);
	world_deinit(&w);
}

/* A file that cannot be opened for a moment has its names after that, in the same window. */
static void test_unread_for_a_moment(void)
{
	char *first = (char *)(uintptr_t)load("moment.so", "");
	const size_t bytes = FUNCTIONS * FUNCTION_BYTES;
	int fd = open(tools_path("moment.so"), O_RDONLY | O_CLOEXEC);
	uint64_t word = world_native(first + 5);
	Dl_info info;
	struct world w;

	CHECK(fd >= 0);
	CHECK(dladdr(first, &info));
	CHECK_OK(unlink(tools_path("moment.so")));
	world_init(&w, NULL);
	world_learn_self(&w);
	world_settle(&w, 0);
	CHECK_OK(munmap(first, bytes));
	CHECK_OK(world_sample(&w, world_self(), NULL, 0, &word, 1, OP_END_COMPLETE));
	CHECK_INT(strncmp(world_name(&w, 0), "moment.so+0x", 12), 0);
	CHECK(mmap(first, bytes, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, fd,
		   first - (char *)info.dli_fbase) == first);
	world_settle(&w, UINT64_C(10000000000));
	CHECK_OK(world_sample(&w, world_self(), NULL, 0, &word, 1, OP_END_COMPLETE));
	CHECK_INT(strncmp(world_name(&w, 0), "f0n", 3), 0);
	world_deinit(&w);
	CHECK_OK(close(fd));
}

TEST_MAIN({ "bytes_are_bounded", test_bytes_are_bounded },
	  { "named_by_start", test_named_by_start },
	  { "unread", test_unread_for_a_moment })
