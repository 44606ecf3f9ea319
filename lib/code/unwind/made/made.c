/* SPDX-License-Identifier: Apache-2.0 */
#include "code/unwind/made/made.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/hash.h"
#include "base/io.h"
#include "base/macros.h"
#include "base/vec.h"
#include "code/unwind/made/page.h"

enum {
	REGION_ALIGNMENT = 4 << 20, /* mappings grow in steps */
	READ_SHARE = 50, /* reading pages may take one of so many parts of a CPU */
};

/* A page whose code changed is read again after this time, which doubles if it changed again within
 * four times as much. */
static const uint64_t AGAIN_MIN_NS = UINT64_C(20000000);
static const uint64_t AGAIN_MAX_NS = UINT64_C(5000000000);

/* Samples are read this long after the last that hit made code. If a process ends
 * before that, its samples remain in doubt. */
static const uint64_t CHECK_NS = UINT64_C(100000000);
/* The same for some time after code changed: each sample between two comparisons that
 * differ remains in doubt. */
static const uint64_t CHECK_CHANGED_NS = UINT64_C(10000000);
static const uint64_t CHANGED_FOR_NS = UINT64_C(4000000000);

/* Most of that share that may be used at once: for some 200 pages. */
static const int64_t READ_MAX_NS = INT64_C(500000000);

/* Addresses that share one struct op_segment. */
struct region {
	uint64_t start; /* multiples of REGION_ALIGNMENT */
	uint64_t end;
	op_ref segment;
	op_ref pages;
};

struct op_made {
	struct op_made_pages *all;
	struct op_made_reader reader;
	TAILQ_HEAD(, op_made_page) pages;
	OP_VEC(struct region) regions;
	op_ref unread;	     /* a row: this page was not read */
	uint64_t checked_ns; /* time of the last comparison of the code */
	uint64_t evicted_ns; /* when a page was last dropped */
	uint64_t since_ns;   /* when a page was last published */
	uint64_t number;
};

void op_made_pages_init(struct op_made_pages *all, struct op_arena *arena,
			struct op_unwind_rules *rules)
{
	*all = (struct op_made_pages){ .arena = arena,
				       .rules = rules,
				       .left_ns = READ_MAX_NS,
				       .filled_ns = op_clock_monotonic_ns() };
	TAILQ_INIT(&all->used);
}

uint64_t op_made_pages_next_ns(const struct op_made_pages *all)
{
	uint64_t now_ns = op_clock_monotonic_ns();
	uint64_t next_ns = all->checked_ns +
			   (all->changed_ns && now_ns - all->changed_ns < CHANGED_FOR_NS
				    ? CHECK_CHANGED_NS
				    : CHECK_NS);

	return all->checked_ns && next_ns > now_ns ? next_ns : 0;
}

/* ---- what programs read ---- */

/* Programs read the entry of a directory as one word. */
static void set_page(struct op_made *made, uint64_t start, struct op_page page)
{
	struct region *r;
	uint64_t word;

	_Static_assert(sizeof(word) == sizeof(page), "an entry is a word");
	memcpy(&word, &page, sizeof(word));
	op_vec_foreach(r, &made->regions) {
		uint64_t *pages = op_arena_at(made->all->arena, r->pages);

		if (start >= r->start && start < r->end)
			__atomic_store_n(&pages[(start - r->start) >> OP_PAGE_SHIFT],
					 word, __ATOMIC_RELEASE);
	}
}

static struct op_page unread(const struct op_made *made)
{
	return (struct op_page){ .rows = made->unread, .count = 1 };
}

static void page_free(struct op_made_page *page, uint64_t now_ns)
{
	struct op_made *made = page->made;

	op_made_rows_release(page->reader, &page->rows, now_ns);
	TAILQ_REMOVE(&made->pages, page, link);
	TAILQ_REMOVE(&made->all->used, page, used);
	made->all->len--;
	free(page);
}

/* other pages need its memory */
static void evict(struct op_made_page *page)
{
	struct op_made *made = page->made;

	if (page->rows.page.count)
		set_page(made, page->start, unread(made));
	made->evicted_ns = op_clock_monotonic_ns();
	made->number++;
	page_free(page, made->evicted_ns);
}

static int add_unread(struct op_made *made)
{
	const struct op_row row = { .pc = 0, .rule = OP_UNWIND_RULE_FRAME };
	void *at;
	int r = op_arena_alloc(made->all->arena, sizeof(row), &made->unread, &at);

	if (r == 0)
		memcpy(at, &row, sizeof(row));
	return r;
}

/* Write the segment and the directory of @region. */
static int write_region(struct op_made *made, struct region *region)
{
	uint64_t count = (region->end - region->start) >> OP_PAGE_SHIFT;
	struct op_segment segment = { .vaddr = region->start,
				      .page_count = (uint32_t)count };
	struct op_arena *arena = made->all->arena;
	struct op_page *pages;
	void *at;
	uint64_t i;
	int r = op_arena_alloc(arena, count * sizeof(*pages), &region->pages, &at);

	if (r < 0)
		return r;
	pages = at;
	for (i = 0; i < count; i++)
		pages[i] = unread(made);
	segment.pages = region->pages;
	r = op_arena_alloc(arena, sizeof(segment), &region->segment, &at);
	if (r < 0) {
		op_arena_release(arena, region->pages, count * sizeof(*pages), 0);
		return r;
	}
	memcpy(at, &segment, sizeof(segment));
	return 0;
}

static const struct region *find_region(const struct op_made *made, uint64_t start,
					uint64_t end)
{
	const struct region *r;

	op_vec_foreach(r, &made->regions)
		if (start >= r->start && end <= r->end)
			return r;
	return NULL;
}

/* Returns 1 if [@start, @end) got a region, 0 if it has one, or -errno. */
static int add_region(struct op_made *made, uint64_t start, uint64_t end)
{
	struct region region = {
		.start = OP_ALIGN_DOWN(start, (uint64_t)REGION_ALIGNMENT),
		.end = OP_ALIGN_DOWN(end - 1, (uint64_t)REGION_ALIGNMENT) +
		       REGION_ALIGNMENT
	};
	struct op_made_page *page;
	int r;

	if (find_region(made, start, end))
		return 0;
	if (made->regions.len >= OP_MADE_REGIONS_MAX ||
	    region.end - region.start > OP_MADE_REGION_BYTES_MAX) {
		made->all->regions_refused++;
		return -E2BIG;
	}
	if (op_vec_reserve(&made->regions, 1) < 0)
		return -ENOMEM;
	r = made->unread ? 0 : add_unread(made);
	if (r == 0)
		r = write_region(made, &region);
	if (r < 0)
		return r;
	made->regions.data[made->regions.len++] = region;
	TAILQ_FOREACH(page, &made->pages, link)
		if (page->rows.page.count)
			set_page(made, page->start, page->rows.page);
	return 1;
}

op_ref op_made_segment(const struct op_made *made, uint64_t start, uint64_t end)
{
	const struct region *r = made ? find_region(made, start, end) : NULL;

	return r ? r->segment : 0;
}

/* ---- reading a page ---- */

/* Read the page, and replace its old rules by the new ones. */
static int publish_page(struct op_made_page *page, uint64_t start, uint64_t end)
{
	struct op_made *made = page->made;
	struct op_made_rows rows;
	uint64_t now_ns;
	int r = op_made_page_read(page, start, end, &rows);

	if (r < 0)
		return r;
	set_page(made, page->start, rows.page);
	now_ns = op_clock_monotonic_ns();
	op_made_rows_release(page->reader, &page->rows, now_ns);
	page->rows = rows;
	page->hit_first = UINT64_MAX;
	page->hit_last = 0;
	page->since_ns = made->since_ns = now_ns;
	page->first_ns = page->first_ns ? page->first_ns : now_ns;
	made->number++;
	return 0;
}

/* Read the page for @addr, unless that was done shortly before. */
static void read_when_due(struct op_made_page *page, uint64_t addr, uint64_t start,
			  uint64_t end)
{
	uint64_t now_ns = op_clock_monotonic_ns();

	if (now_ns < page->again_ns)
		return;
	page->wait_ns = page->since_ns && now_ns - page->since_ns < 4 * page->wait_ns
				? OP_MIN(page->wait_ns * 2, AGAIN_MAX_NS)
				: AGAIN_MIN_NS;
	page->again_ns = now_ns + page->wait_ns;
	if ((!page->rows.page.count || !op_made_page_is_same(page, addr)) &&
	    publish_page(page, start, end) < 0)
		return;
	if (!op_made_page_may_widen(page, addr, start, end))
		return;
	page->wide = true;
	if (publish_page(page, start, end) == 0 && op_made_page_has_rule(page, addr))
		return;
	page->wide = false;
	page->vain = true;
}

static struct op_made_page *find_page(const struct op_made *made, uint64_t addr)
{
	struct op_made_page *page;

	TAILQ_FOREACH(page, &made->pages, link)
		if (addr - page->start < OP_MADE_PAGE_BYTES)
			return page;
	return NULL;
}

static struct op_made_page *add_page(struct op_made *made, uint64_t addr)
{
	struct op_made_pages *all = made->all;
	struct op_made_page *page = calloc(1, sizeof(*page));

	if (!page)
		return NULL;
	while (all->len >= OP_MADE_PAGES_MAX)
		evict(TAILQ_FIRST(&all->used));
	page->made = made;
	page->reader = &made->reader;
	page->start = OP_ALIGN_DOWN(addr, (uint64_t)OP_MADE_PAGE_BYTES);
	page->hit_first = UINT64_MAX;
	TAILQ_INSERT_TAIL(&made->pages, page, link);
	TAILQ_INSERT_TAIL(&all->used, page, used);
	all->len++;
	return page;
}

/* ---- samples ---- */

/* @r: result of op_made_page_compare(). */
static void note_compared(struct op_made *made, int r)
{
	if (r <= 0)
		return;
	made->number++;
	made->all->changed_ns = op_clock_monotonic_ns();
}

/* A sample has a frame at @addr. Returns false if the code there was not hit before and
 * could not be compared. */
static bool note_hit(struct op_made_page *page, uint64_t addr, bool late)
{
	struct op_made_pages *all = page->made->all;
	int r = 0;

	TAILQ_REMOVE(&all->used, page, used);
	TAILQ_INSERT_TAIL(&all->used, page, used);
	if (addr >= page->hit_first && addr <= page->hit_last)
		return true;
	if (late)
		return !page->rows.page.count;
	page->hit_first = OP_MIN(page->hit_first, addr);
	page->hit_last = OP_MAX(page->hit_last, addr);
	if (page->rows.page.count)
		r = op_made_page_compare(page);
	note_compared(page->made, r);
	return r >= 0;
}

static enum op_made_word word_at(const struct op_made *made,
				 const struct op_made_page *page, uint64_t addr,
				 uint64_t time_ns)
{
	if (!page || !page->first_ns || time_ns < page->first_ns)
		return time_ns < made->evicted_ns ? OP_MADE_DOUBT : OP_MADE_NONE;
	if (time_ns < page->since_ns || time_ns > made->checked_ns ||
	    !op_made_page_is_same(page, addr))
		return OP_MADE_DOUBT;
	return op_made_page_has_rule(page, addr) ? OP_MADE_RULE : OP_MADE_NONE;
}

/* Is there CPU time to read a page? Without a limit, a program with more code than
 * OP_MADE_PAGES_MAX would have pages read all the time. */
static bool may_read(struct op_made_pages *all)
{
	uint64_t now_ns = op_clock_monotonic_ns();
	uint64_t more_ns = (now_ns - all->filled_ns) / READ_SHARE;

	all->left_ns = OP_MIN(all->left_ns + (int64_t)more_ns, READ_MAX_NS);
	all->filled_ns = now_ns;
	return all->left_ns > 0;
}

/* If it is due, read the page of @addr, which a sample has hit. */
static void read_hit(struct op_made *made, struct op_made_page *page, uint64_t addr,
		     uint64_t start, uint64_t end, bool *ret_new)
{
	uint64_t begin_ns = op_clock_thread_ns();
	int r = may_read(made->all) ? add_region(made, start, end) : -EAGAIN;

	*ret_new |= r > 0;
	if (r < 0)
		return;
	if (!page)
		page = add_page(made, addr);
	if (page)
		read_when_due(page, addr, start, end);
	made->number++; /* the next sample asks again */
	made->all->left_ns -= (int64_t)(op_clock_thread_ns() - begin_ns);
}

enum op_made_word op_made_at(struct op_made *made, uint64_t addr, uint64_t start,
			     uint64_t end, uint64_t time_ns,
			     struct op_allowance *allowance, bool *ret_new)
{
	struct op_made_page *page = find_page(made, addr);
	bool late = op_allowance_is_over(allowance) || !op_allowance_has_cpu(allowance);
	uint64_t begin_ns = op_allowance_begin_cpu(allowance);
	enum op_made_word word = OP_MADE_DOUBT;

	if (addr < OP_MADE_PAGE_BYTES || addr < start || addr >= end)
		return OP_MADE_NONE;
	if (!page || note_hit(page, addr, late))
		word = word_at(made, page, addr, time_ns);
	if (!page || !page->rows.page.count || !op_made_page_is_same(page, addr) ||
	    op_made_page_may_widen(page, addr, start, end)) {
		if (!late)
			read_hit(made, page, addr, start, end, ret_new);
		else
			made->number++;
	}
	/* the stack of this sample is not reused: a later frame there may have a rule */
	if (word == OP_MADE_DOUBT)
		made->number++;
	op_allowance_take_cpu(allowance, begin_ns);
	return word;
}

/* Compare the code of all pages, at a time after @time_ns. Returns false if there is no time. */
static bool check(struct op_made *made, uint64_t time_ns, struct op_allowance *allowance)
{
	uint64_t now_ns = op_clock_monotonic_ns();
	struct op_made_page *page;

	if (time_ns <= made->checked_ns)
		return true;
	if (op_allowance_is_over(allowance))
		return false;
	TAILQ_FOREACH(page, &made->pages, link) {
		int r = 0;

		if (page->rows.page.count && page->hit_first <= page->hit_last)
			r = op_made_page_compare(page);
		if (r < 0)
			return false;
		note_compared(made, r);
	}
	made->checked_ns = made->all->checked_ns = now_ns;
	return true;
}

uint64_t op_made_number(struct op_made *made, uint64_t time_ns,
			struct op_allowance *allowance)
{
	if (TAILQ_EMPTY(&made->pages))
		return made->number;
	/* Pages that are not fully known yet never count as equal to others. */
	if (!check(made, time_ns, allowance) || time_ns < made->since_ns ||
	    time_ns < made->evicted_ns)
		made->number++;
	return made->number;
}

int op_made_new(struct op_made_pages *pages, const struct op_memory *memory,
		struct op_made **ret)
{
	struct op_made *made = calloc(1, sizeof(*made));

	if (!made)
		return -ENOMEM;
	made->all = pages;
	made->reader = (struct op_made_reader){ .arena = pages->arena,
						.rules = pages->rules,
						.memory = memory,
						.seed = op_hash_seed() };
	TAILQ_INIT(&made->pages);
	*ret = made;
	return 0;
}

struct op_made *op_made_free(struct op_made *made, uint64_t now_ns)
{
	struct op_arena *arena;
	struct region *r;

	if (!made)
		return NULL;
	arena = made->all->arena;
	while (!TAILQ_EMPTY(&made->pages))
		page_free(TAILQ_FIRST(&made->pages), now_ns);
	op_vec_foreach(r, &made->regions) {
		op_arena_release(arena, r->pages,
				 ((r->end - r->start) >> OP_PAGE_SHIFT) *
					 sizeof(struct op_page),
				 now_ns);
		op_arena_release(arena, r->segment, sizeof(struct op_segment), now_ns);
	}
	op_arena_release(arena, made->unread, sizeof(struct op_row), now_ns);
	op_vec_clear(&made->regions);
	free(made);
	return NULL;
}

uint64_t op_made_pages_bytes(const struct op_made_pages *pages)
{
	return pages->len * sizeof(struct op_made_page);
}
