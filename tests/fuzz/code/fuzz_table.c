/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unwind tables of an ELF image: .eh_frame with its search table, .debug_frame and
 * .gopclntab, down to the pages in the arena.
 */
#include <stdlib.h>
#include <string.h>

#include "code/elf/file.h"
#include "code/unwind/source.h"
#include "unwind_table.h"

enum {
	RULES_FIRST = 3, /* that every table of rules has */
	SLABS = 4,
	LOOKUPS = 64,
};

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int make_slab(void *ctx, uint32_t index, void **ret)
{
	void **slabs = ctx;

	*ret = slabs[index] = calloc(1, OP_SLAB_BYTES);
	return *ret ? 0 : -1;
}

/* What the programs rely on: a page begins with a row of pc 0, rows ascend, rules exist. */
static void check_segment(struct op_arena *arena, const struct op_unwind_rules *rules,
			  const struct op_unwind_table_segment *s)
{
	const struct op_segment *segment = op_arena_at(arena, s->segment);
	const struct op_page *pages;
	uint32_t i;
	uint32_t j;

	if (!segment->page_count)
		return;
	pages = op_arena_at(arena, segment->pages);
	for (i = 0; i < segment->page_count; i++) {
		const struct op_row *rows = op_arena_at(arena, pages[i].rows);

		if (!pages[i].count || rows[0].pc)
			abort();
		for (j = 0; j < pages[i].count; j++) {
			if (rows[j].rule >= op_unwind_rules_len(rules) ||
			    (j && rows[j].pc <= rows[j - 1].pc))
				abort();
		}
	}
}

/* Rules of single addresses: any that are, or none. */
static void check_direct(struct op_elf *elf, const struct op_unwind_table *table)
{
	_cleanup_(op_source_direct_freep) struct op_source_direct *direct = NULL;
	struct op_unwind_rule rule;
	uint64_t n;
	size_t i;

	if (op_source_direct_new(elf, &direct) <= 0)
		return;
	for (i = 0; i < table->segments_len; i++)
		for (n = 0; n < LOOKUPS; n++)
			if (op_source_direct_find(direct,
						  table->segments[i].vaddr +
							  table->segments[i].memsz /
								  LOOKUPS * n,
						  &rule) > 0 &&
			    (rule.cfa >= OP_CFA_MAX ||
			     (rule.save & OP_SAVE_MASK) >= OP_SAVE_MAX))
				abort();
}

static void check(struct op_elf *elf, struct op_arena *arena,
		  struct op_unwind_rules *rules, const struct op_unwind_rule *memory)
{
	struct op_arena_stats stats;
	struct op_unwind_table *table = NULL;
	size_t i;

	if (make_unwind_table(elf, NULL, arena, rules, NULL, &table) == 0) {
		for (i = 0; i < table->segments_len; i++) {
			const struct op_unwind_table_segment *s = &table->segments[i];
			struct op_unwind_rule rule;
			uint64_t n;

			check_segment(arena, rules, s);
			for (n = 0; n < LOOKUPS; n++) {
				if (find_unwind_rule(table, arena, memory,
						     s->vaddr + s->memsz / LOOKUPS * n,
						     &rule) &&
				    (rule.cfa >= OP_CFA_MAX ||
				     (rule.save & OP_SAVE_MASK) >= OP_SAVE_MAX))
					abort();
			}
		}
		check_direct(elf, table);
	}
	op_unwind_table_free(table, arena, rules, 0);
	op_arena_get_stats(arena, &stats);
	if (stats.used_bytes || op_unwind_rules_used(rules) != RULES_FIRST)
		abort();
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const struct op_arena_ops ops = { .add_slab = make_slab };
	struct op_unwind_rule *memory = calloc(OP_UNWIND_RULES_MAX, sizeof(*memory));
	_cleanup_(op_arena_freep) struct op_arena *arena = NULL;
	_cleanup_(op_unwind_rules_freep) struct op_unwind_rules *rules = NULL;
	_cleanup_(op_elf_freep) struct op_elf *elf = NULL;
	void *slabs[SLABS] = { 0 };
	void *copy = malloc(size + !size);
	size_t i;

	if (copy && size)
		memcpy(copy, data, size);
	if (copy && op_elf_open_bytes(copy, size, &elf) < 0)
		free(copy);
	if (elf && memory &&
	    op_arena_new(&ops, slabs, sizeof(slabs) / sizeof(slabs[0]) * OP_SLAB_BYTES,
			 &arena) == 0 &&
	    op_unwind_rules_new(memory, OP_UNWIND_RULES_MAX, &rules) == 0)
		check(elf, arena, rules, memory);
	for (i = 0; i < SLABS; i++)
		free(slabs[i]);
	free(memory);
	return 0;
}
