/* SPDX-License-Identifier: Apache-2.0 */
/* The table of a file that a test builds, in an arena of plain memory. */
#ifndef TEST_TABLE_RIG_H
#define TEST_TABLE_RIG_H

#include "code/elf/file.h"

#include "../elf/builder.h"
#include "cfi_bytes.h"
#include "unwind_table.h"

struct rig {
	struct builder b;
	void *slabs[OP_SLABS_MAX];
	struct op_arena *arena;
	struct op_unwind_rule memory[OP_UNWIND_RULES_MAX];
	struct op_unwind_rules *rules;
	struct op_elf *elf;
	struct op_unwind_table *table;
};

static struct rig rig;

static inline int rig_make_slab(void *ctx, uint32_t index, void **ret)
{
	*ret = rig.slabs[index] = calloc(1, OP_SLAB_BYTES);
	CHECK(*ret);
	return 0;
}

/* Begin a file of @machine. */
static inline void rig_begin(uint16_t machine)
{
	rig = (struct rig){ .table = NULL };
	builder_init(&rig.b);
	rig.b.machine = machine;
}

/* Where the next section will stand. */
static inline uint64_t rig_next_address(void)
{
	return BUILDER_BASE + ((rig.b.len + 15) & ~(size_t)15);
}

/* The file is whole: make its table. */
static inline void rig_finish(void)
{
	static const struct op_arena_ops ops = { .add_slab = rig_make_slab };

	builder_finish(&rig.b);
	CHECK_OK(op_arena_new(&ops, NULL, OP_SLAB_BYTES, &rig.arena));
	CHECK_OK(op_unwind_rules_new(rig.memory, OP_UNWIND_RULES_MAX, &rig.rules));
	CHECK_OK(op_elf_open_bytes(builder_copy(&rig.b), rig.b.len, &rig.elf));
	CHECK_OK(
		make_unwind_table(rig.elf, NULL, rig.arena, rig.rules, NULL, &rig.table));
}

/* The rule at an ELF address; zeros where there is none. */
static inline struct op_unwind_rule rig_rule(uint64_t at)
{
	struct op_unwind_rule rule = { 0 };

	(void)find_unwind_rule(rig.table, rig.arena, rig.memory, at, &rule);
	return rule;
}

static inline void rig_end(void)
{
	size_t i;

	op_unwind_table_free(rig.table, rig.arena, rig.rules, 0);
	op_elf_free(rig.elf);
	op_unwind_rules_free(rig.rules);
	op_arena_free(rig.arena);
	for (i = 0; i < OP_SLABS_MAX; i++)
		free(rig.slabs[i]);
}

#endif
