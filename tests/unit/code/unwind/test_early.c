/* SPDX-License-Identifier: Apache-2.0 */
/* Pages that are made before the table say what the table says, or nothing. The file is a library
 * with more functions than OP_UNWIND_EARLY_FDES_MIN. */
#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>
#include <time.h>

#include "code/elf/file.h"
#include "code/unwind/early/early.h"
#include "test.h"
#include "tools.h"
#include "unwind_table.h"

enum {
	PAGES = 100, /* that are made early, some of them twice */
	STEP = 7,    /* bytes from one address to the next */
	PAGE = 1 << OP_PAGE_SHIFT,
};

static const char LIBRARY[] = "libcrypto.so.3";

static struct {
	void *slabs[OP_SLABS_MAX];
	bool cannot_map;
	struct op_arena *arena;
	struct op_unwind_rule memory[OP_UNWIND_RULES_MAX];
	struct op_unwind_rules *rules;
	struct op_elf *elf;
	struct op_unwind_table *table;
	struct op_unwind_early *early;
	struct op_unwind_table view; /* the segments of the early pages */
} rig;

static int make_slab(void *ctx, uint32_t index, void **ret)
{
	*ret = rig.slabs[index] = calloc(1, OP_SLAB_BYTES);
	CHECK(*ret);
	return 0;
}

static int rest_slab(void *ctx, uint32_t index)
{
	return 0;
}

static int wake_slab(void *ctx, uint32_t index, void **ret)
{
	*ret = rig.slabs[index];
	return rig.cannot_map ? -ENOMEM : 0;
}

static void begin_file(const char *path)
{
	static const struct op_arena_ops ops = { .add_slab = make_slab,
						 .unmap_slab = rest_slab,
						 .map_slab = wake_slab };
	size_t i;

	CHECK_OK(op_arena_new(&ops, NULL, OP_SLAB_BYTES, &rig.arena));
	CHECK_OK(op_unwind_rules_new(rig.memory, OP_UNWIND_RULES_MAX, &rig.rules));
	CHECK_OK(op_elf_open_path(path, &rig.elf));
	CHECK_INT(op_unwind_early_new(rig.elf, NULL, rig.arena, rig.rules, &rig.early),
		  1);
	CHECK_OK(
		make_unwind_table(rig.elf, NULL, rig.arena, rig.rules, NULL, &rig.table));
	rig.view = *rig.table;
	for (i = 0; i < rig.view.segments_len; i++)
		rig.view.segments[i].segment =
			op_unwind_early_segment(rig.early, rig.view.segments[i].vaddr);
}

static void begin(void)
{
	void *library = dlopen(LIBRARY, RTLD_LAZY);
	struct link_map *map;

	if (!library || dlinfo(library, RTLD_DI_LINKMAP, &map) < 0)
		SKIP("no %s", LIBRARY);
	begin_file(map->l_name);
	CHECK_INT(dlclose(library), 0);
}

static void end(void)
{
	size_t i;

	(void)op_unwind_early_free(rig.early, 0);
	(void)op_unwind_table_free(rig.table, rig.arena, rig.rules, 0);
	op_elf_free(rig.elf);
	op_unwind_rules_free(rig.rules);
	op_arena_free(rig.arena);
	for (i = 0; i < OP_SLABS_MAX; i++)
		free(rig.slabs[i]);
	memset(&rig, 0, sizeof(rig));
}

/* Zeros where there is none. */
static struct op_unwind_rule rule_of(const struct op_unwind_table *table, uint64_t vaddr)
{
	struct op_unwind_rule rule = { 0 };

	(void)find_unwind_rule(table, rig.arena, rig.memory, vaddr, &rule);
	return rule;
}

static bool is_late(uint64_t vaddr)
{
	return rule_of(&rig.view, vaddr).cfa == OP_CFA_LATE;
}

/* Returns how many addresses of the page have a rule. */
static size_t check_page(uint64_t vaddr)
{
	const struct op_unwind_table_segment *s = rig.view.segments;
	uint64_t at = OP_MAX(vaddr & ~(uint64_t)(PAGE - 1), s->vaddr);
	uint64_t end = OP_MIN((vaddr | (PAGE - 1)) + 1, s->vaddr + s->memsz);
	size_t known = 0;

	for (; at < end; at += STEP) {
		struct op_unwind_rule early = rule_of(&rig.view, at);
		struct op_unwind_rule whole = rule_of(rig.table, at);

		if (early.cfa == OP_CFA_LATE)
			continue;
		CHECK(!memcmp(&early, &whole, sizeof(early)));
		known++;
	}
	return known;
}

static void test_pages_equal_the_table(void)
{
	unsigned int seed = (unsigned int)time(NULL);
	const struct op_unwind_table_segment *s;
	size_t known = 0;
	uint64_t vaddr;
	int made = 0;
	int i, r;

	begin();
	printf("seed %u\n", seed);
	srandom(seed);
	s = rig.view.segments;
	for (i = 0; i < PAGES; i++) {
		vaddr = s->vaddr + (uint64_t)random() % s->memsz;
		r = op_unwind_early_page(rig.early, vaddr, 0);
		CHECK(r == 0 || r == 1);
		if (!r)
			continue; /* code without an FDE */
		CHECK_INT(op_unwind_early_page(rig.early, vaddr, 0), 1); /* it is there */
		known += check_page(vaddr);
		made++;
	}
	CHECK(made > PAGES / 2);
	/* not many bytes are between functions */
	CHECK(known > (size_t)made * PAGE / STEP / 2);
	end();
}

static void test_missing_pages_are_late(void)
{
	const struct op_unwind_table_segment *s;

	begin();
	s = rig.view.segments;
	CHECK(is_late(s->vaddr + s->memsz / 2));
	CHECK_INT(op_unwind_early_page(rig.early, s->vaddr - 1, 0), 0);
	CHECK_INT(op_unwind_early_page(rig.early, UINT64_MAX, 0), 0);
	CHECK_INT(op_unwind_early_page(rig.early, s->vaddr + s->memsz / 2, 0), 1);
	CHECK(is_late(s->vaddr + s->memsz / 2 + PAGE));
	end();
}

static void test_the_table_takes_their_places(void)
{
	const struct op_unwind_table_segment *s;
	struct op_unwind_rule *before;
	uint64_t at;
	size_t n = 0;

	begin();
	s = rig.view.segments;
	before = calloc(s->memsz / STEP + 1, sizeof(*before));
	CHECK(before);
	for (at = 0; at < s->memsz; at += STEP)
		before[n++] = rule_of(rig.table, s->vaddr + at);
	CHECK_INT(op_unwind_early_page(rig.early, s->vaddr + s->memsz / 2, 0), 1);
	op_unwind_early_complete(rig.early, rig.table, 0);
	rig.early = op_unwind_early_free(rig.early, 0);
	/* those that programs hold are the table's now */
	CHECK_INT(rig.table->segments[0].segment, s->segment);
	for (n = 0, at = 0; at < s->memsz; at += STEP, n++) {
		struct op_unwind_rule now = rule_of(&rig.view, s->vaddr + at);

		CHECK(!memcmp(&before[n], &now, sizeof(now)));
	}
	free(before);
	end();
}

static void test_without_a_table_callers_are_guessed(void)
{
	const struct op_unwind_table_segment *s;
	uint64_t made;

	begin();
	s = rig.view.segments;
	made = s->vaddr + s->memsz / 2;
	CHECK_INT(op_unwind_early_page(rig.early, made, 0), 1);
	op_unwind_early_give_up(rig.early, 0);
	CHECK(op_unwind_early_is_over(rig.early));
	CHECK_INT(op_unwind_early_page(rig.early, made + PAGE, 0), 0);
	CHECK(check_page(made) > 0);
	CHECK(!is_late(made + PAGE));
	end();
}

/* In the child of a fork, which frees its objects. */
static void test_memory_that_cannot_be_mapped(void)
{
	struct op_unwind_table_segment *s;

	begin();
	s = &rig.view.segments[0];
	CHECK_INT(op_unwind_early_page(rig.early, s->vaddr, 0), 1);
	op_arena_rest(rig.arena);
	rig.cannot_map = true;
	CHECK_INT(op_unwind_early_page(rig.early, s->vaddr, 0), 0);
	op_unwind_early_give_up(rig.early, 0);
	op_unwind_early_complete(rig.early, rig.table, 0);
	end();
}

/* Two pages and more of functions of 16 bytes. */
__asm__(".pushsection .text\n"
	".balign 16\n"
	"dense:\n"
	".rept 9000\n"
	".cfi_startproc\n"
	"nop\n"
	".cfi_def_cfa_offset 48\n"
	"nop\n"
	".cfi_def_cfa_offset 96\n"
	".balign 16\n"
	".cfi_endproc\n"
	".endr\n"
	".popsection\n");
extern const char dense[];

/* The ELF address of the first whole page of those functions. */
static uint64_t begin_dense(void)
{
	void *self = dlopen(NULL, RTLD_LAZY);
	struct link_map *map;

	CHECK(self && dlinfo(self, RTLD_DI_LINKMAP, &map) == 0);
	begin_file("/proc/self/exe");
	CHECK_INT(dlclose(self), 0);
	return ((uint64_t)(uintptr_t)dense - map->l_addr + PAGE - 1) &
	       ~(uint64_t)(PAGE - 1);
}

/* What was hit is there before the page, the page before the third block. */
static void test_dense_pages_come_in_blocks(void)
{
	uint64_t page = begin_dense();
	struct op_arena_stats stats;
	size_t known;

	CHECK_INT(op_unwind_early_page(rig.early, page + 5, 1), 1);
	known = check_page(page);
	CHECK(known > 0 && known < PAGE / STEP / 4);
	CHECK(!is_late(page + 5) && is_late(page + PAGE / 2) && is_late(page + PAGE - 5));
	CHECK_INT(op_unwind_early_page(rig.early, page + PAGE / 2, 1), 1);
	CHECK(check_page(page) > known);
	CHECK(!is_late(page + 5) && !is_late(page + PAGE / 2));
	CHECK(is_late(page + PAGE / 4) && is_late(page + PAGE - 5));
	CHECK_INT(op_unwind_early_page(rig.early, page + PAGE / 4, 1), 1);
	CHECK_INT(check_page(page), (PAGE + STEP - 1) / STEP);
	/* programs may still read the earlier rows */
	op_arena_get_stats(rig.arena, &stats);
	CHECK(stats.grace_bytes > 0);
	end();
}

static void test_blocks_without_a_table(void)
{
	uint64_t page = begin_dense();

	CHECK_INT(op_unwind_early_page(rig.early, page, 1), 1);
	CHECK(is_late(page + PAGE / 2));
	op_unwind_early_give_up(rig.early, 1);
	CHECK(!is_late(page) && !is_late(page + PAGE / 2));
	end();
}

static bool is_guess(uint64_t vaddr)
{
	struct op_unwind_rule rule = { .cfa = OP_CFA_FRAME };

	return !find_unwind_rule(&rig.view, rig.arena, rig.memory, vaddr, &rule) ||
	       (rule.cfa == OP_CFA_FRAME && rule.save == OP_SAVE_CHECK);
}

/* Make a library of @text and, without FDEs, of functions of 16 bytes that push a word at 1:
 * @times, and again behind code that fills the rest. */
static void make_sparse(const char *name, const char *text, int times)
{
	FILE *out = fopen(tools_path("a.S"), "we");

	CHECK(out);
	CHECK(fprintf(out,
		      "%s\n.macro functions\n.balign 16\n.rept %d\n"
		      "push %%rbx; nop; nop; pop %%rbx; ret\n.balign 16, 0xcc\n.endr\n"
		      ".endm\nfunctions\n.skip %d, 0x90\nfunctions\n"
		      ".section .note.GNU-stack,\"\",@progbits\n",
		      text, times, OP_UNWIND_EARLY_CODE_MIN) > 0);
	CHECK_OK(fclose(out));
	TOOLS_RUN("gcc -shared -nostdlib -Wl,--eh-frame-hdr -o %s a.S && rm a.S", name);
	begin_file(tools_path(name));
}

/* The height of the stack at @vaddr according to the early pages. */
static int height_at(uint64_t vaddr)
{
	struct op_unwind_rule rule = rule_of(&rig.view, vaddr);
	bool run = rule.cfa == OP_CFA_SP_PUSH || rule.cfa == OP_CFA_SP_POP;

	return rule.cfa == OP_CFA_SP || run ? rule.cfa_off : 0;
}

enum {
	SPARSE_TIMES = 0x2000, /* two pages */
};

/* Two gaps without FDEs, in more code than can be read soon: what is hit first has its rules
 * first, although it comes last. */
static void check_hit_first(uint64_t first, uint64_t second)
{
	CHECK(is_late(first + 1) && is_late(second + 1));
	CHECK_INT(op_unwind_early_page(rig.early, second + 1, 0), 1);
	CHECK_INT(height_at(second), 8);
	CHECK_INT(height_at(second + 1), 16);
	CHECK(is_late(first + 1));
	CHECK_INT(op_unwind_early_page(rig.early, first + 1, 0), 1);
	CHECK_INT(height_at(first + 1), 16);
}

static void test_gaps_are_read_where_they_are_hit(void)
{
	static const char text[] =
		".text\n.globl f\nf: .cfi_startproc\nnop\n.cfi_def_cfa_offset 48\n"
		".skip 100, 0x90\n.cfi_endproc\n.balign 0x1000";
	uint64_t low;
	uint64_t high;

	TOOLS_NEED("gcc");
	make_sparse("sparse.so", text, SPARSE_TIMES);
	low = rig.view.segments[0].vaddr;
	high = low + rig.view.segments[0].memsz;
	check_hit_first(low + 0x1000 + PAGE, (high & ~UINT64_C(15)) - PAGE);
	/* a page with an FDE and a gap */
	CHECK_INT(op_unwind_early_page(rig.early, low, 0), 1);
	CHECK_INT(height_at(low + 8), 48);
	CHECK_INT(height_at(low + 0x1001), 16);
	end();
}

/* The same without any FDE, as after objcopy(1). */
static void test_no_unwind_data(void)
{
	uint64_t low;
	uint64_t high;

	TOOLS_NEED("gcc");
	make_sparse("none.so", ".text\n.balign 0x1000", SPARSE_TIMES);
	CHECK(!op_elf_section(rig.elf, ".eh_frame_hdr"));
	low = rig.view.segments[0].vaddr;
	high = low + rig.view.segments[0].memsz;
	check_hit_first(low + PAGE, (high & ~UINT64_C(15)) - PAGE);
	end();
}

/* The same for a page of many functions in such code: what was not hit is late, and not
 * guessed. */
static void test_little_unwind_data_and_dense(void)
{
	FILE *out;
	uint64_t at;

	TOOLS_NEED("gcc");
	out = fopen(tools_path("a.S"), "we");
	CHECK(out);
	CHECK(fprintf(out,
		      ".text\n.balign 0x10000\n.rept 3840\n.cfi_startproc\nnop\n"
		      ".cfi_def_cfa_offset 48\n.balign 16\n.cfi_endproc\n.endr\n"
		      ".skip %d, 0x90\n.section .note.GNU-stack,\"\",@progbits\n",
		      2 * OP_UNWIND_EARLY_CODE_MIN) > 0);
	CHECK_OK(fclose(out));
	TOOLS_RUN("gcc -shared -nostdlib -Wl,--eh-frame-hdr -o dense.so a.S && rm a.S");
	begin_file(tools_path("dense.so"));
	at = (rig.view.segments[0].vaddr + PAGE - 1) & ~(uint64_t)(PAGE - 1);
	CHECK(is_late(at + 4 * PAGE)); /* without FDEs */
	CHECK_INT(op_unwind_early_page(rig.early, at + 4 * PAGE, 0), 1);
	CHECK(is_guess(at + 4 * PAGE)); /* no function begins there */
	CHECK(is_late(at + 1));
	CHECK_INT(op_unwind_early_page(rig.early, at + 1, 0), 1);
	CHECK(rule_of(&rig.view, at + 1).cfa == OP_CFA_SP);
	CHECK(is_late(at + PAGE / 2 + 1));
	CHECK_INT(op_unwind_early_page(rig.early, at + PAGE / 2 + 1, 0), 1);
	CHECK(rule_of(&rig.view, at + 1).cfa == OP_CFA_SP);
	CHECK(rule_of(&rig.view, at + PAGE / 2 + 1).cfa == OP_CFA_SP);
	end();
	/* the last block of the page has no FDE */
	begin_file(tools_path("dense.so"));
	CHECK_INT(op_unwind_early_page(rig.early, at + PAGE - 1, 0), 1);
	CHECK(is_guess(at + PAGE - 1));
	CHECK(rule_of(&rig.view, at + 1).cfa == OP_CFA_SP);
	end();
}

TEST_MAIN({ "pages_equal_the_table", test_pages_equal_the_table },
	  { "missing_pages_are_late", test_missing_pages_are_late },
	  { "the_table_takes_their_places", test_the_table_takes_their_places },
	  { "without_a_table_callers_are_guessed",
	    test_without_a_table_callers_are_guessed },
	  { "dense_pages_come_in_blocks", test_dense_pages_come_in_blocks },
	  { "blocks_without_a_table", test_blocks_without_a_table },
	  { "gaps_are_read_where_they_are_hit", test_gaps_are_read_where_they_are_hit },
	  { "no_unwind_data", test_no_unwind_data },
	  { "little_unwind_data_and_dense", test_little_unwind_data_and_dense },
	  { "memory_that_cannot_be_mapped", test_memory_that_cannot_be_mapped })
