/* SPDX-License-Identifier: Apache-2.0 */
#include "code/unwind/early/early.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "code/dwarf/cfi.h"
#include "code/dwarf/eh_hdr.h"
#include "code/unwind/builder.h"
#include "code/unwind/early/code.h"
#include "code/unwind/source.h"

enum {
	PAGE_BYTES = 1 << OP_PAGE_SHIFT,
	/* A page with more FDEs takes tenths of a millisecond. It is made in blocks, and as
	 * a whole once BLOCKS_MAX of them exist. */
	PAGE_FDES_MAX = 512,
	BLOCK_BYTES = PAGE_BYTES / 16,
	BLOCKS_MAX = 2,
	ALL_BLOCKS = UINT16_MAX,
	FDE_TEXT_BYTES = 256, /* about, of a function */
	/* memory of an open .eh_frame: windows of 4 KiB */
	CFI_BYTES = 64 << 10,
};

struct op_unwind_early {
	struct op_elf *elf;
	struct op_arena *arena;
	struct op_unwind_rules *rules;
	struct op_cfi *cfi;
	struct op_eh_hdr hdr;
	struct op_unwind_table table; /* its segments; its rules are those of all pages */
	/* of each segment: the blocks of each page that are made, a bit each */
	uint16_t *made[OP_UNWIND_TABLE_SEGMENTS_MAX];
	struct op_unwind_table piece; /* one page as a table, for the builder */
	op_ref late;		      /* a row: nothing is known yet */
	uint32_t blocks; /* of the page that is being made: those that get their rows */
	struct op_early_code code;
	uint64_t low; /* of the segment of the page that is being made */
	uint64_t high;
	bool reads;  /* code without FDEs is read where it was hit */
	bool sparse; /* reading the code without FDEs takes longer than samples wait */
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

static uint64_t page_count(const struct op_unwind_table_segment *s)
{
	uint64_t base = OP_ALIGN_DOWN(s->vaddr, (uint64_t)PAGE_BYTES);

	return (s->vaddr + s->memsz - base + PAGE_BYTES - 1) >> OP_PAGE_SHIFT;
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

/* Write segment number @i and its directory, all of whose pages are late. */
static int add_segment(struct op_unwind_early *early, size_t i)
{
	struct op_unwind_table_segment *segment = &early->table.segments[i];
	uint64_t count = page_count(segment);
	struct op_segment out = { .vaddr = OP_ALIGN_DOWN(segment->vaddr,
							 (uint64_t)PAGE_BYTES),
				  .page_count = (uint32_t)count };
	struct op_page *pages;
	void *at;
	uint64_t p;
	int r;

	early->made[i] = calloc(count, sizeof(*early->made[i]));
	if (!early->made[i])
		return -ENOMEM;
	r = op_arena_alloc(early->arena, count * sizeof(*pages), &out.pages, &at);
	if (r < 0)
		return r;
	pages = at;
	for (p = 0; p < count; p++)
		pages[p] = page_of(early->late, 1);
	r = op_arena_alloc(early->arena, sizeof(out), &segment->segment, &at);
	if (r < 0) {
		op_arena_release(early->arena, out.pages, count * sizeof(*pages), 0);
		return r;
	}
	memcpy(at, &out, sizeof(out));
	early->table.arena_bytes += count * sizeof(*pages) + sizeof(out);
	return 0;
}

/* In a file with little unwind data whose code is not read where it was hit, the programs guess
 * callers in pages without FDEs from the beginning. */
struct fill {
	struct op_unwind_early *early;
	size_t segment;
	uint64_t page; /* the first one that no FDE was found for yet */
};

static void guess_until(struct fill *f, uint64_t end)
{
	uint32_t count;
	struct op_page *pages = directory(f->early, f->segment, &count);

	for (; f->page < OP_MIN(end, (uint64_t)count); f->page++) {
		set_page(&pages[f->page], page_of(0, 0));
		f->early->made[f->segment][f->page] = ALL_BLOCKS;
	}
}

/* A function may continue on the page after that of its start. */
static int fill_entry(void *data, uint64_t start, uint64_t fde)
{
	struct fill *f = data;
	uint64_t base = OP_ALIGN_DOWN(f->early->table.segments[f->segment].vaddr,
				      (uint64_t)PAGE_BYTES);
	uint64_t page = start < base ? 0 : (start - base) >> OP_PAGE_SHIFT;

	guess_until(f, page);
	f->page = OP_MAX(f->page, page + 2);
	return 0;
}

static int guess_without_fdes(struct op_unwind_early *early, size_t i)
{
	const struct op_unwind_table_segment *s = &early->table.segments[i];
	struct fill f = { .early = early, .segment = i };
	int r = op_eh_hdr_each(early->elf, &early->hdr, s->vaddr, s->vaddr + s->memsz,
			       fill_entry, &f);

	guess_until(&f, UINT64_MAX);
	return r;
}

/* Is there much more code than the FDEs describe? */
static bool is_sparse(const struct op_unwind_early *early)
{
	uint64_t bytes = 0;
	size_t i;

	for (i = 0; i < early->table.segments_len; i++)
		bytes += early->table.segments[i].memsz;
	return bytes / FDE_TEXT_BYTES >
	       early->hdr.count + OP_UNWIND_EARLY_CODE_MIN / FDE_TEXT_BYTES;
}

/* Is all that is known of the code in its instructions? The rest of a Go program's is in Go's
 * own table. */
static bool may_read_code(struct op_elf *elf)
{
	_cleanup_(op_source_go_freep) struct op_source_go *go = NULL;

	return op_elf_machine(elf) == EM_X86_64 && !op_elf_section(elf, ".debug_frame") &&
	       op_source_go_new(elf, NULL, &go) == 0;
}

static int add_segments(struct op_unwind_early *early)
{
	size_t i;
	int r = add_late_row(early);

	for (i = 0; r == 0 && i < early->table.segments_len; i++) {
		r = add_segment(early, i);
		if (r == 0 && early->sparse && !early->reads)
			r = guess_without_fdes(early, i);
	}
	return r;
}

int op_unwind_early_new(struct op_elf *elf, const struct op_unwind_table_loop *loop,
			struct op_arena *arena, struct op_unwind_rules *rules,
			struct op_unwind_early **ret)
{
	struct op_unwind_early *early;
	struct op_eh_hdr hdr;
	int r = 0;

	if (!op_eh_hdr_read(elf, &hdr) || !hdr.count) {
		/* FDEs that cannot be searched for have better rules than the code */
		const struct op_elf_section *frame = op_elf_section(elf, ".eh_frame");

		if ((frame && frame->size) || !may_read_code(elf))
			return 0;
		hdr = (struct op_eh_hdr){ 0 };
	}
	early = calloc(1, sizeof(*early));
	if (!early)
		return -ENOMEM;
	early->elf = elf;
	early->hdr = hdr;
	early->arena = arena;
	early->rules = rules;
	op_unwind_table_find_segments(elf, &early->table);
	early->sparse = is_sparse(early);
	early->reads = early->sparse && (!hdr.count || may_read_code(elf));
	if (!hdr.count)
		r = early->sparse;
	else if (hdr.count >= OP_UNWIND_EARLY_FDES_MIN || early->sparse)
		r = op_cfi_new(elf, OP_CFI_EH_FRAME, &early->cfi);
	if (r > 0) {
		r = add_segments(early);
		r = r == -ENOMEM ? r : r < 0 ? -ENOSPC : 1;
	}
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
	if (page.rows && page.rows != early->late)
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
	for (i = 0; i < OP_ARRAY_SIZE(early->made); i++)
		free(early->made[i]);
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

static uint32_t block_of(uint64_t vaddr)
{
	return UINT32_C(1) << vaddr % PAGE_BYTES / BLOCK_BYTES;
}

static uint64_t block_end(uint64_t vaddr)
{
	return OP_ALIGN_DOWN(vaddr, (uint64_t)BLOCK_BYTES) + BLOCK_BYTES;
}

/* Read the code around the page of the builder, once. Returns 0 or -errno. */
static int read_code(struct op_unwind_early *early)
{
	const struct op_unwind_table_segment *s = &early->piece.segments[0];

	if (early->code.rows.len)
		return 0;
	return op_early_code_read(&early->code, early->elf, s->vaddr, s->vaddr + s->memsz,
				  early->low, early->high);
}

/* The table may have rules for addresses that no FDE covers, and FDEs cover those of blocks
 * that are not made yet. */
static int add_gap(void *data, struct op_builder *b, uint64_t start, uint64_t end,
		   struct op_unwind_rule none)
{
	static const struct op_unwind_rule late = { .cfa = OP_CFA_LATE };
	static const struct op_unwind_rule guess = { .cfa = OP_CFA_FRAME,
						     .save = OP_SAVE_CHECK };
	struct op_unwind_early *early = data;
	bool reads = early->reads && end - start >= FDE_TEXT_BYTES;
	uint64_t stop;
	int r = reads ? read_code(early) : 0;

	for (; r == 0 && start < end; start = stop) {
		bool wanted = early->sparse && early->blocks & block_of(start);

		stop = OP_MIN(block_end(start), end);
		if (wanted && reads)
			r = op_early_code_rows(&early->code, b, op_builder_gap_row, start,
					       stop);
		else
			r = op_builder_gap_row(b, start, wanted ? guess : late);
	}
	return r;
}

static int count_entry(void *data, uint64_t start, uint64_t fde)
{
	size_t *left = data;

	return !(*left)--;
}

/* Are there more than PAGE_FDES_MAX functions in [@start, @end)? */
static bool is_dense(const struct op_unwind_early *early, uint64_t start, uint64_t end)
{
	size_t left = PAGE_FDES_MAX;

	return early->hdr.count && op_eh_hdr_each(early->elf, &early->hdr, start, end,
						  count_entry, &left) > 0;
}

/* Read the FDEs of @blocks of [@start, @end). Returns as op_source_between(). */
static int read_blocks(struct op_unwind_early *early, struct op_builder *b,
		       uint64_t start, uint64_t end, uint32_t blocks)
{
	uint64_t stop;
	int r = 1;

	for (; early->hdr.count && r > 0 && start < end; start = stop) {
		bool wanted = blocks & block_of(start);

		stop = start;
		do
			stop = OP_MIN(block_end(stop), end);
		while (stop < end && wanted == !!(blocks & block_of(stop)));
		if (wanted)
			r = op_source_between(early->elf, early->cfi, b, start, stop);
	}
	return r;
}

/* Make the rows of a page without FDEs. Returns 1 or -errno. */
static int make_code_rows(struct op_unwind_early *early, struct op_builder *b,
			  uint64_t start, uint64_t end)
{
	int r = read_code(early);

	if (r == 0)
		r = op_builder_function(b, start, end);
	if (r > 0)
		r = op_early_code_rows(&early->code, b, op_builder_row, start, end);
	return r < 0 ? r : 1;
}

/* Make the rows of @blocks of [@start, @end), which is in one page. Returns as
 * op_unwind_early_page(). */
static int make_rows(struct op_unwind_early *early, uint64_t start, uint64_t end,
		     uint32_t blocks, struct op_page *ret)
{
	struct op_builder b;
	int r;

	early->piece.segments_len = 1;
	early->piece.segments[0] = (struct op_unwind_table_segment){
		.vaddr = start, .memsz = end - start, .filesz = end - start
	};
	op_builder_init(&b, &early->piece, early->arena, early->rules, 0);
	b.gap = add_gap;
	b.gap_data = early;
	early->blocks = blocks;
	r = read_blocks(early, &b, start, end, blocks);
	if (r > 0 && !b.open && early->reads && blocks == ALL_BLOCKS)
		r = make_code_rows(early, &b, start, end); /* no FDE is in it */
	if (r > 0)
		r = op_builder_finish_page(&b, ret);
	op_builder_deinit(&b);
	op_early_code_clear(&early->code);
	if (r > 0 && early->piece.rules.full) {
		op_arena_release(early->arena, ret->rows,
				 ret->count * sizeof(struct op_row), 0);
		r = -ENOSPC;
	}
	return r == -EBADMSG || r == -E2BIG || r == -EFBIG ? 0 : r;
}

/* Replace a page's rows by @now. */
static void replace_rows(struct op_unwind_early *early, struct op_page *at,
			 struct op_page now, uint64_t now_ns)
{
	struct op_page old = *at;

	set_page(at, now);
	release_rows(early, old, now_ns);
	if (old.rows != early->late)
		early->piece.arena_bytes -= OP_ALIGN_UP(old.count * sizeof(struct op_row),
							1u << OP_REF_SHIFT);
}

int op_unwind_early_page(struct op_unwind_early *early, uint64_t vaddr, uint64_t now_ns)
{
	const struct op_unwind_table_segment *s = early->table.segments;
	struct op_page rows;
	struct op_page *pages;
	uint16_t *made;
	uint32_t blocks;
	uint32_t count;
	uint64_t start;
	uint64_t end;
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
	made = &early->made[i][page];
	if (*made & block_of(vaddr))
		return 1;
	base += page << OP_PAGE_SHIFT;
	start = OP_MAX(base, s[i].vaddr);
	end = OP_MIN(base + PAGE_BYTES, s[i].vaddr + s[i].memsz);
	early->low = s[i].vaddr;
	early->high = s[i].vaddr + s[i].memsz;
	blocks = *made | block_of(vaddr);
	if (__builtin_popcount(*made) >= BLOCKS_MAX || !is_dense(early, start, end))
		blocks = ALL_BLOCKS;
	r = make_rows(early, start, end, blocks, &rows);
	if (r == 0 && early->sparse && blocks != ALL_BLOCKS) { /* no FDE is in them */
		blocks = ALL_BLOCKS;
		r = make_rows(early, start, end, blocks, &rows);
	}
	if (r == 0 && early->sparse) { /* no FDE is in it */
		rows = page_of(0, 0);
		blocks = ALL_BLOCKS;
		r = 1;
	}
	if (r <= 0)
		return r;
	replace_rows(early, &pages[page], rows, now_ns);
	*made = (uint16_t)blocks;
	return 1;
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

void op_unwind_early_give_up(struct op_unwind_early *early, uint64_t now_ns)
{
	size_t i;

	early->over = true;
	for (i = 0; i < early->table.segments_len; i++) {
		uint32_t count;
		struct op_page *pages = directory(early, i, &count);
		uint32_t p;

		for (p = 0; p < count; p++)
			if (early->made[i][p] != ALL_BLOCKS)
				replace_rows(early, &pages[p], page_of(0, 0), now_ns);
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
	size_t bytes = sizeof(*early) + CFI_BYTES;
	size_t i;

	for (i = 0; i < early->table.segments_len; i++)
		bytes += page_count(&early->table.segments[i]) * sizeof(*early->made[i]);
	return bytes;
}
