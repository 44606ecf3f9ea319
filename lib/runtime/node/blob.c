/* SPDX-License-Identifier: Apache-2.0 */
/* Finds V8's builtins by the table of their places and the gaps between them. */
#include "runtime/node/blob.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/macros.h"
#include "runtime/node/blob_private.h"

enum {
	/* Words from entry to entry of the table: {offset, length, ...}. It was 7 in V8 10,
	 * 8 in 11, 4 in 9, and is 3 since 12. */
	STRIDE_LEAST = 3,
	STRIDE_MOST = 8,
	/* entries of a table that are checked before it is read whole */
	ENTRIES_SEEN = 24,
	LENGTH_MOST = 1 << 20,
	TRIES_MOST = 256, /* tables read whole */
	/* The code is looked for in pieces of the file: a piece of WINDOW bytes each STEP. */
	WINDOW = 16 << 10,
	STEP = 256 << 10,
	GAPS_LEAST = 8, /* gaps that must fit in a window before all are compared */
	TRAP = 0xcc,
	BUILTINS_BYTES_MAX = 32 << 20,
};

static uint32_t word_at(const uint8_t *bytes)
{
	uint32_t ret;

	memcpy(&ret, bytes, sizeof(ret)); /* of millions */
	return ret;
}

/* The earliest start of the builtin after the one at [@offset, @offset + @length). At
 * least one byte is between them. */
static uint32_t next_offset(uint32_t offset, uint32_t length, uint32_t align)
{
	return OP_ALIGN_UP(offset + length + 1, align);
}

/* Do the @count entries at @bytes look like the first entries of a table? */
static bool begins_table(const uint8_t *bytes, uint32_t stride, uint32_t align,
			 uint32_t count)
{
	uint32_t offset = 0;
	uint32_t i;

	for (i = 0; i < count; i++, bytes += (size_t)stride * 4) {
		uint32_t length = word_at(bytes + 4);

		if (word_at(bytes) != offset || !length || length > LENGTH_MOST)
			return false;
		offset = next_offset(offset, length, align);
	}
	return true;
}

/* Read the table at file offset @off for as long as its entries follow each other. Returns 1
 * with *@ret; 0 if they are too few; or -errno. */
static int read_table(struct op_elf *elf, uint64_t off, uint32_t stride, uint32_t align,
		      struct op_node_places *ret)
{
	_cleanup_free_ struct op_node_builtin *at = NULL;
	uint32_t offset = 0;
	uint32_t count = 0;

	at = calloc(OP_NODE_BUILTINS_MOST, sizeof(*at));
	if (!at)
		return -ENOMEM;
	for (; count < OP_NODE_BUILTINS_MOST; count++, off += (uint64_t)stride * 4) {
		uint8_t bytes[8];
		int r = op_elf_read(elf, off, bytes, sizeof(bytes));

		if (r < 0 && r != -ENODATA)
			return r;
		if (r < 0 || word_at(bytes) != offset || !word_at(bytes + 4) ||
		    word_at(bytes + 4) > LENGTH_MOST)
			break;
		at[count] = (struct op_node_builtin){ offset, word_at(bytes + 4) };
		offset = next_offset(offset, at[count].length, align);
		if (offset > BUILTINS_BYTES_MAX)
			return 0;
	}
	if (count < OP_NODE_BUILTINS_LEAST)
		return 0;
	*ret = (struct op_node_places){ OP_TAKE_PTR(at), count, align };
	return 1;
}

/* Search a piece of .rodata for the table. */
static int see_table(void *data, const uint8_t *bytes, size_t len, uint64_t off)
{
	struct op_node_found *found = data;
	size_t need = (size_t)STRIDE_MOST * 4 * ENTRIES_SEEN;
	size_t i;

	for (i = 0; i + need <= len; i += 4) {
		uint32_t stride;
		uint32_t align;
		uint32_t next;
		int r;

		if (word_at(bytes + i) || word_at(bytes + i + 4) - 1 >= LENGTH_MOST)
			continue;
		for (align = 32; align <= 64; align += 32) {
			next = next_offset(0, word_at(bytes + i + 4), align);
			for (stride = STRIDE_LEAST; stride <= STRIDE_MOST; stride++) {
				if (word_at(bytes + i + (size_t)stride * 4) != next ||
				    !begins_table(bytes + i, stride, align, ENTRIES_SEEN))
					continue;
				if (found->tries++ >= TRIES_MOST)
					return -ENOENT;
				r = read_table(found->elf, off + i, stride, align,
					       &found->places);
				if (r)
					return r;
			}
		}
	}
	return 0;
}

/* The gap after builtin @i, from the first builtin's start. Returns false after the last. */
static bool gap_after(const struct op_node_places *p, uint32_t i, uint32_t *ret_start,
		      uint32_t *ret_end)
{
	if (i + 1 >= p->count)
		return false;
	*ret_start = p->at[i].offset + p->at[i].length;
	*ret_end = p->at[i + 1].offset;
	return true;
}

static bool all_traps(const uint8_t *bytes, size_t len)
{
	while (len && bytes[len - 1] == TRAP)
		len--;
	return !len;
}

/* Do the builtins in @bytes fit, WINDOW bytes from @from of their code on? *@hint: the
 * first builtin whose gap is not before that. */
static bool fits_window(const struct op_node_places *p, const uint8_t *bytes,
			uint32_t from, uint32_t *hint)
{
	uint32_t fits = 0;
	uint32_t start;
	uint32_t end;
	uint32_t i;

	while (gap_after(p, *hint, &start, &end) && start < from)
		(*hint)++;
	for (i = *hint; gap_after(p, i, &start, &end) && end <= from + WINDOW; i++) {
		if (!all_traps(bytes + (start - from), end - start))
			return false;
		fits++;
	}
	return fits >= GAPS_LEAST;
}

/* Is the code of all builtins at ELF address @base? Returns 1, 0 or -errno. */
static int fits_all(struct op_elf *elf, const struct op_node_places *p, uint64_t base)
{
	uint8_t bytes[64];
	uint32_t start;
	uint32_t end;
	uint32_t i;

	for (i = 0; gap_after(p, i, &start, &end); i++) {
		int r = op_elf_read_vaddr(elf, base + start, bytes, end - start);

		if (r < 0)
			return r == -ENODATA || r == -EFAULT ? 0 : r;
		if (!all_traps(bytes, end - start))
			return 0;
	}
	return 1;
}

/* May a window contain builtins? Each begins at a multiple of @align, after a trap. */
static bool may_fit(const uint8_t bytes[WINDOW], uint32_t align)
{
	uint32_t traps = 0;
	uint32_t i;

	for (i = align; i <= WINDOW; i += align)
		traps += bytes[i - 1] == TRAP;
	return traps >= GAPS_LEAST;
}

/* Search one window of code, WINDOW bytes at ELF address @vaddr. @low: start of its
 * segment. Returns 1 with *@ret, 0 or -errno. */
static int see_window(struct op_elf *elf, const struct op_node_places *p, uint64_t vaddr,
		      uint64_t low, uint64_t *ret)
{
	uint8_t bytes[WINDOW];
	uint32_t last = p->at[p->count - 1].offset;
	uint32_t hint = 0;
	uint64_t from;
	int r = op_elf_read_vaddr(elf, vaddr, bytes, sizeof(bytes));

	if (r == 0)
		r = op_elf_work(elf, last / p->align);
	if (r < 0)
		return r;
	if (vaddr % p->align == 0 && !may_fit(bytes, p->align))
		return 0;
	for (from = vaddr % p->align; from < last && from <= vaddr - low;
	     from += p->align) {
		if (!fits_window(p, bytes, (uint32_t)from, &hint))
			continue;
		r = fits_all(elf, p, vaddr - from);
		if (r > 0)
			*ret = vaddr - from;
		if (r)
			return r;
	}
	return 0;
}

/* Find the builtins' code. Returns 1 with *@ret, an ELF address; 0; or -errno. */
static int find_code(struct op_elf *elf, const struct op_node_places *p, uint64_t *ret)
{
	const struct op_elf_segment *segment;
	size_t count;
	size_t i;

	segment = op_elf_segments(elf, &count);
	for (i = 0; i < count; i++) {
		const struct op_elf_segment *s = &segment[i];
		uint64_t at;

		if (s->type != PT_LOAD || !(s->flags & PF_X))
			continue;
		for (at = 0; at + WINDOW <= s->filesz; at += STEP) {
			int r = see_window(elf, p, s->vaddr + at, s->vaddr, ret);

			if (r)
				return r;
		}
	}
	return 0;
}

int op_runtime_node_blob(struct op_elf *elf, bool version, struct op_node_blob *ret)
{
	struct op_node_found found = { .elf = elf };
	uint32_t prologue;
	uint64_t base;
	int r = op_runtime_node_scan(elf, see_table, &found);

	if (r == -ENOENT)
		r = 0;
	if (r > 0)
		r = find_code(elf, &found.places, &base);
	if (r > 0) {
		const struct op_node_builtin *last =
			&found.places.at[found.places.count - 1];

		*ret = (struct op_node_blob){
			.builtins = base,
			.builtins_end = base + last->offset + last->length,
		};
		r = op_runtime_node_texts(elf, found.places.count, version, ret,
					  &prologue);
	}
	if (r > 0 && prologue) {
		ret->prologue = base + found.places.at[prologue].offset;
		ret->prologue_end = ret->prologue + found.places.at[prologue].length;
	}
	free(found.places.at);
	return r;
}
