/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Builds small ELF images: sections one behind the other, one PT_LOAD over the file at
 * address BUILDER_BASE, so that an address is BUILDER_BASE + its file offset. What a test
 * wants wrong it changes in the image.
 */
#ifndef OP_TEST_BUILDER_H
#define OP_TEST_BUILDER_H

#include <elf.h>

#include "test.h"

enum {
	BUILDER_SECTIONS = 16,
	BUILDER_BYTES = 1 << 16,
	BUILDER_BASE = 0x400000,
	BUILDER_HEADERS = sizeof(Elf64_Ehdr) + 2 * sizeof(Elf64_Phdr),
};

struct builder {
	uint8_t bytes[BUILDER_BYTES];
	size_t len;
	Elf64_Shdr sections[BUILDER_SECTIONS];
	char names[1024];
	size_t names_len;
	uint16_t count;
	uint16_t machine;
	uint16_t dynamic; /* section number of .dynamic, or 0 */
};

static inline void builder_init(struct builder *b)
{
	memset(b, 0, sizeof(*b));
	b->len = BUILDER_HEADERS;
	b->count = 1;
	b->names_len = 1;
	b->machine = EM_X86_64;
}

/* Returns the section's number. @data NULL: zeroes. */
static inline uint16_t builder_section(struct builder *b, const char *name, uint32_t type,
				       uint64_t flags, const void *data, size_t len)
{
	Elf64_Shdr *s = &b->sections[b->count];

	CHECK(b->count < BUILDER_SECTIONS - 1);
	b->len = (b->len + 15) & ~(size_t)15;
	CHECK(b->len + len < BUILDER_BYTES / 2);
	s->sh_name = (Elf64_Word)b->names_len;
	s->sh_type = type;
	s->sh_flags = flags;
	s->sh_offset = b->len;
	s->sh_addr = flags & SHF_ALLOC ? BUILDER_BASE + b->len : 0;
	s->sh_size = len;
	(void)snprintf(b->names + b->names_len, sizeof(b->names) - b->names_len, "%s",
		       name);
	b->names_len += strlen(name) + 1;
	if (data)
		memcpy(b->bytes + b->len, data, len);
	b->len += len;
	return b->count++;
}

struct builder_symbol {
	const char *name;
	uint64_t value;
	uint64_t size;
	uint8_t bind;
	uint8_t type;
	uint16_t shndx;
};

/* A symbol table and its strings. Returns the table's number. */
static inline uint16_t builder_symbols(struct builder *b, bool dynamic,
				       const struct builder_symbol *symbols, size_t len)
{
	static Elf64_Sym table[512];
	static char strings[8192];
	size_t at = 1;
	uint16_t number;
	uint16_t link;
	size_t i;

	CHECK(len < 512);
	memset(table, 0, sizeof(table));
	memset(strings, 0, sizeof(strings));
	for (i = 0; i < len; i++) {
		Elf64_Sym *s = &table[i + 1];

		s->st_name = (Elf64_Word)at;
		s->st_info =
			(unsigned char)ELF64_ST_INFO(symbols[i].bind, symbols[i].type);
		s->st_shndx = symbols[i].shndx;
		s->st_value = symbols[i].value;
		s->st_size = symbols[i].size;
		(void)snprintf(strings + at, sizeof(strings) - at, "%s", symbols[i].name);
		at += strlen(symbols[i].name) + 1;
		CHECK(at < sizeof(strings));
	}
	link = builder_section(b, dynamic ? ".dynstr" : ".strtab", SHT_STRTAB,
			       dynamic ? SHF_ALLOC : 0, strings, at);
	number = builder_section(
		b, dynamic ? ".dynsym" : ".symtab", dynamic ? SHT_DYNSYM : SHT_SYMTAB,
		dynamic ? SHF_ALLOC : 0, table, (len + 1) * sizeof(*table));
	b->sections[number].sh_link = link;
	b->sections[number].sh_entsize = sizeof(*table);
	return number;
}

/* Write the headers. Returns the image's length. */
static inline size_t builder_finish(struct builder *b)
{
	Elf64_Ehdr *h = (Elf64_Ehdr *)(void *)b->bytes;
	Elf64_Phdr *p = (Elf64_Phdr *)(void *)(b->bytes + sizeof(*h));
	Elf64_Shdr *names = &b->sections[b->count];
	uint16_t names_number;
	size_t load;

	(void)snprintf(b->names + b->names_len, sizeof(b->names) - b->names_len,
		       ".shstrtab");
	names->sh_name = (Elf64_Word)b->names_len;
	b->names_len += sizeof(".shstrtab");
	load = b->len;
	names->sh_type = SHT_STRTAB;
	names->sh_offset = b->len;
	names->sh_size = b->names_len;
	memcpy(b->bytes + b->len, b->names, b->names_len);
	b->len = (b->len + b->names_len + 15) & ~(size_t)15;
	names_number = b->count++;

	memcpy(h->e_ident, ELFMAG, SELFMAG);
	h->e_ident[EI_CLASS] = ELFCLASS64;
	h->e_ident[EI_DATA] = ELFDATA2LSB;
	h->e_ident[EI_VERSION] = EV_CURRENT;
	h->e_type = ET_DYN;
	h->e_machine = b->machine;
	h->e_version = EV_CURRENT;
	h->e_phoff = sizeof(*h);
	h->e_phentsize = sizeof(*p);
	h->e_phnum = 2;
	h->e_shoff = b->len;
	h->e_shentsize = sizeof(Elf64_Shdr);
	h->e_shnum = b->count;
	h->e_shstrndx = names_number;
	p[0].p_type = PT_LOAD;
	p[0].p_flags = PF_R | PF_X;
	p[0].p_vaddr = BUILDER_BASE;
	p[0].p_filesz = p[0].p_memsz = load;
	p[1].p_type = b->dynamic ? PT_DYNAMIC : PT_NULL;
	p[1].p_offset = b->sections[b->dynamic].sh_offset;
	p[1].p_vaddr = b->sections[b->dynamic].sh_addr;
	p[1].p_filesz = b->sections[b->dynamic].sh_size;
	memcpy(b->bytes + b->len, b->sections, b->count * sizeof(Elf64_Shdr));
	b->len += b->count * sizeof(Elf64_Shdr);
	return b->len;
}

/* A copy of the image for op_elf_open_bytes(). */
static inline void *builder_copy(const struct builder *b)
{
	void *copy = malloc(b->len);

	CHECK(copy);
	memcpy(copy, b->bytes, b->len);
	return copy;
}

#endif
