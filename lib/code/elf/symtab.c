/* SPDX-License-Identifier: Apache-2.0 */
/* Finds symbol tables and reads their entries one by one. */
#include <errno.h>
#include <stdlib.h>

#include "base/checked.h"
#include "base/macros.h"
#include "base/reader.h"
#include "code/elf/private.h"

enum {
	/* chain entries of one bucket of DT_GNU_HASH that are read to count symbols */
	HASH_CHAIN_MAX = 1 << 20,
};

static int symtab_of_section(const struct op_elf *elf, uint32_t type,
			     struct op_elf_symtab *ret)
{
	size_t i;

	for (i = 0; i < elf->sections_len; i++) {
		const struct op_elf_section *s = &elf->sections[i];
		const struct op_elf_section *strings;

		if (s->type != type || s->link >= elf->sections_len)
			continue;
		strings = &elf->sections[s->link];
		/* The content is past the end if it is in a separate debug file, or if the
		 * file was cut. */
		if ((s->flags | strings->flags) & SHF_COMPRESSED ||
		    strings->type != SHT_STRTAB ||
		    !op_range_ok(s->offset, s->size, elf->size) ||
		    !op_range_ok(strings->offset, strings->size, elf->size))
			continue;
		*ret = (struct op_elf_symtab){
			.offset = s->offset,
			.count = s->size / sizeof(Elf64_Sym),
			.str_offset = strings->offset,
			.str_size = strings->size,
		};
		return 1;
	}
	return 0;
}

struct dynamic {
	uint64_t symtab;
	uint64_t strtab;
	uint64_t strsz;
	uint64_t hash;
	uint64_t gnu_hash;
};

static int take_dynamic(void *data, int64_t tag, uint64_t value)
{
	struct dynamic *d = data;

	switch (tag) {
	case DT_SYMTAB:
		d->symtab = value;
		break;
	case DT_STRTAB:
		d->strtab = value;
		break;
	case DT_STRSZ:
		d->strsz = value;
		break;
	case DT_HASH:
		d->hash = value;
		break;
	case DT_GNU_HASH:
		d->gnu_hash = value;
		break;
	default:
		break;
	}
	return 0;
}

static int read_u32(struct op_elf *elf, uint64_t vaddr, uint32_t *ret)
{
	return op_elf_read_vaddr(elf, vaddr, ret, sizeof(*ret));
}

/*
 * Only the hash tables have the number of dynamic symbols. Here it is found from the
 * highest symbol of any bucket, and the end of its chain (a hash with its lowest bit
 * set).
 */
static int count_gnu_hash(struct op_elf *elf, uint64_t at, uint64_t *ret)
{
	uint32_t word[3];
	uint64_t buckets;
	uint64_t chains;
	uint32_t highest = 0;
	uint32_t value;
	uint32_t i;
	int r;

	r = op_elf_read_vaddr(elf, at, word, sizeof(word));
	if (r)
		return r;
	/* word: nbuckets, symoffset, words of the Bloom filter, which follows 16 bytes */
	buckets = at + 16 + 8 * (uint64_t)word[2];
	chains = buckets + 4 * (uint64_t)word[0];
	for (i = 0; i < word[0]; i++) {
		r = read_u32(elf, buckets + 4 * (uint64_t)i, &value);
		if (r)
			return r;
		highest = OP_MAX(highest, value);
	}
	if (highest < word[1]) {
		*ret = word[1];
		return 0;
	}
	for (i = 0; i < HASH_CHAIN_MAX; i++, highest++) {
		r = read_u32(elf, chains + 4 * ((uint64_t)highest - word[1]), &value);
		if (r)
			return r;
		if (value & 1)
			break;
	}
	*ret = (uint64_t)highest + 1;
	return 0;
}

static int count_dynamic(struct op_elf *elf, const struct dynamic *d, uint64_t *ret)
{
	uint32_t chains;
	int r;

	if (!d->hash)
		return d->gnu_hash ? count_gnu_hash(elf, d->gnu_hash, ret) : -ENODATA;
	r = read_u32(elf, d->hash + 4, &chains); /* nchain */
	if (!r)
		*ret = chains;
	return r;
}

/* Find .dynsym in a file without section headers. */
static int symtab_of_dynamic(struct op_elf *elf, struct op_elf_symtab *ret)
{
	struct op_elf_symtab t = { 0 };
	struct dynamic d = { 0 };
	int r;

	r = op_elf_dynamic_each(elf, take_dynamic, &d);
	if (r || !d.symtab || !d.strtab)
		return r == -ENODATA ? 0 : r;
	r = count_dynamic(elf, &d, &t.count);
	if (!r && t.count > elf->size / sizeof(Elf64_Sym))
		r = -ENODATA;
	if (!r)
		r = op_elf_vaddr_offset(elf, d.symtab, t.count * sizeof(Elf64_Sym),
					&t.offset);
	if (!r)
		r = op_elf_vaddr_offset(elf, d.strtab, d.strsz, &t.str_offset);
	if (r)
		return r == -ENODATA ? 0 : r;
	t.str_size = d.strsz;
	*ret = t;
	return 1;
}

int op_elf_symtab(struct op_elf *elf, enum op_elf_symtab_kind kind,
		  struct op_elf_symtab *ret)
{
	if (kind == OP_ELF_SYMTAB)
		return symtab_of_section(elf, SHT_SYMTAB, ret);
	if (symtab_of_section(elf, SHT_DYNSYM, ret))
		return 1;
	return symtab_of_dynamic(elf, ret);
}

static int each_in_piece(const uint8_t *piece, size_t len, bool skip_first,
			 op_elf_symbol_fn fn, void *data)
{
	struct op_reader reader = op_reader_init(piece, len);

	if (skip_first)
		op_read_skip(&reader, sizeof(Elf64_Sym));
	while (op_reader_left(&reader) >= sizeof(Elf64_Sym)) {
		struct op_elf_symbol symbol;
		uint32_t name = op_read_u32(&reader);
		uint8_t info = op_read_u8(&reader);
		int r;

		op_read_skip(&reader, 1); /* st_other */
		symbol.type = ELF64_ST_TYPE(info);
		symbol.bind = ELF64_ST_BIND(info);
		symbol.shndx = op_read_u16(&reader);
		symbol.value = op_read_u64(&reader);
		symbol.size = op_read_u64(&reader);
		r = fn(data, &symbol, name);
		if (r)
			return r;
	}
	return 0;
}

int op_elf_symbol_each(struct op_elf *elf, const struct op_elf_symtab *table,
		       op_elf_symbol_fn fn, void *data)
{
	enum {
		PIECE_SYMBOLS = OP_ELF_PIECE_BYTES / sizeof(Elf64_Sym)
	};
	_cleanup_free_ uint8_t *piece = NULL;
	uint64_t done = 0;
	int r;

	r = op_elf_may_work(elf, table->count * (sizeof(Elf64_Sym) + OP_ELF_SYMBOL_WORK));
	if (r)
		return r;
	piece = malloc(PIECE_SYMBOLS * sizeof(Elf64_Sym));
	if (!piece)
		return -ENOMEM;
	while (done < table->count) {
		uint64_t n = OP_MIN(table->count - done, (uint64_t)PIECE_SYMBOLS);

		r = op_elf_read(elf, table->offset + done * sizeof(Elf64_Sym), piece,
				n * sizeof(Elf64_Sym));
		if (!r)
			r = op_elf_work(elf, n * OP_ELF_SYMBOL_WORK);
		if (!r)
			r = each_in_piece(piece, n * sizeof(Elf64_Sym), !done, fn, data);
		if (r)
			return r;
		done += n;
	}
	return 0;
}
