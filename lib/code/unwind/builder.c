/* SPDX-License-Identifier: Apache-2.0 */
#include "code/unwind/builder.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"

enum {
	PAGE_BYTES = 1 << OP_PAGE_SHIFT,
	/* bytes that the steps of a run may cover: the high 16 bits of cfa_off */
	RUN_BYTES = 16,
	/*
	 * The largest first offset of a run: that of prologues and epilogues. Runs for
	 * arguments that are pushed deep in a function would make four times as many
	 * rules and save two rows in a hundred.
	 */
	RUN_OFF_MAX = 64,
	STEP = 8,
	/* Once this many rules are used, no rules for new runs are made. */
	RUN_RULES_MAX = OP_UNWIND_RULES_MAX / 4 * 3,
	RUN_SET_MAX = OP_UNWIND_RULES_SET_MAX / 4 * 3,
};

static const struct op_unwind_rule RULE_INVALID = { .cfa = OP_CFA_INVALID };
/* rule where nothing shows that the code keeps frame pointers */
static const struct op_unwind_rule RULE_FRAME = { .cfa = OP_CFA_FRAME,
						  .save = OP_SAVE_CHECK };
static const struct op_unwind_rule RULE_STOP = { .cfa = OP_CFA_STOP };

void op_builder_init(struct op_builder *b, struct op_unwind_table *table,
		     struct op_arena *arena, struct op_unwind_rules *rules,
		     uint64_t entry)
{
	struct op_arena_stats stats;

	op_arena_get_stats(arena, &stats);
	*b = (struct op_builder){
		.share = OP_MAX(stats.room_bytes / OP_UNWIND_TABLE_ARENA_SHARE,
				(uint64_t)OP_SLAB_BYTES),
		.arena = arena,
		.rules = rules,
		.table = table,
		.entry = entry,
	};
}

void op_builder_deinit(struct op_builder *b)
{
	uint32_t i;

	for (i = 0; b->pages && i < b->page; i++)
		op_arena_release(b->arena, b->pages[i].rows,
				 b->pages[i].count * sizeof(struct op_row), 0);
	free(b->pages);
	b->pages = NULL;
	op_vec_clear(&b->rows);
}

/* ---- pages ---- */

/* Copy @bytes to the arena. */
static int publish(struct op_builder *b, const void *from, size_t bytes, op_ref *ret)
{
	void *at = NULL;
	int r;

	if (bytes > b->share - OP_MIN(b->table->arena_bytes, b->share))
		return -EFBIG;
	r = op_arena_alloc(b->arena, bytes, ret, &at);
	if (r < 0)
		return r;
	memcpy(at, from, bytes);
	b->table->arena_bytes += OP_ALIGN_UP(bytes, 1u << OP_REF_SHIFT);
	return 0;
}

static int add_row(struct op_builder *b, uint16_t pc, struct op_unwind_rule rule)
{
	if (b->rows.len == b->rows.cap && op_vec_reserve(&b->rows, 1) < 0)
		return -ENOMEM;
	b->rows.data[b->rows.len++] = (struct op_row){
		.pc = pc,
		.rule = op_unwind_rules_intern(b->rules, &b->table->rules, rule),
	};
	return 0;
}

/* Not inlined: it is called seldom, in code that runs for each row. */
static __attribute__((noinline)) int finish_page(struct op_builder *b)
{
	struct op_page *page = &b->pages[b->page];
	int r;

	/* The rule at the end of a page holds at the start of the next one. */
	if (!b->rows.len) {
		r = add_row(b, 0, b->in_force);
		if (r < 0)
			return r;
	}
	r = publish(b, b->rows.data, b->rows.len * sizeof(struct op_row), &page->rows);
	if (r < 0)
		return r;
	page->count = (uint32_t)b->rows.len;
	b->table->rows += b->rows.len;
	b->rows.len = 0;
	b->page++;
	return 0;
}

/*
 * Put a row into its page. @after is the rule that holds after its steps. Not inlined, so
 * that the rules are passed in registers as whole words: a rule that was spilled in
 * halves and read back as one word would stall.
 */
static __attribute__((noinline)) int put(struct op_builder *b, uint64_t pc,
					 struct op_unwind_rule rule,
					 struct op_unwind_rule after)
{
	uint64_t off = pc - b->base;
	int r;

	while (b->page < off >> OP_PAGE_SHIFT) {
		r = finish_page(b);
		if (r < 0)
			return r;
	}
	if (!b->rows.len && off % PAGE_BYTES) {
		r = add_row(b, 0, b->in_force);
		if (r < 0)
			return r;
	}
	b->in_force = after;
	return add_row(b, (uint16_t)(off % PAGE_BYTES), rule);
}

/* ---- runs ---- */

/* Returns @rule with another CFA. It is changed in a register, since reading single
 * fields that were stored back as one word would stall. */
static struct op_unwind_rule with_cfa(struct op_unwind_rule rule, uint8_t cfa,
				      uint32_t cfa_off)
{
	uint64_t word;

	memcpy(&word, &rule, sizeof(word));
	word = (word & (UINT32_MAX - UINT8_MAX)) | cfa | (uint64_t)cfa_off << 32;
	memcpy(&rule, &word, sizeof(rule));
	return rule;
}

static int flush_run(struct op_builder *b)
{
	struct op_builder_row *run = &b->run;
	struct op_unwind_rule rule = run->rule;
	uint8_t cfa = rule.cfa;

	if (!run->set)
		return 0;
	run->set = false;
	if (run->step)
		cfa = run->step > 0 ? OP_CFA_SP_PUSH : OP_CFA_SP_POP;
	/* Without steps these change nothing in the rule. */
	return put(b, run->pc,
		   with_cfa(rule, cfa, run->steps << 16 | (uint32_t)rule.cfa_off),
		   with_cfa(rule, rule.cfa, (uint32_t)run->now));
}

/* Do the rules differ only in the CFA's offset? Then their first halves are equal. */
static bool same_kind(struct op_unwind_rule a, struct op_unwind_rule b)
{
	uint32_t half_a;
	uint32_t half_b;

	memcpy(&half_a, &a, sizeof(half_a));
	memcpy(&half_b, &b, sizeof(half_b));
	return half_a == half_b;
}

/* Add the row to the run if it is equal or one more step. Returns false otherwise. */
static bool extend_run(struct op_builder *b, uint64_t pc, struct op_unwind_rule rule)
{
	struct op_builder_row *run = &b->run;
	uint64_t distance = pc - run->pc;
	int64_t step = (int64_t)rule.cfa_off - run->now;

	if (!run->set || !same_kind(rule, run->rule))
		return false;
	if (!step)
		return true;
	if ((step != STEP && step != -STEP) || rule.cfa != OP_CFA_SP ||
	    (run->step && run->step != step))
		return false;
	/* A run must not cross the end of a page: the next page would begin amid its
	 * steps. */
	if (!distance || distance > RUN_BYTES || (run->pc ^ pc) >> OP_PAGE_SHIFT)
		return false;
	if (!b->may_step || run->rule.cfa_off < 0 || run->rule.cfa_off > RUN_OFF_MAX)
		return false;
	run->steps |= 1u << (distance - 1);
	run->step = (int32_t)step;
	run->now = rule.cfa_off;
	return true;
}

/* Begin a run with the row that was kept back. Not inlined, since most rows extend a
 * run. */
static __attribute__((noinline)) int start_run(struct op_builder *b)
{
	int r = flush_run(b);

	if (r < 0)
		return r;
	b->run.set = true;
	b->run.pc = b->last.pc;
	b->run.rule = b->last.rule;
	b->run.now = b->last.rule.cfa_off;
	b->run.steps = 0;
	b->run.step = 0;
	b->may_step = op_unwind_rules_used(b->rules) < RUN_RULES_MAX &&
		      b->table->rules.numbers.len < RUN_SET_MAX;
	return 0;
}

/* Pass the row that was kept back on to the run. */
static inline int flush_last(struct op_builder *b)
{
	if (!b->last.set || extend_run(b, b->last.pc, b->last.rule)) {
		b->last.set = false;
		return 0;
	}
	b->last.set = false;
	return start_run(b);
}

static inline int add(struct op_builder *b, uint64_t pc, struct op_unwind_rule rule)
{
	if (!b->last.set || pc > b->last.pc) {
		int r = flush_last(b);

		if (r < 0)
			return r;
		b->last.pc = pc;
		b->last.set = true;
	}
	b->last.rule = rule;
	return 0;
}

/* ---- functions and gaps ---- */

static uint64_t segment_end(const struct op_builder *b)
{
	const struct op_unwind_table_segment *s = &b->table->segments[b->segment];

	return s->vaddr + s->memsz;
}

static bool is_first_of_function(struct op_unwind_rule rule)
{
	return rule.cfa == OP_CFA_SP && rule.cfa_off == STEP && !rule.save_off &&
	       (rule.save & (OP_SAVE_MASK | OP_SAVE_CHECK)) == OP_SAVE_CHECK;
}

/*
 * Nothing has called _start. If it is in a gap, it gets OP_UNWIND_RULE_STOP for
 * OP_UNWIND_TABLE_ENTRY_BYTES, or up to the next function if that is known and nearer.
 * Returns 1 if it covers the row at @pc, 0, or -errno.
 */
static int stop_at_entry(struct op_builder *b, uint64_t pc, struct op_unwind_rule rule)
{
	uint64_t after = b->entry + OP_UNWIND_TABLE_ENTRY_BYTES;
	int r;

	if (!b->stopping && pc < b->entry)
		return 0;
	if (!b->stopping) {
		b->stopping = true;
		r = add(b, b->entry, RULE_STOP);
		if (r < 0 || pc == b->entry)
			return r < 0 ? r : 1;
	}
	if (pc < after && !is_first_of_function(rule))
		return 1;
	b->entry = 0;
	return pc > after ? add(b, after, b->gap_rule) : 0;
}

int op_builder_gap_row(struct op_builder *b, uint64_t pc, struct op_unwind_rule rule)
{
	int r = 0;

	if (b->entry && b->entry >= b->gap_start && b->entry < b->gap_end)
		r = stop_at_entry(b, pc, rule);
	b->gap_rule = rule;
	return r ? OP_MIN(r, 0) : add(b, pc, rule);
}

/* No function covers [@start, @end): only the entry point and the code itself describe
 * it. */
static int add_gap(struct op_builder *b, uint64_t start, uint64_t end, bool padding)
{
	uint64_t size = end - start;
	struct op_unwind_rule rule =
		size >= OP_UNWIND_TABLE_GAP_FRAME ? RULE_FRAME : RULE_INVALID;
	bool has_entry = b->entry && b->entry >= start && b->entry < end;
	int r;

	if (!size || (padding && size <= OP_UNWIND_TABLE_PADDING_MAX && !has_entry))
		return 0;
	b->gap_start = start;
	b->gap_end = end;
	if (b->gap)
		r = b->gap(b->gap_data, b, start, end, rule);
	else
		r = op_builder_gap_row(b, start, rule);
	/* no row of the gap followed the entry point */
	if (r == 0 && has_entry && b->entry)
		r = stop_at_entry(b, end, rule);
	return OP_MIN(r, 0);
}

static int open_segment(struct op_builder *b)
{
	const struct op_unwind_table_segment *s = &b->table->segments[b->segment];
	uint64_t base = OP_ALIGN_DOWN(s->vaddr, (uint64_t)PAGE_BYTES);
	uint64_t pages = (s->vaddr + s->memsz - base + PAGE_BYTES - 1) >> OP_PAGE_SHIFT;

	assert(!b->pages && pages && pages <= OP_BUILDER_PAGES_MAX);
	b->pages = calloc(pages, sizeof(*b->pages));
	if (!b->pages)
		return -ENOMEM;
	b->page_count = (uint32_t)pages;
	b->page = 0;
	b->base = base;
	b->covered = s->vaddr;
	b->in_force = RULE_INVALID;
	b->rows.len = 0;
	b->open = true;
	return 0;
}

/* Make the remaining pages. */
static int finish_rows(struct op_builder *b)
{
	int r;

	r = add_gap(b, b->covered, segment_end(b), true);
	if (r == 0)
		r = flush_last(b);
	if (r == 0)
		r = flush_run(b);
	while (r == 0 && b->page < b->page_count)
		r = finish_page(b);
	return r;
}

/* Make the remaining pages and write their directory to the arena. */
static int finish_pages(struct op_builder *b, op_ref *ret)
{
	int r = finish_rows(b);

	return r < 0 ? r : publish(b, b->pages, b->page_count * sizeof(*b->pages), ret);
}

/*
 * The segment is complete: write its struct op_segment to the arena. Without functions
 * it is one gap if its code can be read or it has the entry point. Otherwise it has no
 * pages.
 */
static int close_segment(struct op_builder *b)
{
	struct op_unwind_table_segment *s = &b->table->segments[b->segment];
	struct op_segment segment = { 0 };
	int r = 0;

	segment.vaddr = OP_ALIGN_DOWN(s->vaddr, (uint64_t)PAGE_BYTES);
	if (!b->open && (b->gap || b->entry - s->vaddr < s->memsz))
		r = open_segment(b);
	if (r == 0 && b->open) {
		r = finish_pages(b, &segment.pages);
		segment.page_count = b->page_count;
	}
	if (r < 0)
		return r;
	r = publish(b, &segment, sizeof(segment), &s->segment);
	if (r < 0) {
		op_arena_release(b->arena, segment.pages,
				 segment.page_count * sizeof(*b->pages), 0);
		return r;
	}
	free(b->pages);
	b->pages = NULL;
	b->open = false;
	b->segment++;
	return 0;
}

int op_builder_function(struct op_builder *b, uint64_t start, uint64_t end)
{
	int r;

	while (b->segment < b->table->segments_len && start >= segment_end(b)) {
		r = close_segment(b);
		if (r < 0)
			return r;
	}
	if (b->segment == b->table->segments_len ||
	    start < b->table->segments[b->segment].vaddr)
		return 0;
	if (!b->open) {
		r = open_segment(b);
		if (r < 0)
			return r;
		r = add_gap(b, b->covered, start, false);
		if (r < 0)
			return r;
		b->covered = start;
	}
	end = OP_MIN(end, segment_end(b));
	if (end <= b->covered)
		return 0;
	if (start > b->covered) {
		r = add_gap(b, b->covered, start, true);
		if (r < 0)
			return r;
	}
	b->function = OP_MAX(start, b->covered);
	b->covered = end;
	return 1;
}

int op_builder_signal(struct op_builder *b, uint64_t start, uint64_t end)
{
	bool early = start && (!b->open || start > b->covered);
	int r;

	r = op_builder_function(b, start - early, end);
	if (r == 0 && early) /* the byte before it is not in the text */
		r = op_builder_function(b, start, end);
	if (r <= 0)
		return r;
	return op_builder_row(b, b->function,
			      (struct op_unwind_rule){ .cfa = OP_CFA_SIGNAL });
}

int op_builder_signal_forced(struct op_builder *b, uint64_t start, uint64_t end)
{
	bool early = b->open && b->covered == start && start > b->function + 1;
	int r;

	r = op_builder_function(b, start, end);
	if (r <= 0)
		return r;
	b->function -= early;
	return op_builder_row(b, b->function,
			      (struct op_unwind_rule){ .cfa = OP_CFA_SIGNAL });
}

int op_builder_row(struct op_builder *b, uint64_t pc, struct op_unwind_rule rule)
{
	if (pc >= b->covered)
		return 0; /* it is beyond the segment, at whose end the function was cut */
	return add(b, OP_MAX(pc, b->function), rule);
}

int op_builder_finish(struct op_builder *b)
{
	while (b->segment < b->table->segments_len) {
		int r = close_segment(b);

		if (r < 0)
			return r;
	}
	return 0;
}

int op_builder_finish_page(struct op_builder *b, struct op_page *ret)
{
	int r;

	if (!b->open)
		return 0;
	assert(b->page_count == 1);
	r = finish_rows(b);
	if (r < 0)
		return r;
	*ret = b->pages[0];
	b->page = 0; /* they are the caller's */
	return 1;
}
