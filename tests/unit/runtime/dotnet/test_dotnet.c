/* SPDX-License-Identifier: Apache-2.0 */
/* .NET: names as the source has them, metadata, and unwind data as frame information. */
#include <errno.h>
#include <string.h>

#include "base/macros.h"
#include "runtime/dotnet/pe/elf.h"
#include "runtime/dotnet/pe/entries.h"
#include "runtime/dotnet/pe/metadata.h"
#include "runtime/dotnet/pe/source_name.h"
#include "runtime/dotnet/tasks.h"

#include "bytes.h"

/* ---- names ---- */

static void check_name(const char *type, const char *inner, const char *method,
		       const char *expected)
{
	struct op_strbuf text = { 0 };
	struct op_dotnet_source_name name = { .text = &text };

	op_runtime_dotnet_source_namespace(&name, "Space");
	op_runtime_dotnet_source_type(&name, type);
	if (inner)
		op_runtime_dotnet_source_type(&name, inner);
	op_runtime_dotnet_source_method(&name, method);
	CHECK_STR(text.data, expected);
	op_strbuf_deinit(&text);
}

static void test_names(void)
{
	check_name("Type", NULL, "Method", "Space.Type.Method");
	check_name("Type", "Inner", ".ctor", "Space.Type.Inner..ctor");
	check_name("Type", "<>c", "<Run>b__1_0", "Space.Type.Run.<lambda>");
	check_name("Type", "<>c__DisplayClass2_0", "<Run>b__0",
		   "Space.Type.Run.<lambda>");
	check_name("Type", NULL, "<Run>g__Local|1_0", "Space.Type.Run.Local");
	check_name("Type", "<Run>d__3", "MoveNext", "Space.Type.Run");
	check_name("Type", "<<Run>b__0_0>d", "MoveNext", "Space.Type.Run.<lambda>");
	check_name("Type", "<<Run>g__Local|0_0>d", "MoveNext", "Space.Type.Run.Local");
	check_name("Type", "<Run>d__3", "Dispose", "Space.Type.Run.Dispose");
	check_name("Program", NULL, "<Main>$", "Space.Program.Main");
	/* no names that the compiler makes, but legal ones of other compilers */
	check_name("<", NULL, "<a", "Space.<.<a");
	check_name("<>x", NULL, "<>", "Space.<>x.<>");
}

/* ---- metadata ---- */

static void test_metadata(void)
{
	struct bytes b = { .len = 0 };
	struct op_dotnet_metadata m;
	struct op_strbuf name = { 0 };

	make_metadata(&b);
	CHECK_OK(op_runtime_dotnet_metadata(&b.memory, BASE, (uint32_t)b.len, &m));
	CHECK_INT(m.table[OP_DOTNET_METHOD_DEF].rows, 2);
	CHECK_OK(op_runtime_dotnet_method_name(&m, 0x06000001, &name));
	CHECK_STR(name.data, "A.Outer.First");
	op_strbuf_reset(&name);
	CHECK_OK(op_runtime_dotnet_method_name(&m, 0x06000002, &name));
	CHECK_STR(name.data, "A.Outer.Inner.Second");
	CHECK_INT(op_runtime_dotnet_method_name(&m, 0x06000003, &name), -ENOENT);
	CHECK_INT(op_runtime_dotnet_method_name(&m, 0x06000000, &name), -ENOENT);
	CHECK_INT(op_runtime_dotnet_method_name(&m, 0x0a000001, &name), -ENOENT);
	op_strbuf_deinit(&name);
}

static void test_types(void)
{
	struct bytes b = { .len = 0 };
	struct op_dotnet_metadata m;
	uint32_t row = 0;

	make_metadata(&b);
	CHECK_OK(op_runtime_dotnet_metadata(&b.memory, BASE, (uint32_t)b.len, &m));
	CHECK_OK(op_runtime_dotnet_private_type(&m, "Inner", &row));
	CHECK_INT(row, 3);
	CHECK_INT(op_runtime_dotnet_private_type(&m, "Outer", &row), -ENOENT);
	CHECK_INT(op_runtime_dotnet_assembly_is(&m, "Outer"), -ENOENT);
	CHECK_INT(op_runtime_dotnet_machine_method(&m, 3, &row), -ENOENT);
	CHECK_INT(op_runtime_dotnet_machine_method(&m, 4, &row), -ENOENT);
	/* its only method is not the type's before it */
	b.bytes[40] += 2;
	b.len += 2;
	memcpy(b.bytes + 256 + 30, "MoveNext", 9);
	CHECK_OK(op_runtime_dotnet_metadata(&b.memory, BASE, (uint32_t)b.len, &m));
	CHECK_OK(op_runtime_dotnet_machine_method(&m, 3, &row));
	CHECK_INT(row, 2);
	CHECK_INT(op_runtime_dotnet_machine_method(&m, 2, &row), -ENOENT);
}

static void test_metadata_cut(void)
{
	struct bytes b = { .len = 0 };
	struct op_dotnet_metadata m;
	size_t len;

	make_metadata(&b);
	for (len = 0; len < b.len; len++)
		CHECK(op_runtime_dotnet_metadata(&b.memory, BASE, (uint32_t)len, &m) < 0);
}

/* ---- entries ---- */

static void test_entries(void)
{
	/* two entries in a block: a root with both sides at each level down to one leaf
	 * each would be long, so a leaf that stands alone: entry 3, function 5 */
	static const uint8_t bytes[] = { 16 << 3, 1, 3 << 3, 5 << 2 };
	struct bytes b = { .memory = { read_bytes }, .base = BASE };
	struct op_dotnet_entries e = { .memory = &b.memory,
				       .at = BASE,
				       .size = sizeof(bytes),
				       .count = 16,
				       .base = 1,
				       .index_bytes = 1 };
	uint32_t function = 0;

	put(&b, bytes, sizeof(bytes));
	CHECK_INT(op_runtime_dotnet_entry(&e, 3, &function), 1);
	CHECK_INT(function, 5);
	CHECK_INT(op_runtime_dotnet_entry(&e, 4, &function), 0);
	CHECK_INT(op_runtime_dotnet_entry(&e, 16, &function), 0);
	e.size = 3;
	CHECK_INT(op_runtime_dotnet_entry(&e, 3, &function), -EBADMSG);
}

/* ---- frame information ---- */

static void test_frame_information(void)
{
	/* push rbp; sub rsp, 16; nop; add rsp, 16; pop rbp; ret */
	static const uint8_t code[] = { 0x55, 0x48, 0x83, 0xec, 0x10, 0x90,
					0x48, 0x83, 0xc4, 0x10, 0x5d, 0xc3 };
	static const uint8_t info[] = { 0x19, 5, 2, 0, 5, 0x12, 1, 0x50 };
	static const uint8_t expected[] = {
		0x41, 0x0e, 16,	  0x86, 2,  /* behind the push */
		0x44, 0x0e, 32,		    /* behind the subtraction */
		0x45, 0x0a, 0x0c, 7,	16, /* at the pop */
		0x41, 0x0e, 8,	  0xc6,	    /* at ret */
		0x41, 0x0b,
	};
	struct op_dotnet_function f = { .begin = 0x1000,
					.end = 0x1000 + sizeof(code),
					.code = code,
					.info = info,
					.info_len = sizeof(info) };
	struct op_dotnet_bytes b = { 0 };
	size_t cie;

	op_runtime_dotnet_cie(&b);
	cie = b.v.len;
	op_runtime_dotnet_fde(&b, &f);
	CHECK(!b.failed);
	CHECK(b.v.len >= cie + 17 + sizeof(expected));
	CHECK(memcmp(b.v.data + cie + 17, expected, sizeof(expected)) == 0);
	op_vec_clear(&b.v);
}

static void test_unknown_unwind_data(void)
{
	static const uint8_t code[] = { 0xc3 };
	static const uint8_t info[][8] = {
		{ 2, 0, 0, 0 },		    /* a later version */
		{ 0x21, 0, 0, 0 },	    /* it goes on elsewhere */
		{ 1, 1, 1, 0, 1, 0x04 },    /* an operation that is not known */
		{ 1, 1, 1, 0, 1, 0x01 },    /* its operand is missing */
		{ 1, 1, 2, 0, 1, 2, 2, 2 }, /* a later one ends earlier */
	};
	struct op_dotnet_bytes b = { 0 };
	size_t i;

	for (i = 0; i < OP_ARRAY_SIZE(info); i++) {
		struct op_dotnet_function f = { .begin = 1,
						.end = 2,
						.code = code,
						.info = info[i],
						.info_len = 4 + 2 * (size_t)info[i][2] };

		op_runtime_dotnet_fde(&b, &f);
		CHECK_INT(b.v.len, 0);
	}
	op_vec_clear(&b.v);
}

/* ---- tasks ---- */

static uint32_t maze_reads;

/* Tables that lead to tables, and to more fragments of one image than any program has. */
static int read_maze(const struct op_memory *m, uint64_t addr, void *buf, size_t len)
{
	static uint64_t table;
	uint64_t word = BASE;
	size_t i;

	maze_reads++;
	for (i = 0; i + sizeof(word) <= len; i += sizeof(word)) {
		if (len > OP_DOTNET_FRAGMENT_BYTES)
			word = table += BASE;
		memcpy((uint8_t *)buf + i, &word, sizeof(word));
	}
	return 0;
}

static void test_tasks_in_a_maze(void)
{
	const struct op_memory maze = { read_maze };
	const struct op_dotnet_layout layout = { .module_base = 8 };
	struct op_dotnet dotnet = { .ranges = BASE };

	CHECK(op_runtime_dotnet_tasks(&maze, &layout, &dotnet) < 0);
	CHECK(!dotnet.box);
	CHECK(maze_reads > 0 && maze_reads <= OP_DOTNET_TASKS_READS);
}

TEST_MAIN({ "names", test_names }, { "metadata", test_metadata }, { "types", test_types },
	  { "metadata_cut", test_metadata_cut }, { "entries", test_entries },
	  { "frame_information", test_frame_information },
	  { "unknown_unwind_data", test_unknown_unwind_data },
	  { "tasks_in_a_maze", test_tasks_in_a_maze })
