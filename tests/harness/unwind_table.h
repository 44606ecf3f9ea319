/* SPDX-License-Identifier: Apache-2.0 */
/* Makes an unwind table in one call, and finds a rule in it as the BPF programs do. */
#ifndef TEST_UNWIND_TABLE_H
#define TEST_UNWIND_TABLE_H

#include "code/unwind/table.h"

#include "op_arena.h"

static inline int make_unwind_table(struct op_elf *elf,
				    const struct op_unwind_table_loop *loop,
				    struct op_arena *arena, struct op_unwind_rules *rules,
				    struct op_log *log, struct op_unwind_table **ret)
{
	struct op_unwind_table_job *job = NULL;
	int r = op_unwind_table_job_new(elf, loop, arena, rules, log, &job);

	if (r == 0)
		r = op_unwind_table_job_run(job, NULL, ret);
	op_unwind_table_job_free(job);
	return r;
}

/* Runs of pushes and pops are resolved to OP_CFA_SP. Returns 1 and *@ret, or 0 if no row
 * covers the address. */
static inline int find_unwind_rule(const struct op_unwind_table *table,
				   struct op_arena *arena,
				   const struct op_unwind_rule *rules, uint64_t vaddr,
				   struct op_unwind_rule *ret)
{
	const struct op_unwind_table_segment *s = table->segments;
	const struct op_segment *segment;
	const struct op_page *page;
	const struct op_row *row;
	size_t i;

	for (i = 0; i < table->segments_len; i++, s++)
		if (vaddr >= s->vaddr && vaddr - s->vaddr < s->memsz)
			break;
	if (i == table->segments_len)
		return 0;
	segment = op_arena_at(arena, s->segment);
	if (!segment->page_count)
		return 0;
	page = op_arena_at(arena, segment->pages);
	page += (vaddr - segment->vaddr) >> OP_PAGE_SHIFT;
	if (!page->count)
		return 0;
	row = op_arena_at(arena, page->rows);
	/* the first row has pc 0 */
	for (i = page->count; i > 1 && row[i - 1].pc > (uint16_t)vaddr; i--)
		continue;
	row += i - 1;
	if (row->rule == OP_UNWIND_RULE_LATE) {
		*ret = (struct op_unwind_rule){ .cfa = OP_CFA_LATE };
		return 1;
	}
	*ret = rules[row->rule];
	if (ret->cfa == OP_CFA_SP_PUSH || ret->cfa == OP_CFA_SP_POP) {
		ret->cfa_off =
			op_cfa_stepped(ret->cfa, ret->cfa_off, (uint16_t)vaddr - row->pc);
		ret->cfa = OP_CFA_SP;
	}
	return 1;
}

#endif
