/* SPDX-License-Identifier: Apache-2.0 */
/* The four formats of Go's function table, written here field by field (go_builder.h). */
#include "code/elf/gopclntab_private.h"

#include "base/macros.h"
#include "go_builder.h"

static struct builder b;

static struct op_elf *open_built(void)
{
	struct op_elf *elf = NULL;

	CHECK_OK(op_elf_open_bytes(builder_copy(&b), b.len, &elf));
	return elf;
}

static void check_line(struct op_gopclntab *t, uint64_t pc, const char *name,
		       const char *file, uint32_t number)
{
	struct op_go_function f;
	struct op_go_line line[2];

	CHECK_INT(op_gopclntab_find(t, pc, &f), 1);
	CHECK_INT(op_gopclntab_lines(t, &f, pc, line, 2), 1);
	CHECK_STR(line[0].function, name);
	CHECK_STR(line[0].file, file);
	CHECK_INT(line[0].line, number);
}

static void check_inlined(struct op_gopclntab *t, unsigned int version)
{
	struct op_go_function f;
	struct op_go_line line[4];
	uint64_t pc = GO_TEXT + 0x48;
	int n;

	CHECK_INT(op_gopclntab_find(t, pc, &f), 1);
	n = op_gopclntab_lines(t, &f, pc, line, 4);
	CHECK_INT(n, 2);
	CHECK_STR(line[0].function, "main.leaf");
	CHECK_STR(line[0].file, "/src/one.go");
	CHECK_INT(line[0].line, 7);
	CHECK_INT(line[0].start_line, version >= 120 ? 5 : 0);
	CHECK_STR(line[1].function, "main.two");
	CHECK_STR(line[1].file, "/src/two.go");
	CHECK_INT(line[1].line, 21);
}

static int count_values(void *data, uint64_t start, uint64_t end, int32_t value)
{
	int *count = data;

	CHECK_INT(start, *count ? GO_TEXT + 4 : GO_TEXT);
	CHECK_INT(end, *count ? GO_TEXT + 0x20 : GO_TEXT + 4);
	CHECK_INT(value, *count ? 24 : 0);
	++*count;
	return 0;
}

static int count_function(void *data, const struct op_go_function *f)
{
	int *count = data;

	++*count;
	return 0;
}

static void check_format(unsigned int version)
{
	struct op_elf *elf;
	struct op_gopclntab *t = NULL;
	struct op_go_function f;
	uint64_t start;
	uint64_t end;
	int32_t value;
	int count = 0;

	go_build(&b, version);
	elf = open_built();
	CHECK_OK(op_gopclntab_open(elf, &t));
	CHECK_INT(op_gopclntab_version(t), version == 127 ? 120 : version);
	CHECK_INT(op_gopclntab_each(t, count_function, &count), 0);
	CHECK_INT(count, 2);
	count = 0;
	op_gopclntab_range(t, &start, &end);
	CHECK_INT(start, GO_TEXT);
	CHECK_INT(end, GO_TEXT + GO_TEXT_BYTES);
	CHECK_INT(op_gopclntab_find(t, GO_TEXT - 1, &f), 0);
	CHECK_INT(op_gopclntab_find(t, end, &f), 0);
	CHECK_INT(op_gopclntab_find(t, GO_TEXT + 0x1f, &f), 1);
	CHECK_INT(f.entry, GO_TEXT);
	CHECK_INT(f.end, GO_TEXT + 0x20);
	CHECK_INT(f.start_line, version >= 120 ? 9 : 0);
	CHECK_INT(f.flags, version >= 116 ? OP_GO_ASM : 0);
	CHECK_INT(op_gopclntab_values(t, &f, f.pcsp, count_values, &count), 0);
	CHECK_INT(count, 2);
	CHECK_INT(op_gopclntab_value(t, &f, f.pcsp, GO_TEXT + 3, &value), 1);
	CHECK_INT(value, 0);
	CHECK_INT(op_gopclntab_value(t, &f, f.pcsp, GO_TEXT + 4, &value), 1);
	CHECK_INT(value, 24);
	CHECK_INT(op_gopclntab_value(t, &f, 0, GO_TEXT + 4, &value), 0);
	check_line(t, GO_TEXT + 0x7, "main.one", "/src/one.go", 10);
	check_line(t, GO_TEXT + 0x8, "main.one", "/src/one.go", 11);
	check_line(t, GO_TEXT + 0x20, "main.two", "/src/two.go", 20);
	check_line(t, GO_TEXT + 0x47, "main.two", "/src/two.go", 21);
	if (version >= 116)
		check_inlined(t, version);
	op_gopclntab_free(t);
	op_elf_free(elf);
}

static void test_formats(void)
{
	check_format(102);
	check_format(118);
	check_format(120);
}

static void test_absolute_trees(void)
{
	check_format(116);
}

static void test_module_of_1_27(void)
{
	check_format(127);
}

/* Known to be inlined, but not what: no line rather than a wrong one. */
static void check_no_tree(void)
{
	struct op_elf *elf = open_built();
	struct op_gopclntab *t = NULL;

	CHECK_OK(op_gopclntab_open(elf, &t));
	check_line(t, GO_TEXT + 0x48, "main.two", "", 0);
	check_line(t, GO_TEXT + 0x47, "main.two", "/src/two.go", 21);
	op_gopclntab_free(t);
	op_elf_free(elf);
}

static void test_no_tree(void)
{
	static const unsigned int versions[] = { 116, 118, 120, 127 };
	size_t i;

	for (i = 0; i < OP_ARRAY_SIZE(versions); i++) {
		go_build(&b, versions[i]);
		memset(b.bytes + b.sections[GO_TREES].sh_offset, 0,
		       b.sections[GO_TREES].sh_size);
		check_no_tree();
	}
}

static int touch(void *data, const struct op_go_function *f)
{
	struct op_gopclntab *t = data;
	struct op_go_line line[3];
	char name[64];

	(void)op_gopclntab_name(t, f, name, sizeof(name));
	(void)op_gopclntab_lines(t, f, f->entry + 0x28, line, 3);
	return 0;
}

/* Each bit of the image changed in turn: any answer, and no read outside. */
static void test_broken_tables(void)
{
	static const unsigned int versions[] = { 116, 118, 120, 127 };
	size_t len;
	size_t i;
	size_t v;

	for (v = 0; v < OP_ARRAY_SIZE(versions); v++) {
		len = go_build(&b, versions[v]);
		for (i = 0x200 * 8; i < len * 8; i += 3) {
			struct op_elf *elf = NULL;
			struct op_gopclntab *t = NULL;
			void *copy;

			b.bytes[i / 8] ^= (uint8_t)(1 << i % 8);
			copy = builder_copy(&b);
			if (op_elf_open_bytes(copy, len, &elf))
				free(copy);
			else if (!op_gopclntab_open(elf, &t))
				(void)op_gopclntab_each(t, touch, t);
			op_gopclntab_free(t);
			op_elf_free(elf);
			b.bytes[i / 8] ^= (uint8_t)(1 << i % 8);
		}
	}
}

enum {
	TABLE = 3, /* number of the section that the table is */
	STEPS = 7900,
	FAR = 7001,
};

/* Open a program of Go 1.20 with a table of STEPS values behind its own, of @by instructions
 * each: 0 and 1 in turn, 0 at odd ones. *@ret_f is main.two, as if it were large. */
static struct op_gopclntab *open_with_steps(uint8_t by, struct op_elf **ret_elf,
					    struct op_go_function *ret_f,
					    uint32_t *ret_steps)
{
	struct op_gopclntab *t = NULL;
	uint32_t parent = FAR;
	uint8_t *step;
	size_t tail;
	size_t i;

	go_tail_bytes = 2 * STEPS + 1;
	go_build(&b, 120);
	go_tail_bytes = 0;
	*ret_elf = open_built();
	CHECK_OK(op_gopclntab_open(*ret_elf, &t));
	CHECK_INT(op_gopclntab_find(t, GO_TEXT + 0x48, ret_f), 1);
	tail = b.sections[TABLE].sh_offset + b.sections[TABLE].sh_size - 2 * STEPS - 1;
	*ret_steps = (uint32_t)(tail - t->values);
	for (i = 0, step = b.bytes + tail; i < STEPS; i++, step += 2) {
		step[0] = i % 2 || !i ? 2 : 1; /* by 1, by -1 */
		step[1] = i ? by : 2 * by;
	}
	/* the calls inlined in main.two, and where the first one is made */
	memcpy(b.bytes + ret_f->at + op_gopclntab_record_bytes(t) + 8, ret_steps, 4);
	memcpy(b.bytes + b.sections[GO_TREES].sh_offset + GO_TREE + 8, &parent, 4);
	op_gopclntab_free(t);
	op_elf_free(*ret_elf);
	*ret_elf = open_built();
	CHECK_OK(op_gopclntab_open(*ret_elf, &t));
	CHECK_INT(op_gopclntab_find(t, GO_TEXT + 0x48, ret_f), 1);
	ret_f->end = ret_f->entry + (1 << 20);
	t->gofunc =
		b.sections[GO_TREES].sh_addr; /* by the one tree it is not found now */
	t->gofunc_sought = true;
	return t;
}

/* A call that is inlined in itself, and values that are far from the function's start: naming
 * one address does not take as long as such a table likes. */
static void test_long_values(void)
{
	struct op_go_line line[64];
	struct op_go_function f;
	struct op_gopclntab *t;
	struct op_elf *elf;
	uint32_t steps;
	int32_t value;

	t = open_with_steps(1, &elf, &f, &steps);
	CHECK_INT(op_gopclntab_value(t, &f, steps, f.entry + FAR, &value), 1);
	CHECK_INT(value, 0);
	CHECK_INT(op_gopclntab_lines(t, &f, f.entry + FAR, line, 64), 1);
	CHECK_STR(line[0].function, "main.two");
	CHECK_STR(line[0].file, "");
	CHECK_INT(line[0].line, 0);
	/* the next one has as much */
	check_line(t, GO_TEXT + 0x4, "main.one", "/src/one.go", 10);
	op_gopclntab_free(t);
	op_elf_free(elf);
}

/* Values that hold for no instruction are no values of a compiler. */
static void test_values_of_nothing(void)
{
	struct op_go_function f;
	struct op_gopclntab *t;
	struct op_elf *elf;
	uint32_t steps;
	int32_t value;

	t = open_with_steps(0, &elf, &f, &steps);
	f.end = f.entry + 0x40;
	CHECK_INT(op_gopclntab_value(t, &f, steps, f.entry, &value), -EBADMSG);
	op_gopclntab_free(t);
	op_elf_free(elf);
}

TEST_MAIN({ "formats", test_formats }, { "absolute_trees", test_absolute_trees },
	  { "module_of_1_27", test_module_of_1_27 }, { "no_tree", test_no_tree },
	  { "broken_tables", test_broken_tables }, { "long_values", test_long_values },
	  { "values_of_nothing", test_values_of_nothing })
