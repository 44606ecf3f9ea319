/* SPDX-License-Identifier: Apache-2.0 */
#include "unwind/table.h"

#include <elf.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/macros.h"
#include "unwind/builder.h"
#include "unwind/source.h"

/* The executable segments of @elf. */
static int find_segments(struct op_elf *elf, struct op_table *table)
{
	size_t len = 0;
	const struct op_elf_segment *s = op_elf_segments(elf, &len);
	uint64_t text = op_elf_data(elf) * OP_TABLE_TEXT_FACTOR + OP_TABLE_TEXT_MORE;
	uint64_t last_end = 0;
	size_t i;

	for (i = 0; i < len && table->segments_len < OP_TABLE_SEGMENTS_MAX; i++) {
		/* What is in memory alone has no code of the file. */
		uint64_t size = OP_MIN(s[i].memsz, s[i].filesz);
		uint64_t end;

		if (s[i].type != PT_LOAD || !(s[i].flags & PF_X) || !size)
			continue;
		/* The ELF specification wants them in ascending order. */
		if (s[i].vaddr < last_end || op_add_overflow(s[i].vaddr, size, &end) ||
		    (size >> OP_PAGE_SHIFT) + 2 > OP_BUILDER_PAGES_MAX || size > text)
			continue;
		last_end = end;
		text -= size;
		table->segments[table->segments_len++] = (struct op_table_segment){
			.vaddr = s[i].vaddr,
			.memsz = size,
			.offset = s[i].offset,
			.filesz = s[i].filesz,
		};
	}
	return 0;
}

/* Note the loop in the segments that have it. */
static void set_loop(const struct op_table *table, struct op_arena *arena,
		     const struct op_table_loop *loop)
{
	size_t i;
	size_t j;

	for (i = 0; i < table->segments_len; i++) {
		const struct op_table_segment *s = &table->segments[i];
		struct op_segment *segment = op_arena_at(arena, s->segment);

		for (j = 0; j < OP_MIN(loop->count, OP_ARRAY_SIZE(loop->range)); j++) {
			if (loop->range[j][0] < s->vaddr ||
			    loop->range[j][0] - s->vaddr >= s->memsz)
				continue;
			segment->runtime = loop->runtime;
			memcpy(segment->loop[segment->loop_count++], loop->range[j],
			       sizeof(loop->range[j]));
		}
	}
}

/* One go over the file. */
static int make_table(struct op_elf *elf, struct op_arena *arena, struct op_rules *rules,
		      bool keep, struct op_log *log, struct op_table **ret)
{
	struct op_table *table = calloc(1, sizeof(*table));
	struct op_builder builder;
	uint64_t entry = op_elf_type(elf) == ET_REL ? 0 : op_elf_entry(elf);
	int r;

	if (!table)
		return -ENOMEM;
	r = find_segments(elf, table);
	op_builder_init(&builder, table, arena, rules, entry);
	if (r == 0)
		r = op_source_all(elf, &builder, keep, log);
	op_builder_deinit(&builder);
	/* A table of which rules are missing for others' sake: there may be room later. */
	if (r == 0 && table->rules.full)
		r = -ENOSPC;
	op_rule_set_close(&table->rules);
	if (r < 0) {
		op_table_free(table, arena, rules, 0);
		return r;
	}
	*ret = table;
	return 0;
}

int op_table_new(struct op_elf *elf, const struct op_table_loop *loop,
		 struct op_arena *arena, struct op_rules *rules, struct op_log *log,
		 struct op_table **ret)
{
	struct op_table *table = NULL;
	struct op_table *keeping = NULL;
	int r;

	r = make_table(elf, arena, rules, false, log, &table);
	if (r < 0)
		return r;
	/* Rows that follow a register are more: only where somebody needs it. */
	if (table->wants_kept && table->fdes <= OP_TABLE_KEEP_FDES_MAX &&
	    make_table(elf, arena, rules, true, log, &keeping) == 0) {
		op_table_free(table, arena, rules, 0);
		table = keeping;
	}
	if (loop && loop->runtime)
		set_loop(table, arena, loop);
	*ret = table;
	return 0;
}

static void release_segment(struct op_arena *arena, op_ref ref, uint64_t now_ns)
{
	struct op_segment segment;
	const struct op_page *pages;
	uint32_t i;

	if (!ref)
		return;
	memcpy(&segment, op_arena_at(arena, ref), sizeof(segment));
	if (segment.pages) {
		pages = op_arena_at(arena, segment.pages);
		for (i = 0; i < segment.page_count; i++)
			op_arena_release(arena, pages[i].rows,
					 pages[i].count * sizeof(struct op_row), now_ns);
		op_arena_release(arena, segment.pages,
				 segment.page_count * sizeof(struct op_page), now_ns);
	}
	op_arena_release(arena, ref, sizeof(segment), now_ns);
}

struct op_table *op_table_free(struct op_table *table, struct op_arena *arena,
			       struct op_rules *rules, uint64_t now_ns)
{
	size_t i;

	if (!table)
		return NULL;
	for (i = 0; i < table->segments_len; i++)
		release_segment(arena, table->segments[i].segment, now_ns);
	op_rules_release(rules, &table->rules, now_ns);
	free(table);
	return NULL;
}

/* The last row at or before @pc. @rows begins at pc 0. */
static const struct op_row *find_row(const struct op_row *rows, uint32_t len, uint16_t pc)
{
	uint32_t found = 0;
	uint32_t end = len;

	while (end - found > 1) {
		uint32_t mid = found + (end - found) / 2;

		if (rows[mid].pc <= pc)
			found = mid;
		else
			end = mid;
	}
	return &rows[found];
}

int op_table_lookup(const struct op_table *table, struct op_arena *arena,
		    const struct op_rule *rules, uint64_t vaddr, struct op_rule *ret)
{
	const struct op_table_segment *s = table->segments;
	const struct op_segment *segment;
	const struct op_page *page;
	const struct op_row *row;
	struct op_rule rule;
	size_t i;

	for (i = 0; i < table->segments_len; i++, s++) {
		if (vaddr >= s->vaddr && vaddr - s->vaddr < s->memsz)
			break;
	}
	if (i == table->segments_len)
		return 0;
	segment = op_arena_at(arena, s->segment);
	if (!segment->page_count)
		return 0;
	page = op_arena_at(arena, segment->pages);
	page += (vaddr - segment->vaddr) >> OP_PAGE_SHIFT;
	row = find_row(op_arena_at(arena, page->rows), page->count, (uint16_t)vaddr);
	rule = rules[row->rule];
	if (rule.cfa == OP_CFA_SP_PUSH || rule.cfa == OP_CFA_SP_POP) {
		rule.cfa_off =
			op_cfa_stepped(rule.cfa, rule.cfa_off, (uint16_t)vaddr - row->pc);
		rule.cfa = OP_CFA_SP;
	}
	*ret = rule;
	return 1;
}
