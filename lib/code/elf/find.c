/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds symbols by name. It first reads the strings once from start to end, and notes
 * the offsets of each wanted name. A name has several offsets, because linkers let it
 * share the tail of a longer one. Then it reads the symbols once, and compares only
 * name offsets. So no read is random, and memory does not grow with the file.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "base/vec.h"
#include "code/elf/private.h"

enum {
	/* longer names are not found */
	NAME_MAX_BYTES = 4096,
	/* offsets of wanted names in one string table */
	PLACES_MAX = 16384,
	/* the last bytes of a name, and the bits of their hash */
	TAIL_BYTES = 4,
	TAIL_BITS = 12,
};

struct place {
	uint32_t offset;
	uint32_t wanted; /* number of the wanted name */
};

struct find {
	const char *const *names;
	uint32_t *name_len;
	uint8_t *rank; /* 0: not found yet */
	size_t len;
	size_t longest;
	bool has_short;		   /* a wanted name is shorter than TAIL_BYTES */
	bool tail[1 << TAIL_BITS]; /* the hashes of the last bytes of wanted names */
	struct op_elf_symbol *ret;
	OP_VEC(struct place) places;
};

static void find_deinit(struct find *f)
{
	free(f->name_len);
	free(f->rank);
	op_vec_clear(&f->places);
}

/* The hash of the TAIL_BYTES before @end. */
static uint32_t hash_tail(const char *end)
{
	uint32_t word;

	memcpy(&word, end - TAIL_BYTES, sizeof(word));
	return word * 2654435761U >> (32 - TAIL_BITS);
}

/* The string [@start, @end) ends at offset @offset of the string table. Note the wanted
 * names that are a tail of it. */
static int note_string(struct find *f, const char *start, const char *end,
		       uint64_t offset)
{
	size_t len = (size_t)(end - start);
	size_t i;

	/* a large file has millions of strings */
	if (!f->has_short && (len < TAIL_BYTES || !f->tail[hash_tail(end)]))
		return 0;
	for (i = 0; i < f->len; i++) {
		uint32_t want = f->name_len[i];
		struct place *p;

		if (want > len || !want || memcmp(end - want, f->names[i], want) != 0)
			continue;
		if (offset - want > UINT32_MAX || f->places.len >= PLACES_MAX)
			return 0;
		p = op_vec_push(&f->places);
		if (!p)
			return -ENOMEM;
		p->offset = (uint32_t)(offset - want);
		p->wanted = (uint32_t)i;
	}
	return 0;
}

static int scan_strings(struct find *f, struct op_elf *elf, uint64_t off, uint64_t size)
{
	_cleanup_free_ char *buf = NULL;
	size_t kept = 0; /* tail of the piece before: an incomplete string */
	uint64_t done = 0;
	int r;

	r = op_elf_may_work(elf, size);
	if (r)
		return r;
	buf = malloc(OP_ELF_PIECE_BYTES + f->longest);
	if (!buf)
		return -ENOMEM;
	while (done < size) {
		size_t n = (size_t)OP_MIN(size - done, (uint64_t)OP_ELF_PIECE_BYTES);
		const char *start = buf;
		const char *end = buf + kept + n;
		const char *nul;
		uint64_t strings = 0;

		r = op_elf_read(elf, off + done, buf + kept, n);
		if (r)
			return r;
		done += n;
		while ((nul = memchr(start, 0, (size_t)(end - start)))) {
			r = note_string(f, start, nul, done - (uint64_t)(end - nul));
			if (r)
				return r;
			start = nul + 1;
			strings++;
		}
		r = op_elf_work(elf, strings * OP_ELF_SYMBOL_WORK);
		if (r)
			return r;
		kept = OP_MIN((size_t)(end - start), f->longest);
		memmove(buf, end - kept, kept);
	}
	return 0;
}

static int compare_places(const void *a, const void *b)
{
	const struct place *x = a;
	const struct place *y = b;

	if (x->offset != y->offset)
		return x->offset < y->offset ? -1 : 1;
	return x->wanted < y->wanted ? -1 : x->wanted > y->wanted;
}

static int match_symbol(void *data, const struct op_elf_symbol *symbol, uint32_t name)
{
	struct find *f = data;
	uint8_t rank = symbol->bind == STB_GLOBAL || symbol->bind == STB_GNU_UNIQUE ? 3
		       : symbol->bind == STB_WEAK				    ? 2
										    : 1;
	size_t at;

	if (symbol->shndx == SHN_UNDEF || symbol->type == STT_FILE ||
	    symbol->type == STT_SECTION)
		return 0;
	at = op_first_where(k, f->places.len, f->places.data[k].offset >= name);
	for (; at < f->places.len && f->places.data[at].offset == name; at++) {
		uint32_t i = f->places.data[at].wanted;

		if (f->rank[i] >= rank)
			continue;
		f->rank[i] = rank;
		f->ret[i] = *symbol;
	}
	return 0;
}

/* A name that was found in one table is not searched for in the next. */
static size_t count_found(struct find *f)
{
	size_t found = 0;
	size_t i;

	for (i = 0; i < f->len; i++) {
		if (!f->rank[i])
			continue;
		found++;
		f->rank[i] = UINT8_MAX;
		f->name_len[i] = 0;
	}
	return found;
}

static int find_in(struct find *f, struct op_elf *elf, enum op_elf_symtab_kind kind)
{
	struct op_elf_symtab table;
	int r;

	r = op_elf_symtab(elf, kind, &table);
	if (r <= 0)
		return r;
	f->places.len = 0;
	r = scan_strings(f, elf, table.str_offset, table.str_size);
	if (r || !f->places.len)
		return r;
	qsort(f->places.data, f->places.len, sizeof(*f->places.data), compare_places);
	return op_elf_symbol_each(elf, &table, match_symbol, f);
}

static int find_init(struct find *f)
{
	size_t i;

	f->name_len = calloc(f->len, sizeof(*f->name_len));
	f->rank = calloc(f->len, sizeof(*f->rank));
	if (!f->name_len || !f->rank)
		return -ENOMEM;
	for (i = 0; i < f->len; i++) {
		size_t len = strnlen(f->names[i], NAME_MAX_BYTES + 1);

		if (!len || len > NAME_MAX_BYTES)
			continue;
		f->name_len[i] = (uint32_t)len;
		f->longest = OP_MAX(f->longest, len);
		if (len < TAIL_BYTES)
			f->has_short = true;
		else
			f->tail[hash_tail(f->names[i] + len)] = true;
	}
	return 0;
}

static int find_all(struct find *f, struct op_elf *elf, bool exported)
{
	size_t found;
	int r;

	r = find_init(f);
	if (!r)
		r = find_in(f, elf, OP_ELF_DYNSYM);
	if (r)
		return r;
	found = count_found(f);
	if (found < f->len && !exported) {
		r = find_in(f, elf, OP_ELF_SYMTAB);
		if (r)
			return r;
		found = count_found(f);
	}
	return (int)found;
}

static int find_symbols(struct op_elf *elf, const char *const *names, size_t len,
			bool exported, struct op_elf_symbol *ret)
{
	_cleanup_free_ struct op_elf_symbol *symbols = NULL;
	_cleanup_(find_deinit) struct find f = { .names = names, .len = len };
	int found;

	if (!len)
		return 0;
	if (len > OP_ELF_FIND_MAX)
		return -E2BIG;
	symbols = calloc(len, sizeof(*symbols));
	if (!symbols)
		return -ENOMEM;
	f.ret = symbols;
	found = find_all(&f, elf, exported);
	if (found >= 0)
		memcpy(ret, symbols, len * sizeof(*symbols));
	return found;
}

int op_elf_find_symbols(struct op_elf *elf, const char *const *names, size_t len,
			struct op_elf_symbol *ret)
{
	return find_symbols(elf, names, len, false, ret);
}

int op_elf_find_exported(struct op_elf *elf, const char *const *names, size_t len,
			 struct op_elf_symbol *ret)
{
	return find_symbols(elf, names, len, true, ret);
}

int op_elf_find_symbol(struct op_elf *elf, const char *name, struct op_elf_symbol *ret)
{
	struct op_elf_symbol symbol;
	int found;

	found = op_elf_find_symbols(elf, &name, 1, &symbol);
	if (found > 0)
		*ret = symbol;
	return found;
}
