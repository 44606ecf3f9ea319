/* SPDX-License-Identifier: Apache-2.0 */
#include "code/unwind/early/early.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "code/dwarf/cfi.h"
#include "code/dwarf/eh_hdr.h"
#include "code/unwind/builder.h"
#include "code/unwind/source.h"

enum {
	PAGE_BYTES = 1 << OP_PAGE_SHIFT,
	/* memory of an open .eh_frame: windows of 4 KiB */
	CFI_BYTES = 64 << 10,
};

struct op_unwind_early {
	struct op_elf *elf;
	struct op_arena *arena;
	struct op_unwind_rules *rules;
	struct op_cfi *cfi;
	struct op_unwind_table table; /* its segments; its rules are those of all pages */
	struct op_unwind_table piece; /* one page as a table, for the builder */
	op_ref late;		      /* a row: nothing is known yet */
	bool over;
};

static struct op_page page_of(op_ref rows, uint32_t count)
{
	return (struct op_page){ .rows = rows, .count = count };
}

/* Programs read the entry of a directory as one word. */
static void set_page(struct op_page *at, struct op_page page)
{
	uint64_t word;

	_Static_assert(sizeof(word) == sizeof(page), "an entry is a word");
	memcpy(&word, &page, sizeof(word));
	__atomic_store_n((uint64_t *)(void *)at, word, __ATOMIC_RELEASE);
}

/* The pages of segment number @i. In memory that cannot be mapped now, as in the child of a
 * fork, a segment is zeros and has none. */
static struct op_page *directory(const struct op_unwind_early *early, size_t i,
				 uint32_t *ret_count)
{
	const struct op_segment *s =
		op_arena_at(early->arena, early->table.segments[i].segment);

	*ret_count = s->pages ? s->page_count : 0;
	return s->pages ? op_arena_at(early->arena, s->pages) : NULL;
}

static int add_late_row(struct op_unwind_early *early)
{
	const struct op_row row = { .pc = 0, .rule = OP_UNWIND_RULE_LATE };
	void *at;
	int r = op_arena_alloc(early->arena, sizeof(row), &early->late, &at);

	if (r == 0)
		memcpy(at, &row, sizeof(row));
	return r;
}

/* Write the segment and its directory, all of whose pages are late. */
static int add_segment(struct op_unwind_early *early,
		       struct op_unwind_table_segment *segment)
{
	uint64_t base = OP_ALIGN_DOWN(segment->vaddr, (uint64_t)PAGE_BYTES);
	uint64_t count = (segment->vaddr + segment->memsz - base + PAGE_BYTES - 1) >>
			 OP_PAGE_SHIFT;
	struct op_segment out = { .vaddr = base, .page_count = (uint32_t)count };
	struct op_page *pages;
	void *at;
	uint64_t i;
	int r = op_arena_alloc(early->arena, count * sizeof(*pages), &out.pages, &at);

	if (r < 0)
		return r;
	pages = at;
	for (i = 0; i < count; i++)
		pages[i] = page_of(early->late, 1);
	r = op_arena_alloc(early->arena, sizeof(out), &segment->segment, &at);
	if (r < 0) {
		op_arena_release(early->arena, out.pages, count * sizeof(*pages), 0);
		return r;
	}
	memcpy(at, &out, sizeof(out));
	early->table.arena_bytes += count * sizeof(*pages) + sizeof(out);
	return 0;
}

static int add_segments(struct op_unwind_early *early)
{
	size_t i;
	int r = add_late_row(early);

	op_unwind_table_find_segments(early->elf, &early->table);
	for (i = 0; r == 0 && i < early->table.segments_len; i++)
		r = add_segment(early, &early->table.segments[i]);
	return r;
}

int op_unwind_early_new(struct op_elf *elf, const struct op_unwind_table_loop *loop,
			struct op_arena *arena, struct op_unwind_rules *rules,
			struct op_unwind_early **ret)
{
	struct op_unwind_early *early;
	struct op_eh_hdr hdr;
	int r;

	if (!op_eh_hdr_read(elf, &hdr) || hdr.count < OP_UNWIND_EARLY_FDES_MIN)
		return 0;
	early = calloc(1, sizeof(*early));
	if (!early)
		return -ENOMEM;
	early->elf = elf;
	early->arena = arena;
	early->rules = rules;
	r = op_cfi_new(elf, OP_CFI_EH_FRAME, &early->cfi);
	if (r > 0)
		r = add_segments(early) < 0 ? -ENOSPC : 1;
	if (r <= 0) {
		(void)op_unwind_early_free(early, 0);
		return r == -ENOMEM || r == -ENOSPC ? r : 0;
	}
	if (loop && loop->runtime)
		op_unwind_table_set_loop(&early->table, arena, loop);
	*ret = early;
	return 1;
}

static void release_rows(const struct op_unwind_early *early, struct op_page page,
			 uint64_t now_ns)
{
	if (page.rows != early->late)
		op_arena_release(early->arena, page.rows,
				 page.count * sizeof(struct op_row), now_ns);
}

static void release_segment(const struct op_unwind_early *early, size_t i,
			    uint64_t now_ns)
{
	op_ref segment = early->table.segments[i].segment;
	struct op_page *pages;
	uint32_t count;
	uint32_t p;

	if (!segment)
		return;
	pages = directory(early, i, &count);
	for (p = 0; p < count; p++)
		release_rows(early, pages[p], now_ns);
	op_arena_release(early->arena,
			 ((struct op_segment *)op_arena_at(early->arena, segment))->pages,
			 count * sizeof(*pages), now_ns);
	op_arena_release(early->arena, segment, sizeof(struct op_segment), now_ns);
}

struct op_unwind_early *op_unwind_early_free(struct op_unwind_early *early,
					     uint64_t now_ns)
{
	size_t i;

	if (!early)
		return NULL;
	for (i = 0; i < early->table.segments_len; i++)
		release_segment(early, i, now_ns);
	op_arena_release(early->arena, early->late, sizeof(struct op_row), now_ns);
	op_unwind_rules_release(early->rules, &early->piece.rules, now_ns);
	op_cfi_free(early->cfi);
	free(early);
	return NULL;
}

op_ref op_unwind_early_segment(const struct op_unwind_early *early, uint64_t vaddr)
{
	size_t i;

	for (i = 0; i < early->table.segments_len; i++)
		if (early->table.segments[i].vaddr == vaddr)
			return early->table.segments[i].segment;
	return 0;
}

/* The table may have rules for addresses that no FDE covers. */
static int add_late(void *data, struct op_builder *b, uint64_t start, uint64_t end,
		    struct op_unwind_rule none)
{
	const struct op_unwind_rule late = { .cfa = OP_CFA_LATE };

	return op_builder_gap_row(b, start, late);
}

/* Make the rows of [@start, @end), which is in one page. Returns as op_unwind_early_page(). */
static int make_rows(struct op_unwind_early *early, uint64_t start, uint64_t end,
		     struct op_page *ret)
{
	struct op_builder b;
	int r;

	early->piece.segments_len = 1;
	early->piece.segments[0] = (struct op_unwind_table_segment){
		.vaddr = start, .memsz = end - start, .filesz = end - start
	};
	op_builder_init(&b, &early->piece, early->arena, early->rules, 0);
	b.gap = add_late;
	r = op_source_between(early->elf, early->cfi, &b, start, end);
	if (r > 0)
		r = op_builder_finish_page(&b, ret);
	op_builder_deinit(&b);
	if (r > 0 && early->piece.rules.full) {
		op_arena_release(early->arena, ret->rows,
				 ret->count * sizeof(struct op_row), 0);
		r = -ENOSPC;
	}
	return r == -EBADMSG || r == -E2BIG || r == -EFBIG ? 0 : r;
}

int op_unwind_early_page(struct op_unwind_early *early, uint64_t vaddr)
{
	const struct op_unwind_table_segment *s = early->table.segments;
	struct op_page made;
	struct op_page *pages;
	uint32_t count;
	uint64_t base;
	uint64_t page;
	size_t i = 0;
	int r;

	while (i < early->table.segments_len &&
	       (vaddr < s[i].vaddr || vaddr - s[i].vaddr >= s[i].memsz))
		i++;
	if (i == early->table.segments_len)
		return 0;
	base = OP_ALIGN_DOWN(s[i].vaddr, (uint64_t)PAGE_BYTES);
	page = (vaddr - base) >> OP_PAGE_SHIFT;
	pages = directory(early, i, &count);
	if (page >= count || early->over)
		return 0;
	if (pages[page].rows != early->late)
		return 1;
	base += page << OP_PAGE_SHIFT;
	r = make_rows(early, OP_MAX(base, s[i].vaddr),
		      OP_MIN(base + PAGE_BYTES, s[i].vaddr + s[i].memsz), &made);
	if (r > 0)
		set_page(&pages[page], made);
	return r;
}

/* Replace the pages of segment number @i by those of @table. */
static void complete_segment(struct op_unwind_early *early, struct op_unwind_table *table,
			     size_t i, uint64_t now_ns)
{
	struct op_segment from;
	const struct op_page *new = NULL;
	struct op_page *pages;
	uint32_t count;
	uint32_t p;

	memcpy(&from, op_arena_at(early->arena, table->segments[i].segment),
	       sizeof(from));
	if (from.pages)
		new = op_arena_at(early->arena, from.pages);
	pages = directory(early, i, &count);
	for (p = 0; p < count; p++) {
		struct op_page old = pages[p];

		set_page(&pages[p], p < from.page_count ? new[p] : page_of(0, 0));
		release_rows(early, old, now_ns);
	}
	if (from.pages)
		op_arena_release(early->arena, from.pages, from.page_count * sizeof(*new),
				 0);
	else
		table->arena_bytes += count * sizeof(*pages);
	op_arena_release(early->arena, table->segments[i].segment, sizeof(from), 0);
	table->segments[i].segment = early->table.segments[i].segment;
	early->table.segments[i].segment = 0;
}

void op_unwind_early_complete(struct op_unwind_early *early,
			      struct op_unwind_table *table, uint64_t now_ns)
{
	size_t i;

	/* both belong to one file */
	for (i = 0; i < table->segments_len && i < early->table.segments_len; i++)
		complete_segment(early, table, i, now_ns);
}

void op_unwind_early_give_up(struct op_unwind_early *early)
{
	size_t i;

	early->over = true;
	for (i = 0; i < early->table.segments_len; i++) {
		uint32_t count;
		struct op_page *pages = directory(early, i, &count);
		uint32_t p;

		for (p = 0; p < count; p++)
			if (pages[p].rows == early->late)
				set_page(&pages[p], page_of(0, 0));
	}
}

bool op_unwind_early_is_over(const struct op_unwind_early *early)
{
	return early->over;
}

uint64_t op_unwind_early_arena_bytes(const struct op_unwind_early *early)
{
	return early->table.arena_bytes + early->piece.arena_bytes;
}

size_t op_unwind_early_bytes(const struct op_unwind_early *early)
{
	return sizeof(*early) + CFI_BYTES;
}
