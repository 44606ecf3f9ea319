/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A Go program without symbols, with functions that load variables: an ELF file with Go's table
 * of functions as of Go 1.20 (runtime/symtab.go), and instructions as a compiler makes them.
 */
#ifndef OP_TEST_GO_PROGRAM_H
#define OP_TEST_GO_PROGRAM_H

#include "builder.h"

enum {
	PROGRAM_FUNCTIONS = 32,
	PROGRAM_LOADS = 40,  /* of a function */
	PROGRAM_SLOT = 1024, /* bytes of a function */
	PROGRAM_TEXT = BUILDER_BASE + 0x200,
	PROGRAM_DATA = 0x612000, /* variables, which are not in the file */
	PROGRAM_DATA_BYTES = 0x3000,
	PROGRAM_TABLE_BYTES = 4096,
};

struct program_function {
	const char *name;
	struct {
		uint64_t at;
		unsigned int width;
	} load[PROGRAM_LOADS];
};

/* Two ways in which compilers load a variable: the second one is that of atomic loads. */
static inline size_t program_load_aarch64(uint8_t *code, uint64_t pc, uint64_t at,
					  unsigned int width, bool atomic)
{
	uint64_t pages = (at >> 12) - (pc >> 12);
	uint32_t low = (uint32_t)at & 0xfff;
	uint32_t op[3];
	size_t n = 0;

	op[n++] = 0x90000000 | (uint32_t)(pages & 3) << 29 |
		  (uint32_t)(pages >> 2 & 0x7ffff) << 5 | 27;
	if (atomic) {
		op[n++] = 0x91000000 | low << 10 | 27 << 5 | 1;
		op[n++] = (width == 8 ? 0xc8dffc00 : 0x88dffc00) | 1 << 5 | 2;
	} else {
		op[n++] = (width == 8 ? 0xf9400000 : 0xb9400000) | low / width << 10 |
			  27 << 5 | 3;
	}
	memcpy(code, op, n * sizeof(op[0]));
	return n * sizeof(op[0]);
}

static inline size_t program_load_x86_64(uint8_t *code, uint64_t pc, uint64_t at,
					 unsigned int width)
{
	size_t n = 0;
	uint32_t to;

	if (width == 8)
		code[n++] = 0x48;
	code[n++] = 0x8b;
	code[n++] = 0x0d; /* to rcx */
	to = (uint32_t)(at - (pc + n + 4));
	memcpy(code + n, &to, sizeof(to));
	return n + 4;
}

static inline void program_code(const struct program_function *f, uint16_t machine,
				uint64_t pc, uint8_t *code)
{
	size_t n = 0;
	size_t i;

	for (i = 0; i < PROGRAM_LOADS && f->load[i].at; i++) {
		uint64_t at = f->load[i].at;
		unsigned int width = f->load[i].width;

		n += machine == EM_AARCH64
			     ? program_load_aarch64(code + n, pc + n, at, width, i % 2)
			     : program_load_x86_64(code + n, pc + n, at, width);
		CHECK(n < PROGRAM_SLOT - 16);
	}
}

static inline void program_put(uint8_t *table, size_t at, uint64_t value, size_t size)
{
	CHECK(at + size <= PROGRAM_TABLE_BYTES);
	memcpy(table + at, &value, size);
}

/* The table: its header, names, pairs of function and record, records. Returns its length. */
static inline size_t program_table(const struct program_function *f, size_t len,
				   uint8_t *table)
{
	enum {
		HEADER = 72,
		RECORD = 44
	};
	size_t names = HEADER;
	size_t pairs;
	size_t at = names + 1;
	size_t name_at[PROGRAM_FUNCTIONS];
	size_t i;

	memset(table, 0, PROGRAM_TABLE_BYTES);
	for (i = 0; i < len; i++) {
		name_at[i] = at - names;
		CHECK(at + strlen(f[i].name) < PROGRAM_TABLE_BYTES);
		memcpy(table + at, f[i].name, strlen(f[i].name) + 1);
		at += strlen(f[i].name) + 1;
	}
	pairs = (at + 7) & ~(size_t)7;
	at = (pairs + (2 * len + 1) * 4 + 7) & ~(size_t)7;
	for (i = 0; i < len; i++) {
		program_put(table, pairs + 8 * i, i * PROGRAM_SLOT, 4);
		program_put(table, pairs + 8 * i + 4, at - pairs, 4);
		program_put(table, at, i * PROGRAM_SLOT, 4);
		program_put(table, at + 4, name_at[i], 4);
		at += RECORD + 4;
	}
	program_put(table, pairs + 8 * len, len * PROGRAM_SLOT, 4);
	program_put(table, 0, 0xfffffff1, 4);
	program_put(table, 6, 1, 1);
	program_put(table, 7, 8, 1);
	program_put(table, 8, len, 8);
	program_put(table, 24, PROGRAM_TEXT, 8);
	/* names, units, files, values, functions */
	for (i = 0; i < 4; i++)
		program_put(table, 32 + 8 * i, names, 8);
	program_put(table, 64, pairs, 8);
	return at;
}

/* The file in @b. Returns its length. */
static inline size_t program_build(struct builder *b, uint16_t machine,
				   const struct program_function *f, size_t len)
{
	static uint8_t table[PROGRAM_TABLE_BYTES];
	static uint8_t text[PROGRAM_FUNCTIONS * PROGRAM_SLOT];
	Elf64_Phdr *p = (Elf64_Phdr *)(void *)(b->bytes + sizeof(Elf64_Ehdr));
	size_t bytes;
	size_t i;

	CHECK(len <= PROGRAM_FUNCTIONS);
	builder_init(b);
	b->machine = machine;
	b->len = PROGRAM_TEXT - BUILDER_BASE;
	memset(text, 0, sizeof(text));
	for (i = 0; i < len; i++)
		program_code(&f[i], machine, PROGRAM_TEXT + i * PROGRAM_SLOT,
			     text + i * PROGRAM_SLOT);
	builder_section(b, ".text", SHT_PROGBITS, SHF_ALLOC | SHF_EXECINSTR, text,
			len * PROGRAM_SLOT);
	builder_section(b, ".gopclntab", SHT_PROGBITS, SHF_ALLOC, table,
			program_table(f, len, table));
	bytes = builder_finish(b);
	p[1] = (Elf64_Phdr){ .p_type = PT_LOAD,
			     .p_flags = PF_R | PF_W,
			     .p_vaddr = PROGRAM_DATA,
			     .p_memsz = PROGRAM_DATA_BYTES };
	return bytes;
}

#endif
