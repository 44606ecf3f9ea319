/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A tool for people: what the unwind tables of the files named cost. With -q, for
 * check_table.py: the rules of one file at the addresses on stdin (hexadecimal); what is told
 * of each address without the table is the same.
 */
#include <sys/resource.h>

#include "base/io.h"
#include "code/elf/file.h"
#include "code/unwind/source.h"

#include "test.h"
#include "unwind_table.h"

static void *slabs[OP_SLABS_MAX];

static int make_slab(void *ctx, uint32_t index, void **ret)
{
	*ret = slabs[index] = calloc(1, OP_SLAB_BYTES);
	return *ret ? 0 : -ENOMEM;
}

static const struct op_arena_ops ops = { .add_slab = make_slab };
static struct op_unwind_rule memory[OP_UNWIND_RULES_MAX];

static long peak_kb(void)
{
	struct rusage u;

	(void)getrusage(RUSAGE_SELF, &u);
	return u.ru_maxrss;
}

static bool same(const struct op_unwind_rule *a, const struct op_unwind_rule *b)
{
	const uint8_t mask = OP_SAVE_MASK | OP_SAVE_CHECK;

	return a->cfa == b->cfa && a->cfa_off == b->cfa_off &&
	       (a->save & mask) == (b->save & mask) && a->save_off == b->save_off;
}

static void query(struct op_elf *elf, const struct op_unwind_table *table,
		  struct op_arena *arena)
{
	struct op_source_direct *direct = NULL;
	uint64_t told = 0;
	uint64_t asked = 0;
	uint64_t at;

	CHECK(op_source_direct_new(elf, &direct) == !!op_elf_section(elf, ".eh_frame"));
	while (scanf("%" SCNx64, &at) == 1) {
		struct op_unwind_rule r = { 0 };
		struct op_unwind_rule alone = { 0 };
		int found = find_unwind_rule(table, arena, memory, at, &r);
		int i;

		for (i = 0; i < 2; i++) { /* the second time it is known */
			int known =
				direct ? op_source_direct_find(direct, at, &alone) : 0;

			CHECK(known >= 0);
			told += known > 0;
			asked++;
			if (known && !same(&alone, &r)) {
				(void)fprintf(stderr, "%" PRIx64 ": %d %d %d %d\n", at,
					      alone.cfa, alone.cfa_off, alone.save,
					      alone.save_off);
				exit(1);
			}
		}
		printf("%d %d %d %d %d\n", found, r.cfa, r.cfa_off,
		       r.save & (OP_SAVE_MASK | OP_SAVE_CHECK), r.save_off);
	}
	CHECK(!direct || told > asked / 2);
	op_source_direct_free(direct);
}

int main(int argc, char **argv)
{
	bool is_query = argc > 1 && strcmp(argv[1], "-q") == 0;
	struct op_arena *arena = NULL;
	struct op_unwind_rules *rules = NULL;
	struct op_unwind_table *table = NULL;
	int i;

	CHECK_OK(op_arena_new(&ops, NULL, UINT64_C(1) << 30, &arena));
	CHECK_OK(op_unwind_rules_new(memory, OP_UNWIND_RULES_MAX, &rules));
	for (i = 1 + is_query; i < argc; i++) {
		struct op_elf *elf = NULL;
		uint64_t start;
		long peak = peak_kb();

		if (op_elf_open_path(argv[i], &elf) < 0) {
			(void)fprintf(stderr, "%s: not an ELF file that is read here\n",
				      argv[i]);
			continue;
		}
		start = op_clock_monotonic_ns();
		if (is_query) {
			CHECK_OK(
				make_unwind_table(elf, NULL, arena, rules, NULL, &table));
			query(elf, table, arena);
		} else {
			CHECK_OK(
				make_unwind_table(elf, NULL, arena, rules, NULL, &table));
			printf("%s: %.1f ms, %" PRIu64 " rows, %" PRIu64
			       " arena bytes, %" PRIu64 " FDEs, %" PRIu64 " bad, %" PRIu64
			       " inexpressible, %zu rules, peak +%ld KiB\n",
			       argv[i], (double)(op_clock_monotonic_ns() - start) / 1e6,
			       table->rows, table->arena_bytes, table->fdes,
			       table->bad_fdes, table->inexpressible,
			       op_unwind_rules_len(rules), peak_kb() - peak);
		}
		op_elf_free(elf);
		op_unwind_table_free(table, arena, rules, 0);
	}
	op_unwind_rules_free(rules);
	op_arena_free(arena);
	for (i = 0; i < OP_SLABS_MAX; i++)
		free(slabs[i]);
	return 0;
}
