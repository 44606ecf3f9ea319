/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file with V8's builtins and without symbols: .rodata with the table of their places, the
 * sizes of bytecodes, V8's version and names; .text with the code; .data.rel.ro with the
 * addresses of the names.
 */
#ifndef BLOB_FAKE_H
#define BLOB_FAKE_H

#include <elf.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum {
	BLOB_COUNT = 1500,
	BLOB_PROLOGUE = 3,
	BLOB_BASE = 0x10000,
	BLOB_HEADERS = 0x200,
	BLOB_RODATA = 0x1000, /* offsets in the file */
	BLOB_TABLE = BLOB_RODATA + 0x100,
	BLOB_SIZES = BLOB_RODATA + 0x8000,
	BLOB_TEXTS = BLOB_RODATA + 0x8800,
	BLOB_RELRO = BLOB_RODATA + 0x9000,
	BLOB_TEXT = BLOB_RODATA + 0xa000,
	BLOB_CODE = BLOB_TEXT + 0x1740, /* where the builtins begin */
	BLOB_BYTES = BLOB_TEXT + 0x60000,
	BLOB_OPCODES = 200,
	BLOB_SECTIONS = 5,
};

static const char blob_names[] = "\0DeoptimizationEntry_Eager\0Second\0Third\0"
				 "BaselineOutOfLinePrologue\0"
				 "15.6.75.63\0"
				 "75.75.76.76\0";

static inline void blob_u32(uint8_t *to, uint32_t value)
{
	memcpy(to, &value, sizeof(value));
}

static inline void blob_u64(uint8_t *to, uint64_t value)
{
	memcpy(to, &value, sizeof(value));
}

static inline uint32_t blob_length(uint32_t i)
{
	return 20 + i * 37 % 300;
}

static inline void blob_section(uint8_t *file, int i, uint32_t name, uint32_t type,
				uint64_t off, uint64_t size)
{
	Elf64_Shdr s = { .sh_name = name,
			 .sh_type = type,
			 .sh_flags = SHF_ALLOC,
			 .sh_addr = BLOB_BASE + off,
			 .sh_offset = off,
			 .sh_size = size };

	memcpy(file + BLOB_HEADERS + (size_t)i * sizeof(s), &s, sizeof(s));
}

static inline void blob_headers(uint8_t *file)
{
	static const char names[] = "\0.rodata\0.data.rel.ro\0.text\0.shstrtab";
	Elf64_Ehdr h = { .e_ident = { 0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, 1 },
			 .e_type = ET_DYN,
			 .e_machine = EM_X86_64,
			 .e_version = EV_CURRENT,
			 .e_phoff = sizeof(h),
			 .e_shoff = BLOB_HEADERS,
			 .e_ehsize = sizeof(h),
			 .e_phentsize = sizeof(Elf64_Phdr),
			 .e_phnum = 2,
			 .e_shentsize = sizeof(Elf64_Shdr),
			 .e_shnum = BLOB_SECTIONS,
			 .e_shstrndx = BLOB_SECTIONS - 1 };
	Elf64_Phdr p[2] = { { .p_type = PT_LOAD,
			      .p_flags = PF_R,
			      .p_vaddr = BLOB_BASE,
			      .p_filesz = BLOB_TEXT,
			      .p_memsz = BLOB_TEXT },
			    { .p_type = PT_LOAD,
			      .p_flags = PF_R | PF_X,
			      .p_offset = BLOB_TEXT,
			      .p_vaddr = BLOB_BASE + BLOB_TEXT,
			      .p_filesz = BLOB_BYTES - BLOB_TEXT,
			      .p_memsz = BLOB_BYTES - BLOB_TEXT } };

	memcpy(file, &h, sizeof(h));
	memcpy(file + sizeof(h), p, sizeof(p));
	memcpy(file + 0x800, names, sizeof(names));
	blob_section(file, 1, 1, SHT_PROGBITS, BLOB_RODATA, BLOB_RELRO - BLOB_RODATA);
	blob_section(file, 2, 9, SHT_PROGBITS, BLOB_RELRO, BLOB_TEXT - BLOB_RELRO);
	blob_section(file, 3, 22, SHT_PROGBITS, BLOB_TEXT, BLOB_BYTES - BLOB_TEXT);
	blob_section(file, 4, 28, SHT_STRTAB, 0x800, sizeof(names));
}

static inline void blob_sizes(uint8_t *at)
{
	static const uint8_t rows[3][12] = { { 1, 1, 1, 1, 1, 2, 3, 4, 5, 5, 6, 2 },
					     { 1, 1, 1, 1, 1, 3, 5, 7, 9, 7, 9, 3 },
					     { 1, 1, 1, 1, 1, 5, 9, 13, 17, 11, 15, 5 } };
	size_t i;

	memset(at, 2, 3 * BLOB_OPCODES);
	for (i = 0; i < 3; i++)
		memcpy(at + i * BLOB_OPCODES, rows[i], sizeof(rows[i]));
}

/* The file, of BLOB_BYTES bytes, from malloc(). @stride: words of an entry of the table. */
static inline uint8_t *blob_make(uint32_t stride, uint32_t align)
{
	static const size_t names[] = { 1, 27, 34, 40 };
	uint8_t *file = calloc(1, BLOB_BYTES);
	uint32_t offset = 0;
	uint32_t i;

	if (!file)
		abort();
	blob_headers(file);
	memset(file + BLOB_TEXT, 0x90, BLOB_BYTES - BLOB_TEXT);
	for (i = 0; i < BLOB_COUNT; i++) {
		uint32_t next = (offset + blob_length(i) + align) & ~(align - 1);

		blob_u32(file + BLOB_TABLE + (size_t)i * stride * 4, offset);
		blob_u32(file + BLOB_TABLE + (size_t)i * stride * 4 + 4, blob_length(i));
		memset(file + BLOB_CODE + offset + blob_length(i), 0xcc,
		       next - offset - blob_length(i));
		offset = next;
	}
	blob_sizes(file + BLOB_SIZES);
	memcpy(file + BLOB_TEXTS, blob_names, sizeof(blob_names));
	for (i = 0; i < 4; i++) {
		blob_u64(file + BLOB_RELRO + 0x48 + (size_t)i * 24,
			 BLOB_BASE + BLOB_TEXTS + names[i]);
		blob_u32(file + BLOB_RELRO + 0x48 + (size_t)i * 24 + 8, 8);
	}
	blob_u64(file + BLOB_RELRO + 0x40, 1); /* no entry is before them */
	return file;
}

#endif
