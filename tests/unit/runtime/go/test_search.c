/* SPDX-License-Identifier: Apache-2.0 */
/* The variables of the memory profile in a program without symbols: which code loads which, and
 * when that tells nothing. */
#include "runtime/go/search.h"

#include <errno.h>

#include "base/macros.h"
#include "code/elf/file.h"
#include "code/elf/gopclntab.h"
#include "program.h"

enum {
	LIST = PROGRAM_DATA + 0x18,
	RATE = PROGRAM_DATA + 0x1008,
	CYCLE = PROGRAM_DATA + 0x2004,
	OTHER = PROGRAM_DATA + 0x100, /* what one of the functions loads, too */
	GO = 26,
};

/* In the order of a program; some of the names are those of others at their beginning. */
static const struct program_function TRUE_ONES[] = {
	{ "main.first", { { OTHER, 8 }, { CYCLE + 4, 4 } } },
	{ "runtime.allocmcache", { { RATE, 8 }, { PROGRAM_TEXT, 8 } } },
	{ "runtime.mProf_FlushLocked", { { LIST, 8 } } },
	{ "runtime.mProf_Flush", { { CYCLE, 4 }, { OTHER, 8 } } },
	{ "runtime.mProf_Flush.func1", { { OTHER, 4 } } },
	{ "runtime.mProf_PostSweep", { { CYCLE, 4 } } },
	{ "runtime.mProf_Free", { { CYCLE, 4 }, { OTHER, 4 } } },
	{ "runtime.MemProfile", { { LIST, 8 }, { CYCLE, 4 } } },
	{ "runtime.memProfileInternal", { { LIST, 8 }, { CYCLE, 4 } } },
	{ "runtime.profilealloc", { { OTHER, 8 }, { RATE, 8 } } },
	{ "main.last", { { OTHER, 8 } } },
};

enum {
	ALLOCMCACHE = 1,
	FLUSH_LOCKED = 2,
	FLUSH = 3,
	FREE = 6,
	MEM_PROFILE = 7,
	INTERNAL = 8,
	PROFILEALLOC = 9,
	COUNT = OP_ARRAY_SIZE(TRUE_ONES),
	LAST_WANTED = PROFILEALLOC,
};

static struct builder builder;
static struct program_function functions[COUNT];
static struct op_go_search state;
static struct op_go_buckets_at at;

static void reset(void)
{
	memcpy(functions, TRUE_ONES, sizeof(functions));
}

static struct op_elf *open_program(uint16_t machine)
{
	struct op_elf *elf;

	program_build(&builder, machine, functions, COUNT);
	CHECK_OK(op_elf_open_bytes(builder_copy(&builder), builder.len, &elf));
	return elf;
}

static int search_elf(struct op_elf *elf, uint32_t minor, uint64_t end_ns)
{
	struct op_gopclntab *table;
	struct op_allowance part = op_allowance_within(NULL, end_ns);
	int r;

	CHECK_OK(op_gopclntab_open(elf, &table));
	r = op_go_search(&state, elf, table, minor, &part, &at);
	op_gopclntab_free(table);
	return r;
}

static int search(uint16_t machine, uint32_t minor)
{
	struct op_elf *elf = open_program(machine);
	int r;

	memset(&state, 0, sizeof(state));
	memset(&at, 0, sizeof(at));
	r = search_elf(elf, minor, 0);
	op_elf_free(elf);
	return r;
}

static void check_found(void)
{
	CHECK_INT(at.list, LIST);
	CHECK_INT(at.rate, RATE);
	CHECK_INT(at.cycle, CYCLE);
}

static void test_found(void)
{
	static const uint16_t machines[] = { EM_X86_64, EM_AARCH64 };
	size_t i;

	for (i = 0; i < OP_ARRAY_SIZE(machines); i++) {
		reset();
		CHECK_INT(search(machines[i], GO), 1);
		check_found();
		CHECK_INT(state.next, LAST_WANTED); /* and no further */
	}
}

/* Until Go 1.22 one function is another one, which is there later, too, and loads nothing. */
static void test_versions(void)
{
	reset();
	functions[MEM_PROFILE].load[0].at = 0;
	CHECK_INT(search(EM_X86_64, 23), 1);
	check_found();
	CHECK_INT(search(EM_X86_64, 22), 0);
	reset();
	functions[INTERNAL].load[0].at = 0;
	CHECK_INT(search(EM_X86_64, 22), 1);
	check_found();
	CHECK_INT(search(EM_X86_64, 23), 0);
}

/* A program in which nothing asks for the profile lacks the function that tells it. */
static void test_missing(void)
{
	static const int needed[] = { FLUSH_LOCKED, INTERNAL, PROFILEALLOC, ALLOCMCACHE };
	size_t i;

	for (i = 0; i < OP_ARRAY_SIZE(needed); i++) {
		reset();
		functions[needed[i]].name = "main.other";
		CHECK_INT(search(EM_X86_64, GO), 0);
		CHECK_INT(at.list | at.rate | at.cycle, 0);
		CHECK_INT(state.next, COUNT);
	}
	reset();
	functions[FREE].name = "main.other"; /* two are left */
	CHECK_INT(search(EM_X86_64, GO), 1);
	functions[FLUSH].name = "main.other";
	CHECK_INT(search(EM_X86_64, GO), 0);
}

static void test_not_the_same(void)
{
	int i;

	reset();
	functions[FREE].load[0].at = CYCLE + 8;
	CHECK_INT(search(EM_X86_64, GO), 0);
	/* two variables that both load */
	reset();
	functions[ALLOCMCACHE].load[1].at = OTHER;
	CHECK_INT(search(EM_X86_64, GO), 0);
	/* of another width */
	reset();
	functions[INTERNAL].load[0].width = 4;
	CHECK_INT(search(EM_X86_64, GO), 0);
	/* more than any function of the runtime */
	reset();
	for (i = 0; i < PROGRAM_LOADS; i++) {
		functions[INTERNAL].load[i].at = LIST + 8 * (uint64_t)i;
		functions[INTERNAL].load[i].width = 8;
	}
	CHECK_INT(search(EM_X86_64, GO), 0);
}

/* What is no variable does not count. */
static void test_elsewhere(void)
{
	static const uint64_t wrong[] = {
		PROGRAM_TEXT,
		LIST + 4,
		PROGRAM_DATA - 8,
		PROGRAM_DATA + PROGRAM_DATA_BYTES,
	};
	size_t i;

	for (i = 0; i < OP_ARRAY_SIZE(wrong); i++) {
		reset();
		functions[FLUSH_LOCKED].load[0].at = wrong[i];
		functions[INTERNAL].load[0].at = wrong[i];
		CHECK_INT(search(EM_X86_64, GO), 0);
	}
	reset();
	functions[FLUSH_LOCKED].load[0].at = PROGRAM_DATA + PROGRAM_DATA_BYTES - 8;
	functions[INTERNAL].load[0].at = PROGRAM_DATA + PROGRAM_DATA_BYTES - 8;
	CHECK_INT(search(EM_X86_64, GO), 1);
	CHECK_INT(at.list, PROGRAM_DATA + PROGRAM_DATA_BYTES - 8);
}

/* A file with @len functions, all of them without a name: the first of the pairs is the record of
 * each. */
static struct op_elf *open_many(uint32_t len)
{
	const Elf64_Shdr *table = &builder.sections[2];
	uint64_t functions_at;
	uint64_t many = len;
	struct op_elf *elf;
	Elf64_Shdr *section;
	uint8_t *bytes;
	uint32_t i;

	program_build(&builder, EM_X86_64, functions, COUNT);
	bytes = calloc(1, builder.len + 8 * ((size_t)len + 1));
	CHECK(bytes);
	functions_at = builder.len - table->sh_offset;
	memcpy(bytes, builder.bytes, builder.len);
	for (i = 0; i <= len; i++)
		memcpy(bytes + builder.len + 8 * (size_t)i, &i, sizeof(i));
	section = (Elf64_Shdr *)(void *)(bytes + builder.len) - builder.count + 2;
	section->sh_size = functions_at + 8 * ((uint64_t)len + 1);
	memcpy(bytes + table->sh_offset + 8, &many, sizeof(many));
	memcpy(bytes + table->sh_offset + 64, &functions_at, sizeof(functions_at));
	CHECK_OK(op_elf_open_bytes(bytes, builder.len + 8 * ((size_t)len + 1), &elf));
	return elf;
}

static void test_too_many(void)
{
	struct op_elf *elf;

	reset();
	elf = open_many(OP_GO_SEARCHED_MAX);
	memset(&state, 0, sizeof(state));
	CHECK_INT(search_elf(elf, GO, 0), 0);
	op_elf_free(elf);
	elf = open_many(OP_GO_SEARCHED_MAX + 1);
	memset(&state, 0, sizeof(state));
	CHECK_INT(search_elf(elf, GO, 0), -E2BIG);
	CHECK_INT(search_elf(elf, GO, 0), -E2BIG); /* and so it stays */
	op_elf_free(elf);
}

/* A slice that is over does a little all the same, and the next one goes on. */
static void test_slices(void)
{
	struct op_elf *elf;
	int calls = 0;
	int r;

	reset();
	elf = open_many(1000);
	memset(&state, 0, sizeof(state));
	do {
		uint64_t before = state.next;

		r = search_elf(elf, GO, 1);
		CHECK(state.next > before &&
		      state.next <= before + OP_ALLOWANCE_STEPS + 1);
		CHECK(++calls < 100);
	} while (r == -EINPROGRESS);
	CHECK_INT(r, 0);
	CHECK_INT(state.next, 1000);
	CHECK(calls > 50);
	op_elf_free(elf);
}

TEST_MAIN({ "found", test_found }, { "versions", test_versions },
	  { "missing", test_missing }, { "not_the_same", test_not_the_same },
	  { "elsewhere", test_elsewhere }, { "too_many", test_too_many },
	  { "slices", test_slices })
