/* SPDX-License-Identifier: Apache-2.0 */
/* Sorts the symbols of a file, decides which are functions, and looks up addresses. */
#include "code/symbol/index.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"

enum {
	/* Bits of op_symbol_raw.class; the source is in the bits below. */
	CLASS_NO_SIZE = 1 << 6,
	CLASS_LOCAL = 1 << 5,
	CLASS_NO_TYPE = 1 << 4,
	/* Memory is allocated at once for a table of this many entries or more. */
	ROOM_MAX = 1 << 20,
};

static int compare_ranges(const void *a, const void *b)
{
	const struct op_code_range *x = a;
	const struct op_code_range *y = b;

	return x->start < y->start ? -1 : x->start > y->start;
}

static int add_range(struct op_symbol_index_builder *b, uint64_t start, uint64_t size)
{
	struct op_code_range *range;

	if (!size || start > UINT64_MAX - size)
		return 0;
	range = op_vec_push(&b->code);
	if (!range)
		return -ENOMEM;
	*range = (struct op_code_range){ start, start + size };
	return 0;
}

int op_symbol_index_begin(struct op_symbol_index_builder *b, struct op_elf *elf,
			  size_t limit_bytes)
{
	const struct op_elf_section *sections;
	const struct op_elf_segment *segments;
	size_t sections_len;
	size_t segments_len;
	size_t i;
	int r = 0;

	*b = (struct op_symbol_index_builder){
		.limit = limit_bytes ? limit_bytes / sizeof(struct op_symbol_entry)
				     : SIZE_MAX,
	};
	sections = op_elf_sections(elf, &sections_len);
	segments = op_elf_segments(elf, &segments_len);
	for (i = 0; i < sections_len && !r; i++) {
		if (sections[i].flags & SHF_EXECINSTR && sections[i].flags & SHF_ALLOC)
			r = add_range(b, sections[i].addr, sections[i].size);
	}
	for (i = 0; i < segments_len && !sections_len && !r; i++) {
		if (segments[i].type == PT_LOAD && segments[i].flags & PF_X)
			r = add_range(b, segments[i].vaddr, segments[i].memsz);
	}
	if (r) {
		op_symbol_index_abort(b);
		return r;
	}
	if (b->code.len)
		qsort(b->code.data, b->code.len, sizeof(*b->code.data), compare_ranges);
	return 0;
}

void op_symbol_index_abort(struct op_symbol_index_builder *b)
{
	op_vec_clear(&b->code);
	op_vec_clear(&b->raw);
}

static const struct op_code_range *find_range(const struct op_symbol_index_builder *b,
					      uint64_t vaddr)
{
	size_t at = op_first_where(i, b->code.len, b->code.data[i].end > vaddr);

	return at < b->code.len && b->code.data[at].start <= vaddr ? &b->code.data[at]
								   : NULL;
}

/* Is it "$x" or "$d.7"? On aarch64 these mark code and data and are not functions (ELF
 * for the Arm 64-bit architecture, "Mapping symbols"). */
static bool is_mapping_symbol(struct op_symbol_index_builder *b, uint32_t name)
{
	char first = 0;

	return name < b->table.str_size &&
	       op_elf_read(b->elf, b->table.str_offset + name, &first, 1) == 0 &&
	       first == '$';
}

static int take_symbol(void *data, const struct op_elf_symbol *s, uint32_t name)
{
	struct op_symbol_index_builder *b = data;
	const struct op_code_range *range;
	struct op_symbol_raw *raw;
	bool local = s->bind == STB_LOCAL;
	bool typed = s->type == STT_FUNC || s->type == STT_GNU_IFUNC;
	uint64_t addr;

	if (s->shndx == SHN_UNDEF || s->shndx == SHN_ABS || !name ||
	    name > OP_NAME_OFFSET_MAX || (!typed && s->type != STT_NOTYPE))
		return 0;
	range = find_range(b, s->value);
	if (!range || (s->value >= b->without.start && s->value < b->without.end))
		return 0;
	addr = s->value - b->code.data[0].start;
	if (addr > UINT32_MAX)
		return 0;
	if (local && !typed && op_elf_machine(b->elf) == EM_AARCH64 &&
	    is_mapping_symbol(b, name))
		return 0;
	if (b->raw.len >= b->limit)
		return -EFBIG;
	raw = op_vec_push(&b->raw);
	if (!raw)
		return -ENOMEM;
	raw->addr = (uint32_t)addr;
	raw->size = (uint32_t)OP_MIN(OP_MIN(s->size, range->end - s->value),
				     (uint64_t)OP_SYMBOL_SIZE_MAX);
	raw->name = name | (uint32_t)(s->bind == STB_WEAK) << OP_NAME_WEAK_SHIFT |
		    (uint32_t)b->source << OP_NAME_SOURCE_SHIFT;
	raw->class = (s->size ? 0 : CLASS_NO_SIZE) | (local ? CLASS_LOCAL : 0) |
		     (typed ? 0 : CLASS_NO_TYPE) | (uint32_t)b->source;
	return 0;
}

/* For how many symbols of a table of @count entries to allocate at once. */
static size_t room_for(const struct op_symbol_index_builder *b, uint64_t count)
{
	uint64_t left = OP_MIN(b->limit, (size_t)ROOM_MAX);

	left -= OP_MIN(left, (uint64_t)b->raw.len);
	return (size_t)OP_MIN(count, left);
}

uint64_t op_symbol_index_bytes(const struct op_symbol_index_builder *b, uint64_t count)
{
	return OP_MIN(count, (uint64_t)b->limit) * sizeof(struct op_symbol_raw);
}

int op_symbol_index_add_table(struct op_symbol_index_builder *b, struct op_elf *elf,
			      enum op_names_source source,
			      const struct op_elf_symtab *table)
{
	size_t before = b->raw.len;
	int r;

	b->elf = elf;
	b->source = source;
	b->table = *table;
	/* Memory that grows is taken twice for a moment. If one allocation fails, let
	 * it grow. */
	(void)op_vec_reserve(&b->raw, room_for(b, table->count));
	r = op_elf_symbol_each(elf, table, take_symbol, b);
	if (r) {
		b->raw.len = before;
		return r;
	}
	return (int)OP_MIN(b->raw.len - before, (size_t)INT32_MAX);
}

/* State of the pass over the sorted symbols. */
struct pass {
	uint64_t covered; /* end of the addresses covered by functions with a size */
	const struct op_code_range *range;
	bool after_global_label;
};

/* Is the group of symbols at one address a function? @first is the best of them. */
static bool is_function(struct op_symbol_index_builder *b, struct pass *pass,
			const struct op_symbol_raw *first)
{
	const struct op_code_range *range =
		find_range(b, b->code.data[0].start + first->addr);
	bool sized = !(first->class & CLASS_NO_SIZE);
	bool label = first->class & CLASS_LOCAL && first->class & CLASS_NO_TYPE;

	if (!sized && first->addr < pass->covered)
		return false;
	/* A local label after an exported one without a size is inside that function: a
	 * loop in assembly. */
	if (!sized && label && pass->after_global_label && range == pass->range)
		return false;
	pass->after_global_label = !sized && !label;
	pass->range = range;
	if (sized)
		pass->covered =
			OP_MAX(pass->covered, (uint64_t)first->addr + first->size);
	return true;
}

/* A function without a size extends to the next one or to the end of its section, but not
 * far: code after it may have lost its names (static functions of assembly). */
static void fill_sizes(struct op_symbol_index_builder *b, struct op_symbol_index *index)
{
	uint64_t base = b->code.data[0].start;
	uint64_t next = UINT64_MAX;
	size_t i;

	for (i = index->len; i-- > 0;) {
		struct op_symbol_entry *e = &index->entries[i];
		const struct op_code_range *range = find_range(b, base + e->addr);

		if (i + 1 < index->len && index->entries[i + 1].addr != e->addr)
			next = index->entries[i + 1].addr;
		if (!e->size && range)
			e->size = (uint32_t)OP_MIN(OP_MIN(next, range->end - base) -
							   e->addr,
						   (uint64_t)OP_SYMBOL_GUESS_MAX) |
				  OP_SYMBOL_SIZE_GUESSED;
	}
}

/* Build the entries in place of the raw symbols they are made from: 12 bytes for 16. */
static size_t compact(struct op_symbol_index_builder *b, struct op_symbol_entry *entries)
{
	struct op_symbol_raw *raw = b->raw.data;
	struct pass pass = { 0 };
	size_t len = 0;
	size_t i = 0;

	while (i < b->raw.len) {
		struct op_symbol_raw first = raw[i];
		bool keep = is_function(b, &pass, &first);

		for (; i < b->raw.len && raw[i].addr == first.addr; i++) {
			struct op_symbol_entry e = { raw[i].addr, raw[i].size,
						     raw[i].name };

			if (keep && raw[i].class == first.class)
				memcpy(&entries[len++], &e, sizeof(e));
		}
	}
	return len;
}

void op_symbol_index_finish(struct op_symbol_index_builder *b,
			    struct op_symbol_index *ret)
{
	struct op_symbol_entry *entries;
	void *shrunk;

	*ret = (struct op_symbol_index){ 0 };
	if (!b->raw.len) {
		op_symbol_index_abort(b);
		return;
	}
	op_symbol_sort(b->raw.data, b->raw.len);
	ret->base = b->code.data[0].start;
	entries = (struct op_symbol_entry *)(void *)b->raw.data;
	ret->len = compact(b, entries);
	ret->entries = entries;
	fill_sizes(b, ret);
	b->raw.data = NULL;
	shrunk = ret->len ? realloc(entries, ret->len * sizeof(*entries)) : NULL;
	if (shrunk)
		ret->entries = shrunk;
	op_symbol_index_abort(b);
}

size_t op_symbol_index_lookup(const struct op_symbol_index *index, uint64_t vaddr,
			      size_t *ret_first)
{
	uint64_t addr = vaddr - index->base;
	size_t above;
	size_t end;
	int n;

	*ret_first = 0;
	if (vaddr < index->base || addr > UINT32_MAX)
		return 0;
	above = op_first_where(i, index->len, index->entries[i].addr > addr);
	/* The nearest entry may be a part of a larger one, or end before the address. */
	for (n = 0; n < OP_SYMBOL_NESTING_MAX && above > 0; n++, above = *ret_first) {
		const struct op_symbol_entry *e = &index->entries[above - 1];

		end = above;
		*ret_first = above - 1;
		while (*ret_first > 0 && index->entries[*ret_first - 1].addr == e->addr)
			--*ret_first;
		if (addr - e->addr < (e->size & OP_SYMBOL_SIZE_MAX))
			return end;
	}
	*ret_first = 0;
	return 0;
}
