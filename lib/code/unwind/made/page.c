/* SPDX-License-Identifier: Apache-2.0 */
#include "code/unwind/made/page.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "base/macros.h"
#include "code/unwind/builder.h"
#include "code/unwind/heights/heights.h"

enum {
	PAGE_BYTES = OP_MADE_PAGE_BYTES,
	BEFORE = OP_MADE_BEFORE,
	AFTER = OP_MADE_AFTER,
	WIDE = OP_HEIGHTS_FUNCTION_MAX, /* used in place of both if functions are large */
	READ_BYTES = 4096, /* blocks of code that cannot be read as a whole */
	BLOCKS = (WIDE + PAGE_BYTES + WIDE) / READ_BYTES + 1,
	/* Bytes before and after an address on which its rule depends. Larger functions
	 * that change only outside of these bytes are not noticed. */
	RULE_BEFORE = 4096,
	RULE_AFTER = 256,
};

/* Code of a process, as it was read. */
struct code {
	uint64_t from; /* address of bytes[0] */
	size_t len;
	bool unread[BLOCKS]; /* blocks that could not be read, from that of `from` on */
	uint8_t bytes[];
};

static struct code *code_new(size_t bytes)
{
	return malloc(sizeof(struct code) + bytes);
}

struct sink {
	struct op_builder *builder;
	uint64_t from;
	uint64_t end; /* of the page */
};

/* Read @code->len bytes from @code->from on. */
static void read_memory(const struct op_memory *memory, struct code *code)
{
	size_t done = 0;
	size_t block;

	memset(code->unread, 0, sizeof(code->unread));
	if (op_memory_read(memory, code->from, code->bytes, code->len) == 0)
		return;
	for (block = 0; done < code->len; block++) {
		size_t n = READ_BYTES - (code->from + done) % READ_BYTES;

		n = OP_MIN(n, code->len - done);
		code->unread[block] = op_memory_read(memory, code->from + done,
						     code->bytes + done, n) < 0;
		if (code->unread[block])
			memset(code->bytes + done, 0, n);
		done += n;
	}
}

/* The number of the piece of @page that has @addr. */
static size_t piece_of(const struct op_made_page *page, uint64_t addr)
{
	return (size_t)(addr + BEFORE - page->start) / OP_MADE_PIECE_BYTES;
}

/* Compute the hash of piece @i of @page, from the code of the process in @code. Returns
 * false if it could not be read. */
static bool hash_of(const struct op_made_page *page, const struct code *code, size_t i,
		    uint64_t *ret)
{
	uint64_t from = page->start - BEFORE + i * OP_MADE_PIECE_BYTES;
	uint64_t to = OP_MIN(from + OP_MADE_PIECE_BYTES, page->to);

	*ret = 0;
	from = OP_MAX(from, page->from);
	if (from >= to)
		return true;
	*ret = op_hash_bytes(code->bytes + (from - code->from), to - from,
			     page->reader->seed);
	return !code->unread[from / READ_BYTES - code->from / READ_BYTES];
}

static int read_code(void *data, size_t off, void *buf, size_t len)
{
	const struct code *code = data;

	memcpy(buf, code->bytes + off, len);
	return 0;
}

static const struct op_unwind_rule NO_RULE = { .cfa = OP_CFA_FRAME,
					       .save = OP_SAVE_CHECK };

static int on_rule(void *data, size_t off, struct op_unwind_rule rule)
{
	const struct sink *s = data;

	if (s->from + off >= s->end)
		return -ERANGE; /* the other rules are not needed */
	/* Made code that clears fp holds data there. */
	if (rule.cfa == OP_CFA_STOP || rule.cfa == OP_CFA_SIGNAL)
		rule = NO_RULE;
	return op_builder_row(s->builder, s->from + off, rule);
}

static int make_rows(struct op_made_page *page, struct code *code, bool amid,
		     struct op_unwind_table *table, struct op_page *ret)
{
	const struct op_heights_code from = { .read = read_code,
					      .data = code,
					      .len = code->len,
					      .addr = code->from,
					      .keep = true,
					      .made = true,
					      .amid = amid };
	_cleanup_(op_heights_freep) struct op_heights *heights = NULL;
	uint64_t start = OP_MAX(page->start, code->from);
	uint64_t end = OP_MIN(page->start + PAGE_BYTES, code->from + code->len);
	struct op_builder b;
	struct sink sink = { .builder = &b, .from = code->from, .end = end };
	int r;

	if (start >= end)
		return 0;
	table->segments_len = 1;
	table->segments[0] = (struct op_unwind_table_segment){ .vaddr = start,
							       .memsz = end - start,
							       .filesz = end - start };
	r = op_heights_new(&from, NO_RULE, &heights);
	if (r < 0)
		return r;
	op_builder_init(&b, table, page->reader->arena, page->reader->rules, 0);
	r = op_builder_function(&b, start, end);
	if (r > 0)
		r = op_heights_on(heights, NULL, on_rule, &sink);
	if (r == 0 || r == -ERANGE)
		r = op_builder_finish_page(&b, ret);
	op_builder_deinit(&b);
	op_unwind_rule_set_close(&table->rules);
	if (r > 0 && table->rules.full) {
		op_arena_release(page->reader->arena, ret->rows,
				 ret->count * sizeof(struct op_row), 0);
		r = -ENOSPC;
	}
	return r;
}

void op_made_rows_release(const struct op_made_reader *reader, struct op_made_rows *rows,
			  uint64_t now_ns)
{
	op_arena_release(reader->arena, rows->page.rows,
			 rows->page.count * sizeof(struct op_row), now_ns);
	op_unwind_rules_release(reader->rules, &rows->rules, now_ns);
	*rows = (struct op_made_rows){ 0 };
}

int op_made_page_read(struct op_made_page *page, uint64_t start, uint64_t end,
		      struct op_made_rows *ret)
{
	uint64_t before = OP_MIN(page->wide ? WIDE : BEFORE, page->start);
	uint64_t after = PAGE_BYTES + (page->wide ? WIDE : AFTER);
	uint64_t from = OP_MAX(page->start - before, start);
	uint64_t to = OP_MIN(page->start + after, end);
	_cleanup_free_ struct code *code = code_new(to - from);
	struct op_unwind_table table = { 0 };
	struct op_made_rows rows = { 0 };
	size_t i;
	int r;

	if (!code)
		return -ENOMEM;
	code->from = from;
	code->len = to - from;
	read_memory(page->reader->memory, code);
	r = make_rows(page, code, from > start, &table, &rows.page);
	rows.rules = table.rules;
	if (r <= 0) {
		op_made_rows_release(page->reader, &rows, 0);
		return r < 0 ? r : -ENODATA;
	}
	page->from = from;
	page->to = to;
	for (i = 0; i < OP_MADE_PIECES; i++)
		page->bad[i] = !hash_of(page, code, i, &page->hash[i]);
	*ret = rows;
	return 0;
}

bool op_made_page_has_rule(const struct op_made_page *page, uint64_t addr)
{
	const struct op_page *rows = &page->rows.page;
	const struct op_row *row = op_arena_at(page->reader->arena, rows->rows);
	uint32_t off = (uint32_t)(addr - page->start);
	size_t i = op_first_where(at, rows->count, row[at].pc > off);
	const struct op_unwind_rule *rule;

	rule = i ? op_unwind_rules_get(page->reader->rules, row[i - 1].rule) : NULL;
	return rule && rule->cfa != OP_CFA_INVALID && rule->cfa != OP_CFA_FRAME;
}

bool op_made_page_is_same(const struct op_made_page *page, uint64_t addr)
{
	size_t first = piece_of(page, addr - RULE_BEFORE);
	size_t last = piece_of(page, addr + RULE_AFTER);

	if (addr < page->from || addr >= page->to)
		return false; /* the mapping has grown */
	while (first <= last && !page->bad[first])
		first++;
	return first > last;
}

bool op_made_page_may_widen(const struct op_made_page *page, uint64_t addr,
			    uint64_t start, uint64_t end)
{
	return page->rows.page.count && !page->wide && !page->vain &&
	       (page->from > start || page->to < end) &&
	       !op_made_page_has_rule(page, addr);
}

int op_made_page_compare(struct op_made_page *page)
{
	size_t first = piece_of(page, page->hit_first - RULE_BEFORE);
	size_t last = piece_of(page, page->hit_last + RULE_AFTER);
	uint64_t from = page->start - BEFORE + first * OP_MADE_PIECE_BYTES;
	uint64_t to = page->start - BEFORE + (last + 1) * OP_MADE_PIECE_BYTES;
	_cleanup_free_ struct code *code = code_new(OP_MADE_CODE_BYTES);
	bool changed = false;

	if (!code)
		return -ENOMEM;
	from = OP_MAX(from, page->from);
	to = OP_MIN(to, page->to);
	if (from >= to)
		return 0;
	code->from = from;
	code->len = to - from;
	read_memory(page->reader->memory, code);
	for (; first <= last; first++) {
		uint64_t hash;

		if (page->bad[first] ||
		    (hash_of(page, code, first, &hash) && hash == page->hash[first]))
			continue;
		page->bad[first] = changed = true;
	}
	return changed;
}
