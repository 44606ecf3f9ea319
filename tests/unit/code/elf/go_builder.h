/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A Go program's tables in each of the four formats, written field by field after
 * runtime/symtab.go of Go 1.2, 1.16, 1.18 and 1.20; 127 is the format of 1.20 with the module
 * data of Go 1.27:
 *
 *   main.one  [text, text + 0x20)         /src/one.go, line 10, from + 0x8 line 11
 *   main.two  [text + 0x20, text + 0x60)  /src/two.go, line 20; from + 0x28 line 7 of
 *             /src/one.go, which is main.leaf inlined at line 21 of /src/two.go
 */
#ifndef OP_TEST_GO_BUILDER_H
#define OP_TEST_GO_BUILDER_H

#include "builder.h"

enum {
	GO_TEXT = BUILDER_BASE + 0x200,
	GO_TEXT_BYTES = 0x60,
	GO_TREES = 2, /* number of the section that go:func.* is */
	GO_TREE = 16, /* offset of the inline tree in it */
};

struct go_buf {
	uint8_t bytes[20480];
	size_t len;
};

static size_t go_tail_bytes; /* zeroes behind the table, for a test to fill */

static inline void go_put(struct go_buf *g, uint64_t value, size_t size)
{
	CHECK(g->len + size <= sizeof(g->bytes));
	memcpy(g->bytes + g->len, &value, size);
	g->len += size;
}

static inline void go_set(struct go_buf *g, size_t at, uint64_t value, size_t size)
{
	memcpy(g->bytes + at, &value, size);
}

static inline size_t go_puts(struct go_buf *g, const char *text)
{
	size_t at = g->len;

	CHECK(g->len + strlen(text) + 1 <= sizeof(g->bytes));
	memcpy(g->bytes + g->len, text, strlen(text) + 1);
	g->len += strlen(text) + 1;
	return at;
}

/* A value table of up to two steps. Values begin at -1; deltas are zigzag varints below
 * 64, and pcs are counted in instructions of one byte. */
static inline size_t go_values(struct go_buf *g, int value, int pcs, int value2, int pcs2)
{
	size_t at = g->len;
	int delta = value + 1;

	go_put(g, (uint64_t)(delta >= 0 ? 2 * delta : -2 * delta - 1), 1);
	go_put(g, (uint64_t)pcs, 1);
	if (pcs2) {
		delta = value2 - value;
		go_put(g, (uint64_t)(delta >= 0 ? 2 * delta : -2 * delta - 1), 1);
		go_put(g, (uint64_t)pcs2, 1);
	}
	go_put(g, 0, 1);
	return at;
}

struct go_parts {
	size_t name[3]; /* one, two, leaf */
	size_t file[2];
	size_t one_line, one_file, two_line, two_file, two_inline, sp;
	uint64_t tree; /* address of the inline tree of main.two */
};

/* Everything but the functions. Offsets are within @g. */
static inline void go_put_parts(struct go_buf *g, struct go_parts *p, bool by_unit)
{
	size_t base;

	go_put(g, 0, 1);
	base = g->len - 1;
	p->name[0] = go_puts(g, "main.one");
	p->name[1] = go_puts(g, "main.two");
	p->name[2] = go_puts(g, "main.leaf");
	p->file[0] = go_puts(g, "/src/one.go");
	p->file[1] = go_puts(g, "/src/two.go");
	(void)base;
	p->one_line = go_values(g, 10, 0x8, 11, 0x18);
	p->one_file = go_values(g, by_unit ? 0 : 1, 0x20, 0, 0);
	p->two_line = go_values(g, 20, 0x20, 21, 0x8);
	g->len--; /* a third step: line 7 */
	go_put(g, 2 * 14 - 1, 1);
	go_put(g, 0x18, 1);
	go_put(g, 0, 1);
	p->two_file = go_values(g, by_unit ? 1 : 2, 0x28, by_unit ? 0 : 1, 0x18);
	p->two_inline = go_values(g, -1, 0x28, 0, 0x18);
	/* A first step of no change is allowed, and is what the compiler writes. */
	p->sp = go_values(g, 0, 0x4, 24, 0x1c);
}

/* One runtime._func. */
static inline size_t go_put_function(struct go_buf *g, unsigned int version, int number,
				     const struct go_parts *p, size_t name_base,
				     size_t value_base)
{
	/* Of Go 1.16, so that its addresses need padding in front. */
	int more = number && version == 116;
	size_t at;
	int i;

	while (g->len % 8)
		go_put(g, 0, 1);
	at = g->len;
	if (version >= 118)
		go_put(g, number ? 0x20 : 0, 4);
	else
		go_put(g, GO_TEXT + (number ? 0x20 : 0), 8);
	go_put(g, p->name[number] - name_base, 4);
	go_put(g, 0, 8); /* args, deferreturn */
	go_put(g, p->sp - value_base, 4);
	go_put(g, (number ? p->two_file : p->one_file) - value_base, 4);
	go_put(g, (number ? p->two_line : p->one_line) - value_base, 4);
	go_put(g, number ? 3 + (uint64_t)more : 0, 4); /* npcdata */
	if (version >= 116)
		go_put(g, 0, 4); /* cuOffset */
	if (version >= 120)
		go_put(g, number ? 18 : 9, 4); /* startLine */
	go_put(g, 0, 1);
	go_put(g, number ? 0 : 4, 1); /* flag: assembly */
	go_put(g, 0, 1);
	go_put(g, number && version >= 116 ? 4 : 0, 1); /* nfuncdata */
	if (!number)
		return at;
	go_put(g, 0, 8);
	go_put(g, p->two_inline - value_base, 4);
	go_put(g, 0, 4 * (size_t)more);
	while (version == 116 && g->len % 8)
		go_put(g, 0, 4);
	/* Absolute addresses, or offsets from go:func.*. */
	for (i = 0; i < 3; i++)
		go_put(g, version == 116 ? 0 : UINT32_MAX, version == 116 ? 8 : 4);
	go_put(g, version == 116 ? p->tree : GO_TREE, version == 116 ? 8 : 4);
	return at;
}

static inline void go_header(struct go_buf *g, unsigned int version)
{
	static const uint32_t magics[] = { 0xfffffffb, 0xfffffffa, 0xfffffff0,
					   0xfffffff1 };

	go_put(g,
	       magics[version == 102   ? 0
		      : version == 116 ? 1
		      : version == 118 ? 2
				       : 3],
	       4);
	go_put(g, 0, 2);
	go_put(g, 1, 1);
	go_put(g, 8, 1);
	go_put(g, 2, 8); /* functions */
}

/* The table of Go 1.2, where everything is counted from its start. */
static inline void go_table_1_2(struct go_buf *g, struct go_parts *p)
{
	size_t functab;
	size_t files;
	int i;

	go_header(g, 102);
	functab = g->len;
	for (i = 0; i < 6; i++)
		go_put(g, 0, 8);
	go_put_parts(g, p, false);
	for (i = 0; i < 2; i++) {
		size_t at = go_put_function(g, 102, i, p, 0, 0);

		go_set(g, functab + 16 * (size_t)i, GO_TEXT + (i ? 0x20 : 0), 8);
		go_set(g, functab + 16 * (size_t)i + 8, at, 8);
	}
	go_set(g, functab + 32, GO_TEXT + GO_TEXT_BYTES, 8);
	while (g->len % 4)
		go_put(g, 0, 1);
	files = g->len;
	go_put(g, 3, 4); /* their number; they begin at 1 */
	go_put(g, p->file[0], 4);
	go_put(g, p->file[1], 4);
	go_set(g, functab + 40, files, 4);
}

static inline void go_table(struct go_buf *g, struct go_parts *p, unsigned int version)
{
	size_t field = version >= 118 ? 4 : 8;
	size_t offsets;
	size_t parts;
	size_t units;
	size_t functab;
	int i;

	memset(g, 0, sizeof(*g));
	if (version == 102) {
		go_table_1_2(g, p);
		return;
	}
	go_header(g, version);
	go_put(g, 2, 8); /* files */
	if (version >= 118)
		go_put(g, GO_TEXT, 8);
	offsets = g->len;
	for (i = 0; i < 5; i++)
		go_put(g, 0, 8);
	parts = g->len;
	go_put_parts(g, p, true);
	while (g->len % 8)
		go_put(g, 0, 1);
	units = g->len;
	go_put(g, p->file[0] - parts, 4);
	go_put(g, p->file[1] - parts, 4);
	functab = g->len;
	for (i = 0; i < 6; i++)
		go_put(g, 0, field);
	for (i = 0; i < 2; i++) {
		size_t at = go_put_function(g, version, i, p, parts, parts);
		uint64_t start =
			(i ? 0x20 : 0) + (version >= 118 ? 0 : (uint64_t)GO_TEXT);

		go_set(g, functab + 2 * field * (size_t)i, start, field);
		go_set(g, functab + 2 * field * (size_t)i + field, at - functab, field);
	}
	go_set(g, functab + 4 * field,
	       GO_TEXT_BYTES + (version >= 118 ? 0 : (uint64_t)GO_TEXT), field);
	/* names, units, files, values, functions */
	go_set(g, offsets, parts, 8);
	go_set(g, offsets + 8, units, 8);
	go_set(g, offsets + 16, parts, 8);
	go_set(g, offsets + 24, parts, 8);
	go_set(g, offsets + 32, functab, 8);
}

/* The inline tree of main.two: one call, main.leaf, at text + 0x45 (line 21). */
static inline void go_put_tree(struct go_buf *g, const struct go_parts *p, size_t names,
			       unsigned int version)
{
	if (version >= 120) {
		go_put(g, 0, 4); /* funcID */
	} else {
		go_put(g, 0xffff, 2); /* parent */
		go_put(g, 0, 2);
		go_put(g, 1, 4); /* file, line of the call */
		go_put(g, 21, 4);
	}
	go_put(g, p->name[2] - names, 4);
	go_put(g, 0x25, 4); /* parentPc */
	if (version >= 120)
		go_put(g, 5, 4); /* startLine */
}

/* runtime.moduledata: what is between the end of .bss and the inline trees moved twice. */
static inline void go_put_module(struct go_buf *g, unsigned int version, uint64_t table,
				 uint64_t gofunc)
{
	size_t types = version >= 120 ? 37 : 35;
	size_t rodata = version >= 127 ? 42 : types + 2;
	int i;

	memset(g, 0, sizeof(*g));
	for (i = 0; i < 64; i++)
		go_put(g, 0, 8);
	go_set(g, 0, table, 8);
	go_set(g, 20 * 8, GO_TEXT, 8);
	go_set(g, 21 * 8, GO_TEXT + GO_TEXT_BYTES, 8);
	go_set(g, 22 * 8, GO_TEXT, 8);
	/* Where zeroes are, and where none of the trees is. */
	go_set(g, types * 8, GO_TEXT, 8);
	go_set(g, (types + 1) * 8, version >= 127 ? 64 : table, 8);
	if (version >= 127)
		go_set(g, (types + 2) * 8, table, 8);
	if (version < 118)
		return;
	go_set(g, rodata * 8, GO_TEXT, 8);
	go_set(g, (rodata + 1) * 8, gofunc, 8);
	go_set(g, (rodata + 2) * 8, table + 64, 8);
}

/* A whole program of that format in @b. */
static inline size_t go_build(struct builder *b, unsigned int version)
{
	unsigned int format = version == 127 ? 120 : version;
	static struct go_buf table;
	static struct go_buf data;
	struct go_parts parts = { 0 };
	uint16_t tab;
	uint16_t tree;

	builder_init(b);
	b->len = GO_TEXT - BUILDER_BASE;
	builder_section(b, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, NULL,
			GO_TEXT_BYTES);
	go_table(&table, &parts, format);
	memset(&data, 0, sizeof(data));
	go_put(&data, UINT64_MAX, 8);
	go_put(&data, UINT64_MAX, 8);
	if (version >= 116)
		go_put_tree(&data, &parts, version >= 118 ? 72 : 64, format);
	tree = builder_section(b, ".rodata", SHT_PROGBITS, SHF_ALLOC, data.bytes,
			       data.len);
	/* Again, as the address of the tree is known now. */
	parts.tree = b->sections[tree].sh_addr + GO_TREE;
	go_table(&table, &parts, format);
	CHECK(table.len + go_tail_bytes <= sizeof(table.bytes));
	memset(table.bytes + table.len, 0, go_tail_bytes);
	tab = builder_section(b, ".gopclntab", SHT_PROGBITS, SHF_ALLOC, table.bytes,
			      table.len + go_tail_bytes);
	go_put_module(&data, version, b->sections[tab].sh_addr,
		      b->sections[tree].sh_addr);
	builder_section(b, ".noptrdata", SHT_PROGBITS, SHF_ALLOC | SHF_WRITE, data.bytes,
			data.len);
	return builder_finish(b);
}

#endif
