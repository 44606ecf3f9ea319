/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An entry jumps through a word that has a relocation, or pushes the number of that relocation
 * (System V ABI AMD64, 5.2).
 */
#include "code/symbol/plt.h"

#include <elf.h>
#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/macros.h"
#include "base/reader.h"

enum {
	ENTRY = 16,
	CHUNK = 64,		/* relocations read at a time */
	RELOCATIONS_MAX = 8192, /* that are searched one by one */
	ENDBR64 = 0xfa1e0ff3,
	BND = 0xf2,
	PUSH = 0x68,
};

/* Identifies the function: a word of memory, or the number of a relocation. */
struct way {
	bool by_number;
	uint64_t slot;
	uint32_t number;
};

static bool read_entry(const uint8_t code[ENTRY], uint64_t at, struct way *ret)
{
	struct op_reader r = op_reader_init(code, ENTRY);

	if (op_read_u32(&r) != ENDBR64)
		r = op_reader_init(code, ENTRY);
	while (op_reader_left(&r)) {
		uint8_t byte = op_read_u8(&r);

		if (byte == BND)
			continue;
		*ret = (struct way){ .by_number = byte == PUSH };
		if (byte == PUSH) {
			ret->number = op_read_u32(&r);
		} else {
			int32_t distance;

			if (byte != 0xff || op_read_u8(&r) != 0x25)
				return false;
			distance = op_read_s32(&r);
			ret->slot = at + op_reader_pos(&r) + (uint64_t)(int64_t)distance;
		}
		return !r.failed;
	}
	return false;
}

static const struct op_elf_section *section_of(const struct op_elf *elf, uint64_t vaddr)
{
	static const char *const names[] = { ".plt", ".plt.sec" };
	size_t i;

	for (i = 0; i < OP_ARRAY_SIZE(names); i++) {
		const struct op_elf_section *s = op_elf_section(elf, names[i]);

		if (s && vaddr >= s->addr && vaddr - s->addr < s->size)
			return s;
	}
	return NULL;
}

/* Read relocation @i of @section. Returns 0 or -errno. */
static int read_relocation(struct op_elf *elf, const struct op_elf_section *section,
			   uint64_t i, Elf64_Rela *ret)
{
	if (i >= section->size / sizeof(*ret))
		return -ENODATA;
	return op_elf_read_kept(elf, section->offset + i * sizeof(*ret), ret,
				sizeof(*ret));
}

/* Find the relocation of @slot. Most linkers put words into the order of their
 * relocations. */
static int find_relocation(struct op_elf *elf, const struct op_elf_section *section,
			   uint64_t slot, Elf64_Rela *ret)
{
	uint64_t len = section->size / sizeof(*ret);
	Elf64_Rela chunk[CHUNK];
	uint64_t i;
	int r = read_relocation(elf, section, 0, ret);

	if (r == 0 && slot >= ret->r_offset)
		r = read_relocation(elf, section, (slot - ret->r_offset) / 8, ret);
	if (r == 0 && ret->r_offset == slot)
		return 0;
	for (i = 0; i < OP_MIN(len, (uint64_t)RELOCATIONS_MAX); i += CHUNK) {
		uint64_t n = OP_MIN(len - i, (uint64_t)CHUNK);
		uint64_t j;

		r = op_elf_read(elf, section->offset + i * sizeof(*chunk), chunk,
				n * sizeof(*chunk));
		if (r < 0)
			return r;
		for (j = 0; j < n; j++) {
			if (chunk[j].r_offset == slot) {
				*ret = chunk[j];
				return 0;
			}
		}
	}
	return -ENODATA;
}

/* The name of dynamic symbol @number. */
static int read_name(struct op_elf *elf, uint64_t number, char *buf, size_t size)
{
	struct op_elf_symtab table;
	Elf64_Sym symbol;
	int r = op_elf_symtab(elf, OP_ELF_DYNSYM, &table);

	if (r <= 0 || !number || number >= table.count)
		return OP_MIN(r, 0);
	r = op_elf_read_apart(elf, table.offset + number * sizeof(symbol), &symbol,
			      sizeof(symbol));
	if (r < 0)
		return r;
	if (symbol.st_name >= table.str_size)
		return 0;
	r = op_elf_read_str(elf, table.str_offset + symbol.st_name,
			    table.str_offset + table.str_size, buf, size);
	return r < 0 ? r : buf[0] != 0;
}

int op_plt_find(struct op_elf *elf, uint64_t vaddr, char *buf, size_t size,
		uint64_t *ret_start)
{
	const struct op_elf_section *plt = section_of(elf, vaddr);
	const struct op_elf_section *relocations = op_elf_section(elf, ".rela.plt");
	uint8_t code[ENTRY];
	Elf64_Rela relocation;
	struct way way;
	uint64_t start;
	int r;

	if (!plt || !relocations || op_elf_machine(elf) != EM_X86_64)
		return 0;
	start = vaddr - (vaddr - plt->addr) % ENTRY;
	r = op_elf_read_vaddr(elf, start, code, sizeof(code));
	if (r < 0 || !read_entry(code, start, &way))
		return OP_MIN(r, 0);
	r = way.by_number ? read_relocation(elf, relocations, way.number, &relocation)
			  : find_relocation(elf, relocations, way.slot, &relocation);
	if (r == 0)
		r = read_name(elf, ELF64_R_SYM(relocation.r_info), buf, size);
	if (r > 0)
		*ret_start = start;
	return r == -ENODATA || r == -ENAMETOOLONG ? 0 : r;
}
