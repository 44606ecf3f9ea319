/* SPDX-License-Identifier: Apache-2.0 */
/* What BEAM lists for debuggers: modules, their functions and lines, and what is wrong with them. */
#include "runtime/beam/list.h"

#include "op_user_types.h"

#include "op_beam.h"

#include "fake_memory.h"

enum {
	FIRST = BASE + 0x10, /* the pointer to the first entry */
	ENTRIES = BASE + 0x100,
	TEXTS = BASE + 0x1000, /* 0x400 for each entry */
	CODE = 0x7f0000000000,
	MODULE_BYTES = 0x1000, /* of code */
	PACK = 64,
};

static struct op_beam_list list;
static uint64_t newest;

static uint64_t put_text(uint64_t at, const char *text, uint64_t pad)
{
	uint16_t len = (uint16_t)(strlen(text) + 1);

	put(at, &len, sizeof(len));
	put(at + 2, text, len);
	return at + 2 + len + pad;
}

/* Text number @i: a module at @base with two functions. The second one has a prologue and two lines. */
static size_t put_module(uint32_t i, uint64_t base, const char *name)
{
	uint64_t text = TEXTS + i * 0x400;
	uint64_t at = text;
	char full[PACK];

	put_u32(at, 1);
	put_u64(at + 8, base);
	put_u32(at + 16, 3);
	put_u32(at + 20, MODULE_BYTES);
	at = put_text(at + 24, name, 6);
	(void)snprintf(full, sizeof(full), "%s:first/0", name);
	put_u32(at, 0x10);
	put_u32(at + 4, 0x30);
	put_u32(at + 8, 0);
	at = put_text(at + 12, full, 2);
	(void)snprintf(full, sizeof(full), "%s:second/2-CodeInfoPrologue", name);
	put_u32(at, 0x30);
	put_u32(at + 4, 0x40);
	put_u32(at + 8, 0);
	at = put_text(at + 12, full, 2);
	(void)snprintf(full, sizeof(full), "%s:second/2", name);
	put_u32(at, 0x40);
	put_u32(at + 4, 0x80);
	put_u32(at + 8, 2);
	at = put_text(at + 12, full, 2);
	put_u32(at, 0x38);
	put_u32(at + 4, 7);
	at = put_text(at + 8, "a.erl", 2);
	put_u32(at, 0x60);
	put_u32(at + 4, 9);
	at = put_text(at + 8, "b.erl", 2);
	return (size_t)(at - text);
}

static uint64_t entry_at(uint32_t i)
{
	return ENTRIES + i * OP_BEAM_ENTRY_BYTES;
}

/* Make entry @i, of text @i, the newest one. */
static void link_entry(uint32_t i, size_t size)
{
	put_u64(entry_at(i), newest);
	put_u64(entry_at(i) + 16, TEXTS + i * 0x400);
	put_u64(entry_at(i) + 24, size);
	newest = entry_at(i);
	put_u64(FIRST, newest);
}

static void begin(void)
{
	fake_begin();
	newest = 0;
	op_runtime_beam_list_init(&list, &fake.memory, FIRST);
	/* the emulator's own: its kind, the layout of frames, and where processes end */
	put_u64(TEXTS + 16, CODE + 0x123);
	link_entry(0, 32);
	link_entry(1, put_module(1, CODE, "one"));
	link_entry(2, put_module(2, CODE + MODULE_BYTES, "two"));
	CHECK_INT(op_runtime_beam_list_read(&list), 1);
}

static uint32_t guard_of(uint32_t i)
{
	uint64_t word[4];

	memcpy(word, fake.bytes + (entry_at(i) - BASE), sizeof(word));
	return op_beam_guard(entry_at(i), word[0], word[2], word[3]);
}

static const char *find(uint64_t addr, uint32_t guard, struct op_beam_function *f)
{
	bool fresh;

	return op_runtime_beam_list_find(&list, addr, guard, f, &fresh) == 0 ? f->name
									     : "";
}

static void test_functions_and_lines(void)
{
	struct op_beam_function f;

	begin();
	CHECK_INT(list.exit, CODE + 0x123);
	CHECK_STR(find(CODE + 0x10, guard_of(2), &f), "one:first/0");
	CHECK_INT(f.line, 0);
	CHECK_STR(f.file, "");
	CHECK_STR(find(CODE + MODULE_BYTES + 0x40, guard_of(2), &f), "two:second/2");
	CHECK_INT(f.line, 7);
	CHECK_INT(f.start_line, 7);
	CHECK_STR(f.file, "a.erl");
	/* what is before a function's first instruction is the function's */
	CHECK_STR(find(CODE + 0x30, guard_of(2), &f), "one:second/2");
	CHECK_INT(f.line, 7);
	CHECK_STR(find(CODE + 0x60, guard_of(2), &f), "one:second/2");
	CHECK_INT(f.line, 9);
	CHECK_STR(f.file, "b.erl");
	CHECK_STR(find(CODE + 0x80, guard_of(2), &f), "");
	CHECK_STR(find(CODE + 3 * MODULE_BYTES, guard_of(2), &f), "");
	CHECK(op_runtime_beam_list_has(&list, CODE, CODE + 1));
	CHECK(!op_runtime_beam_list_has(&list, CODE + 1, CODE + MODULE_BYTES));
	op_runtime_beam_list_deinit(&list);
}

/* A module's memory gets another one's code: a sample has the name that was there in its time. */
static void test_replaced(void)
{
	struct op_beam_function f;
	uint32_t before;

	begin();
	before = guard_of(2);
	link_entry(3, put_module(3, CODE, "three"));
	CHECK_STR(find(CODE + 0x10, guard_of(3), &f), "three:first/0");
	CHECK_STR(find(CODE + 0x10, before, &f), "one:first/0");
	/* the newest one is gone: the list is read anew */
	newest = entry_at(2);
	link_entry(4, put_module(4, CODE, "four"));
	CHECK_STR(find(CODE + 0x10, guard_of(4), &f), "four:first/0");
	/* the guard is nobody's by now */
	CHECK_STR(find(CODE + 0x10, 12345, &f), "four:first/0");
	op_runtime_beam_list_deinit(&list);
}

static void test_named(void)
{
	struct op_beam_module module;
	struct op_beam_function f;

	begin();
	CHECK_OK(op_runtime_beam_list_named(&list, "one:second/2", &module, &f));
	CHECK_INT(module.base, CODE);
	CHECK_INT(f.start, CODE + 0x40);
	CHECK_INT(op_runtime_beam_list_named(&list, "two:second/2", &module, &f),
		  -ENOENT);
	op_runtime_beam_list_deinit(&list);
}

/* A list that leads back to itself, and entries that lie. */
static void test_hostile(void)
{
	struct op_beam_function f;
	uint32_t i;

	begin();
	put_u64(entry_at(0), entry_at(2)); /* next: a ring */
	op_runtime_beam_list_deinit(&list);
	op_runtime_beam_list_init(&list, &fake.memory, FIRST);
	CHECK_INT(op_runtime_beam_list_read(&list), 1);
	CHECK_INT(list.entries.len, OP_BEAM_MODULES_MAX);
	CHECK_INT(list.cut, 1);
	for (i = 0; i < 4; i++)
		(void)op_runtime_beam_list_read(&list);
	CHECK(list.reads <= OP_BEAM_READS_MAX);
	op_runtime_beam_list_deinit(&list);

	begin();
	put_u64(entry_at(2) + 24, UINT64_MAX); /* the size of its text */
	CHECK_STR(find(CODE + MODULE_BYTES + 0x40, guard_of(2), &f), "");
	CHECK_INT(list.cut, 1);
	op_runtime_beam_list_deinit(&list);

	begin();
	put_u32(TEXTS + 0x400 + 16, UINT32_MAX); /* the number of its functions */
	CHECK_STR(find(CODE + 0x90, guard_of(2), &f), "");
	fake.gone = true;
	CHECK_STR(find(CODE + MODULE_BYTES + 0x40, guard_of(2), &f), "");
	op_runtime_beam_list_deinit(&list);
}

/* Each piece of a text that ends too early is refused, or is one that begins with what was asked. */
static void test_cut(void)
{
	static uint8_t text[0x400];
	struct op_beam_function f;
	size_t whole;
	size_t len;

	begin();
	whole = put_module(1, CODE, "one");
	memcpy(text, fake.bytes + (TEXTS + 0x400 - BASE), sizeof(text));
	for (len = 0; len < whole; len++) {
		int r = op_runtime_beam_function(text, len, CODE + 0x60, NULL, &f);

		CHECK(r == -EBADMSG || r == 0);
	}
	CHECK_INT(op_runtime_beam_function(text, whole, CODE + 0x60, NULL, &f), 1);
	op_runtime_beam_list_deinit(&list);
}

TEST_MAIN({ "functions_and_lines", test_functions_and_lines },
	  { "replaced", test_replaced }, { "named", test_named },
	  { "hostile", test_hostile }, { "cut", test_cut })
