/* SPDX-License-Identifier: Apache-2.0 */
/* Mappings against a model: an array with a page's owner and file offset for each page. */
#include "process/mappings/mappings.h"

#include <errno.h>

#include "base/hash.h"
#include "code/unwind/arena.h"
#include "process/image/executable.h"
#include "process/image/image.h"
#include "process/mappings/changes.h"
#include "test.h"

enum {
	PAGES = 256,
	PAGE = 2 << 20, /* a large one */
	FILES = 5,
	ROUNDS = 20000,
};

struct page {
	int file;	 /* 0: not mapped, 1: no file, 2 and on: a file */
	uint64_t offset; /* of a file */
};

struct world {
	struct op_executables x;
	struct op_executable *file[FILES + 2];
	struct op_mappings *mappings;
	struct page page[PAGES];
};

static void world_init(struct world *w)
{
	int i;

	memset(w, 0, sizeof(*w));
	op_executables_init(&w->x);
	for (i = 2; i < FILES + 2; i++)
		CHECK_OK(op_executable_get(&w->x,
					   &(struct op_file_key){ 8, 1, (uint64_t)i, 0 },
					   "/a/file", &w->file[i]));
	CHECK_OK(op_mappings_new(&w->mappings));
}

static void world_deinit(struct world *w)
{
	int i;

	op_mappings_put(w->mappings, &w->x, 0);
	for (i = 2; i < FILES + 2; i++) {
		/* our reference is the last: none was lost or kept */
		CHECK_INT(w->file[i]->refs, 1);
		op_executable_put(&w->x, w->file[i]);
	}
	CHECK_INT(w->x.len, FILES);
	CHECK_INT(w->x.mappings_len, 0);
	op_executables_deinit(&w->x);
	CHECK_INT(w->x.len, 0);
}

/* Memory without a file where the code of one was, which is mapped on both sides, is its code. */
static void model_adopts(struct world *w)
{
	size_t i;
	size_t j;

	for (i = 1; i < PAGES; i = j + 1) {
		const struct page *before = &w->page[i - 1];

		for (j = i; j < PAGES && w->page[j].file == 1; j++)
			;
		if (j == i || j == PAGES || before->file < 2 ||
		    w->page[j].file != before->file ||
		    w->page[j].offset != before->offset + (j - i + 1) * PAGE)
			continue;
		for (; i < j; i++)
			w->page[i] = (struct page){ w->page[i - 1].file,
						    w->page[i - 1].offset + PAGE };
	}
}

static void map(struct world *w, size_t first, size_t len, int file, uint64_t offset)
{
	struct op_mapping vma = { .start = (first + 1) * PAGE,
				  .end = (first + len + 1) * PAGE,
				  .offset = file > 1 ? offset : 0,
				  .exe = w->file[file] };
	size_t i;

	CHECK_OK(op_mappings_own(&w->mappings, &w->x, 0));
	CHECK_OK(op_mappings_insert(w->mappings, &vma, &w->x));
	for (i = 0; i < len; i++)
		w->page[first + i] =
			(struct page){ .file = file,
				       .offset = file > 1 ? offset + i * PAGE : 0 };
	model_adopts(w);
	if (w->page[first].file == file)
		CHECK(op_mappings_has(w->mappings, &vma));
}

static void check(const struct world *w)
{
	size_t i;

	for (i = 0; i < w->mappings->len; i++) {
		CHECK(w->mappings->vma[i].start < w->mappings->vma[i].end);
		CHECK(!i || w->mappings->vma[i - 1].end <= w->mappings->vma[i].start);
	}
	for (i = 0; i < PAGES; i++) {
		uint64_t addr = (i + 1) * PAGE + 5;
		const struct op_mapping *v = op_mappings_find(w->mappings, addr);

		CHECK_INT(v != NULL, w->page[i].file != 0);
		if (!v)
			continue;
		CHECK(v->exe == w->file[w->page[i].file]);
		if (v->exe)
			CHECK_INT(addr - v->start + v->offset, w->page[i].offset + 5);
	}
	CHECK(!op_mappings_find(w->mappings, 5));
	CHECK(!op_mappings_find(w->mappings, (PAGES + 1) * PAGE));
}

/* As node --use-largepages leaves it, in the order of /proc/PID/maps and of its calls. */
static void test_code_on_large_pages_is_the_files(void)
{
	struct world w;

	world_init(&w);
	map(&w, 10, 5, 2, 0);
	map(&w, 15, 50, 1, 0);
	map(&w, 65, 5, 2, 55 * PAGE);
	check(&w);
	CHECK_INT(w.page[20].file, 2);
	map(&w, 100, 40, 3, 7 * PAGE);
	map(&w, 110, 20, 1, 0);
	CHECK_INT(w.page[120].file, 3);
	check(&w);
	map(&w, 110, 20, 1, 0);
	check(&w);
	/* of another place in the file, and not to its end */
	map(&w, 150, 5, 4, 0);
	map(&w, 155, 5, 1, 0);
	map(&w, 160, 5, 4, 11 * PAGE);
	map(&w, 200, 5, 4, 0);
	map(&w, 205, 5, 1, 0);
	map(&w, 211, 5, 4, 11 * PAGE);
	check(&w);
	CHECK_INT(w.page[157].file, 1);
	CHECK_INT(w.page[207].file, 1);
	world_deinit(&w);
}

static void test_random_mappings_follow_the_model(void)
{
	uint64_t random = 1;
	struct world w;
	int round;

	world_init(&w);
	for (round = 0; round < ROUNDS; round++) {
		size_t first = op_hash_u64(++random) % PAGES;
		size_t len = op_hash_u64(++random) % 24;
		int file = 1 + (int)(op_hash_u64(++random) % (FILES + 1));

		if (first + len > PAGES)
			len = PAGES - first;
		if (len)
			map(&w, first, len, file, (op_hash_u64(++random) % 64) * PAGE);
		if (round % 16 == 0)
			check(&w);
	}
	check(&w);
	world_deinit(&w);
}

/* A holder's change is not seen by the other holder. */
static void test_copy_on_change(void)
{
	struct op_mappings *other;
	struct world w;

	world_init(&w);
	map(&w, 0, 4, 2, 0);
	other = op_mappings_ref(w.mappings);
	map(&w, 2, 4, 3, 0);
	CHECK(other != w.mappings);
	CHECK_INT(other->len, 1);
	CHECK(op_mappings_find(other, 3 * PAGE)->exe == w.file[2]);
	check(&w);
	op_mappings_put(other, &w.x, 0);
	world_deinit(&w);
}

static void test_limit_of_mappings(void)
{
	struct world w;
	struct op_mapping vma = { 0 };
	size_t i;

	world_init(&w);
	for (i = 0; i < OP_MAPPINGS_MAX; i++) {
		vma = (struct op_mapping){ .start = i * 3 * PAGE,
					   .end = (i * 3 + 3) * PAGE,
					   .exe = w.file[2 + i % 2] };
		CHECK_OK(op_mappings_insert(w.mappings, &vma, &w.x));
	}
	vma.start = vma.end;
	vma.end += PAGE;
	vma.exe = w.file[4];
	CHECK_INT(op_mappings_insert(w.mappings, &vma, &w.x), -E2BIG);
	/* in the middle of one: it would make two more, and both are counted */
	vma.start = PAGE;
	vma.end = 2 * PAGE;
	CHECK_INT(op_mappings_insert(w.mappings, &vma, &w.x), -E2BIG);
	CHECK_INT(w.mappings->len, OP_MAPPINGS_MAX);
	CHECK_INT(w.mappings->refused, 3);
	CHECK_INT(w.x.mappings_refused, 3);
	/* in place of one is no more */
	vma.start = 3 * PAGE;
	vma.end = 6 * PAGE;
	CHECK_OK(op_mappings_insert(w.mappings, &vma, &w.x));
	CHECK(op_mappings_find(w.mappings, 4 * PAGE)->exe == w.file[4]);
	/* nothing to give up is searched for again and again, until there is something */
	CHECK(w.mappings->full);
	vma.exe = NULL;
	CHECK_OK(op_mappings_insert(w.mappings, &vma, &w.x));
	CHECK(!w.mappings->full);
	vma.start = (uint64_t)OP_MAPPINGS_MAX * 3 * PAGE;
	vma.end = vma.start + PAGE;
	vma.exe = w.file[4];
	CHECK_OK(op_mappings_insert(w.mappings, &vma, &w.x));
	CHECK(!op_mappings_find(w.mappings, 4 * PAGE));
	world_deinit(&w);
}

enum {
	LISTS = OP_MAPPINGS_ALL / OP_MAPPINGS_MAX,
};

/* Map @n pages of files by turns, all that go in. */
static struct op_mappings *fill(struct world *w, size_t n)
{
	struct op_mappings *mappings;
	size_t i;

	CHECK_OK(op_mappings_new(&mappings));
	for (i = 0; i < n; i++) {
		const struct op_mapping vma = { .start = i * PAGE,
						.end = i * PAGE + PAGE,
						.exe = w->file[2 + i % 2] };
		int r = op_mappings_insert(mappings, &vma, &w->x);

		CHECK(r == 0 || r == -E2BIG);
	}
	return mappings;
}

/* A list that came late has its share, whatever the others have. */
static void test_limit_of_all(void)
{
	struct op_mappings *list[LISTS];
	struct op_mappings *late;
	struct world w;
	int i;

	world_init(&w);
	for (i = 0; i < LISTS; i++)
		list[i] = fill(&w, OP_MAPPINGS_MAX);
	CHECK_INT(w.x.mappings_len, OP_MAPPINGS_ALL);
	CHECK_INT(w.x.mappings_refused, 0);
	late = fill(&w, OP_MAPPINGS_MAX);
	CHECK_INT(late->len, OP_MAPPINGS_EACH);
	CHECK_INT(w.x.mappings_refused, OP_MAPPINGS_MAX - OP_MAPPINGS_EACH);
	op_mappings_put(late, &w.x, 0);
	op_mappings_put(list[0], &w.x, 0);
	late = fill(&w, OP_MAPPINGS_MAX);
	CHECK_INT(late->len, OP_MAPPINGS_MAX);
	op_mappings_put(late, &w.x, 0);
	for (i = 1; i < LISTS; i++)
		op_mappings_put(list[i], &w.x, 0);
	world_deinit(&w);
}

static uint64_t slab_memory[OP_SLAB_BYTES / 8];

static int add_slab(void *ctx, uint32_t index, void **ret)
{
	CHECK_INT(index, 0);
	*ret = slab_memory;
	return 0;
}

static void test_arena_block(void)
{
	const struct op_arena_ops ops = { .add_slab = add_slab };
	const struct op_arena_mapping *mapping;
	struct op_arena_stats stats;
	struct op_arena *arena;
	const uint64_t *start;
	struct world w;
	size_t i;

	world_init(&w);
	CHECK_OK(op_arena_new(&ops, NULL, OP_SLAB_BYTES, &arena));
	w.x.arena = arena;
	for (i = 0; i < 10; i++)
		map(&w, i * 4, 2, 2, i * PAGE);
	w.mappings->vma[3].bias = 0x1234;
	w.mappings->vma[3].segment = 77;
	w.mappings->vma[3].flags = OP_MAPPING_VDSO;
	CHECK_OK(op_mappings_write(w.mappings, arena, SIZE_MAX));
	start = op_arena_at(arena, w.mappings->block);
	mapping = (const struct op_arena_mapping *)(start + 10);
	for (i = 0; i < 10; i++) {
		CHECK_INT(start[i], (i * 4 + 1) * PAGE);
		CHECK_INT(mapping[i].end, (i * 4 + 3) * PAGE);
	}
	CHECK_INT(mapping[3].bias, 0x1234);
	CHECK_INT(mapping[3].segment, 77);
	CHECK_INT(mapping[3].flags, OP_MAPPING_VDSO);
	/* what is written does not change: a change makes a copy that is not written */
	map(&w, 100, 1, 3, 0);
	CHECK_INT(w.mappings->block, 0);
	op_arena_get_stats(arena, &stats);
	CHECK_INT(stats.used_bytes, 0);
	world_deinit(&w);
	op_arena_free(arena);
}

/* Of a table that does not fit into its half of the arena, its share is written: each file before
 * a second mapping of one, and marks at their mappings. */
static void test_share(void)
{
	const struct op_arena_ops ops = { .add_slab = add_slab };
	struct op_arena *arena;
	const uint64_t *start;
	struct world w;
	void *memory;
	op_ref ref;
	size_t i;

	world_init(&w);
	CHECK_OK(op_arena_new(&ops, NULL, OP_SLAB_BYTES, &arena));
	w.x.arena = arena;
	CHECK_INT(op_mappings_share(arena, 8), OP_SLAB_BYTES / 8 / 8 / 32);
	CHECK_INT(op_mappings_share(arena, 100000), OP_MAPPINGS_LEAST);
	for (i = 0; i < 20; i++)
		map(&w, i * 4, 2, i == 0 ? 2 : i < 18 ? 3 : i == 18 ? 1 : 4, i * PAGE);
	CHECK_OK(op_arena_alloc(arena, OP_SLAB_BYTES / 2, &ref, &memory));
	CHECK_OK(op_mappings_write(w.mappings, arena, 5));
	CHECK_INT(w.mappings->written, 5);
	start = op_arena_at(arena, w.mappings->block);
	/* files 2, 3 and 4, and what is first of the others */
	for (i = 0; i < 4; i++)
		CHECK_INT(start[i], (i * 4 + 1) * PAGE);
	CHECK_INT(start[4], (19 * 4 + 1) * PAGE);
	CHECK(!op_mappings_may_grow(w.mappings, arena));
	op_arena_release(arena, ref, OP_SLAB_BYTES / 2, 0);
	CHECK(op_mappings_may_grow(w.mappings, arena));
	map(&w, 100, 1, 3, 0);
	CHECK_OK(op_mappings_write(w.mappings, arena, 5));
	CHECK_INT(w.mappings->written, 21);
	world_deinit(&w);
	op_arena_free(arena);
}

/* Room around a mapping is published as its own, and is none of what is mapped. */
static void test_room(void)
{
	const struct op_arena_ops ops = { .add_slab = add_slab };
	const struct op_arena_mapping *mapping;
	struct op_arena *arena;
	const uint64_t *start;
	struct world w;

	world_init(&w);
	CHECK_OK(op_arena_new(&ops, NULL, OP_SLAB_BYTES, &arena));
	w.x.arena = arena;
	map(&w, 10, 2, 2, 0);
	map(&w, 20, 2, 2, 4 * PAGE);
	w.mappings->vma[1].room = 3 * PAGE;
	w.mappings->vma[1].above = 2 * PAGE;
	CHECK_OK(op_mappings_write(w.mappings, arena, SIZE_MAX));
	start = op_arena_at(arena, w.mappings->block);
	mapping = (const struct op_arena_mapping *)(start + 2);
	CHECK_INT(start[0], 11 * PAGE);
	CHECK_INT(start[1], 18 * PAGE);
	CHECK_INT(mapping[1].end, 25 * PAGE);
	CHECK(!op_mappings_find(w.mappings, 18 * PAGE));
	CHECK(op_mappings_find_room(w.mappings, 18 * PAGE) == &w.mappings->vma[1]);
	CHECK(op_mappings_find_room(w.mappings, 22 * PAGE) == &w.mappings->vma[1]);
	CHECK(!op_mappings_find_room(w.mappings, 18 * PAGE - 1));
	CHECK(!op_mappings_find(w.mappings, 23 * PAGE));
	CHECK(op_mappings_find_room(w.mappings, 23 * PAGE) == &w.mappings->vma[1]);
	CHECK(!op_mappings_find_room(w.mappings, 25 * PAGE));
	/* what is mapped there is not less mapped for it */
	map(&w, 18, 1, 3, 0);
	CHECK_INT(w.mappings->len, 3);
	CHECK_INT(w.mappings->vma[1].room, 0);
	world_deinit(&w);
	op_arena_free(arena);
}

static bool is_replaced(const struct world *w, size_t page)
{
	return op_mappings_find(w->mappings, (page + 1) * PAGE)->replaced;
}

/* Where one file took another's place the next may do so. */
static void test_replaced(void)
{
	struct world w;

	world_init(&w);
	map(&w, 10, 4, 2, 0);
	map(&w, 20, 4, 3, 0);
	CHECK(!is_replaced(&w, 10));
	map(&w, 12, 4, 3, 0);
	CHECK(is_replaced(&w, 12));
	CHECK(!is_replaced(&w, 10));
	CHECK(!is_replaced(&w, 20));
	map(&w, 12, 4, 3, PAGE);
	CHECK(is_replaced(&w, 12));
	map(&w, 30, 4, 1, 0); /* memory that got a file is none that lost one */
	map(&w, 30, 4, 2, 0);
	CHECK(!is_replaced(&w, 30));
	world_deinit(&w);
}

/*
 * Where the next file may take a place, the programs find by its mark whether this one is
 * still there. Only so many fit into a mapping's flags.
 */
static void test_marks(void)
{
	const struct op_arena_ops ops = { .add_slab = add_slab };
	struct op_arena *arena;
	struct op_image image = { .mark = 0x1234, .mark_vaddr = 0x250 };
	struct op_image none = { .mark = 0 };
	const struct op_arena_mapping *mapping;
	const struct op_mark *mark;
	struct world w;
	uint32_t i;

	world_init(&w);
	CHECK_OK(op_arena_new(&ops, NULL, OP_SLAB_BYTES, &arena));
	w.x.arena = arena;
	for (i = 0; i < OP_MARKS_MAX + 3; i++)
		map(&w, i, 1, 2 + (int)(i % 2), 0);
	w.file[2]->image = &image;
	w.file[3]->image = &none;
	for (i = 0; i < w.mappings->len; i++) {
		w.mappings->vma[i].segment = 8;
		w.mappings->vma[i].bias = i * PAGE;
		w.mappings->vma[i].flags = i < 6 ? OP_MAPPING_REPLACED : 0;
	}
	CHECK_OK(op_mappings_write(w.mappings, arena, SIZE_MAX));
	CHECK_INT(w.mappings->mark_count, 3);
	mark = op_arena_at(arena, w.mappings->marks);
	mapping = op_arena_at(
		arena, w.mappings->block + (op_ref)(w.mappings->len * 8 >> OP_REF_SHIFT));
	for (i = 0; i < 6; i++) {
		CHECK_INT(mapping[i].flags >> OP_MAPPING_MARK_SHIFT,
			  i % 2 ? 0 : 1 + i / 2);
		if (i % 2 == 0) {
			CHECK_INT(mark[i / 2].at, i * PAGE + 0x250);
			CHECK_INT(mark[i / 2].word, 0x1234);
		}
	}
	CHECK_INT(mapping[6].flags, 0);
	CHECK_OK(op_mappings_own(&w.mappings, &w.x, 0));
	w.file[3]->image = &image;
	for (i = 0; i < w.mappings->len; i++)
		w.mappings->vma[i].flags = OP_MAPPING_REPLACED;
	CHECK_OK(op_mappings_write(w.mappings, arena, SIZE_MAX));
	CHECK_INT(w.mappings->mark_count, OP_MARKS_MAX);
	w.file[2]->image = w.file[3]->image = NULL;
	world_deinit(&w);
	op_arena_free(arena);
}

static void change_at(struct op_changes *c, uint64_t start, uint64_t time_ns)
{
	const struct op_change change = { .start = start,
					  .end = start + 0x1000,
					  .since_ns = time_ns,
					  .until_ns = time_ns };

	c->number++;
	op_changes_add(c, &change, 0, 0);
}

/* What changed, when, and for whom. Of very many changes the oldest become one, which says no less
 * than they did. */
static void test_changes(void)
{
	struct op_changes c = { 0 };
	struct op_changes child = { 0 };
	uint64_t last;
	uint64_t i;

	change_at(&c, 0x10000, 100);
	CHECK(op_changes_before(&c, 0, 100, 0x10000, 0));
	CHECK(op_changes_before(&c, 0, 100, 0x10fff, 0));
	CHECK(!op_changes_before(&c, 0, 100, 0x11000, 0));
	CHECK(!op_changes_before(&c, 0, 99, 0x10000, 0));  /* a sample of before */
	CHECK(!op_changes_before(&c, 1, 100, 0x10000, 0)); /* a table that has it */
	CHECK(op_changes_after(&c, 99, 0x10000));
	CHECK(!op_changes_after(&c, 100, 0x10000));
	for (i = 1; i <= 3 * OP_CHANGES_MAX; i++)
		change_at(&c, 0x10000 + i * 0x10000, 100 + i);
	CHECK_INT(c.list.len, OP_CHANGES_MAX);
	for (i = 0; i <= 3 * OP_CHANGES_MAX; i++) {
		uint64_t at = 0x10000 + i * 0x10000;

		CHECK(op_changes_before(&c, (uint32_t)i, 100 + i, at, 0));
		CHECK(op_changes_after(&c, 100 + i - 1, at));
	}
	/* a child is walked by tables of its parent, whose numbers are those of its changes */
	last = c.list.data[c.list.len - 1].start;
	op_changes_inherit(&child, &c);
	CHECK_INT(child.number, c.number);
	CHECK(op_changes_before(&child, c.number - 1, 500, last, 0));
	CHECK(!op_changes_before(&child, c.number, 500, last, 0));
	change_at(&child, 0x10000, 400);
	CHECK(op_changes_before(&child, c.number, 500, 0x10000, 0));
	/* files with one base, and one without */
	child.list.data[child.list.len - 1].base = 0x8000;
	CHECK(!op_changes_before(&child, c.number, 500, 0x10000, 0x8000));
	CHECK(op_changes_before(&child, c.number, 500, 0x10000, 0x9000));
	change_at(&child, 0x10000, 400);
	CHECK(op_changes_before(&child, c.number, 500, 0x10000, 0x8000));
	op_changes_clear(&child);
	/* at some time from 600 to 700, which was before 650 */
	c.list.data[0].since_ns = 600;
	c.list.data[0].until_ns = 700;
	last = c.list.data[0].start;
	CHECK(op_changes_after(&c, 650, last));
	op_changes_were_before(&c,
			       650); /* the number of code pages was the same before */
	CHECK(op_changes_after(&c, 650, last));
	c.list.data[0].counted = true;
	op_changes_were_before(&c, 599);
	CHECK(op_changes_after(&c, 699, last));
	op_changes_were_before(&c, 650);
	CHECK(!op_changes_after(&c, 650, last));
	CHECK(op_changes_after(&c, 649, last));
	CHECK(op_changes_before(&c, 0, 600, last, 0));
	/* what is over is forgotten */
	op_changes_add(&c, &(struct op_change){ .since_ns = 1000, .until_ns = 1000 }, 900,
		       1);
	CHECK_INT(c.list.len, OP_CHANGES_MAX); /* but not by the published table */
	op_changes_add(&c, &(struct op_change){ .since_ns = 1000, .until_ns = 1000 }, 900,
		       c.number);
	CHECK_INT(c.list.len, 2);
	/* what went is no change, until something comes there */
	op_changes_add(&c,
		       &(struct op_change){ .start = 0x1000,
					    .end = 0x2000,
					    .since_ns = 1000,
					    .until_ns = 1000,
					    .gone = true },
		       900, 0);
	CHECK(!op_changes_before(&c, 0, 1000, 0x1000, 0));
	CHECK(!op_changes_after(&c, 999, 0x1000));
	CHECK(op_changes_has_gone(&c, 0x1fff, 0x3000, true));
	CHECK(!op_changes_has_gone(&c, 0x2000, 0x3000, true));
	CHECK(!op_changes_has_gone(&c, 0x1000, 0x2000, false)); /* of no file */
	op_changes_forget_gone(&c);
	CHECK_INT(c.list.len, 2);
	CHECK(!op_changes_has_gone(&c, 0x1000, 0x2000, true));
	op_changes_clear(&c);
}

TEST_MAIN({ "changes", test_changes }, { "model", test_random_mappings_follow_the_model },
	  { "copy", test_copy_on_change }, { "limit", test_limit_of_mappings },
	  { "all", test_limit_of_all }, { "arena", test_arena_block },
	  { "share", test_share }, { "room", test_room },
	  { "large_pages", test_code_on_large_pages_is_the_files },
	  { "replaced", test_replaced }, { "marks", test_marks })
