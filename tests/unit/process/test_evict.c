/* SPDX-License-Identifier: Apache-2.0 */
/* An arena too small for the tables of this process's own libraries. */
#include <link.h>
#include <unistd.h>

#include <openssl/crypto.h>

#include "process/target/maps.h"
#include "test.h"
#include "world.h"

enum {
	IMAGES_MAX = 64,
	SAMPLES_MAX = 16, /* until a process that was forgotten is back */
};

static const uint64_t SECOND = 1000000000;
static const uint64_t GRACE = 1100000000; /* the arena's is a second */

struct images {
	uint64_t pc[IMAGES_MAX]; /* in the middle of an executable mapping of a file */
	size_t len;
};

static int keep(void *ctx, const struct op_mmap_event *e)
{
	struct images *x = ctx;

	if (e->inode && x->len < IMAGES_MAX)
		x->pc[x->len++] = e->start + (e->end - e->start) / 2;
	return 0;
}

/* A first sample whose pc is @pc: its table is wanted. The stack has nothing. Returns how the
 * mapping is published then; NULL: without room for it the process is forgotten. */
static const struct op_arena_mapping *sample(struct world *w, uint64_t pc)
{
	struct op_registers registers = { .pc = pc, .sp = 0x7ffc00001000 };
	uint64_t stack[16] = { 0 };

	CHECK_OK(world_first_sample(w, (uint32_t)getpid(), &registers, stack,
				    sizeof(stack)));
	CHECK(world_frames(w) >= 1);
	return world_mapping(w, (uint32_t)getpid(), pc, NULL);
}

/* As many first samples as it takes until the process is published. */
static void want(struct world *w, uint64_t pc)
{
	int i;

	for (i = 0; i < SAMPLES_MAX; i++) {
		(void)sample(w, pc);
		/* what was published before may be used again: the arena is small */
		world_settle(w, GRACE);
		if (world_mapping(w, (uint32_t)getpid(), pc, NULL))
			return;
	}
}

static bool has_table(struct world *w, uint64_t pc)
{
	const struct op_arena_mapping *m = world_mapping(w, (uint32_t)getpid(), pc, NULL);

	CHECK(m);
	CHECK(!m->segment || !(m->flags & OP_MAPPING_LAZY));
	return m->segment != 0;
}

static void next_window(struct world *w)
{
	op_processes_window_end(w->p, false);
	op_window_reset(w->window);
	world_settle(w, 10 * SECOND);
}

/* How many bytes to leave of the arena so that any one table fits and all do not. They
 * are measured: with a sanitizer the process has more and bigger libraries. */
static size_t measure_room(const struct images *x)
{
	struct op_arena_stats stats;
	uint64_t before = 0;
	uint64_t largest = 0;
	struct world w;
	size_t i;

	world_init(&w, NULL);
	for (i = 0; i < x->len; i++) {
		int tries;

		/* opening a file may fail for a moment on a busy machine */
		want(&w, x->pc[i]);
		for (tries = 0; tries < SAMPLES_MAX && !has_table(&w, x->pc[i]);
		     tries++) {
			next_window(&w);
			want(&w, x->pc[i]);
		}
		CHECK(has_table(&w, x->pc[i]));
		op_arena_get_stats(w.arena, &stats);
		largest = OP_MAX(largest, stats.used_bytes - before);
		before = stats.used_bytes;
	}
	world_deinit(&w);
	/* a quarter more than the largest needs, for the pieces of others in between */
	CHECK(largest + largest / 4 < before);
	CHECK(largest + largest / 4 < OP_SLAB_BYTES);
	return largest + largest / 4;
}

/* Fill the arena but for @room. */
static op_ref fill(struct world *w, size_t room)
{
	op_ref ref;
	void *memory;

	CHECK_OK(op_arena_alloc(w->arena, OP_SLAB_BYTES - room, &ref, &memory));
	return ref;
}

static uint64_t tables_failed(const struct world *w)
{
	struct op_processes_stats stats;

	op_processes_get_stats(w->p, &stats);
	return stats.tables_failed;
}

/* Each table is made when it is wanted, if need be after others were given up. */
static void test_cold_tables_make_room(void)
{
	const struct world_options options = { .arena_bytes = OP_SLAB_BYTES };
	struct images x = { 0 };
	uint64_t failed = 0;
	op_ref filler;
	size_t made = 0;
	size_t room;
	struct world w;
	size_t i;

	CHECK(OPENSSL_version_major() > 0); /* one with a big table */
	CHECK(op_maps_read("/proc/self/maps", keep, &x) > 0);
	room = measure_room(&x);
	world_init(&w, &options);
	filler = fill(&w, room);
	for (i = 0; i < x.len; i++) {
		int tries;

		for (tries = 0; tries < 12; tries++) {
			want(&w, x.pc[i]);
			if (has_table(&w, x.pc[i]))
				break;
			next_window(&w);
		}
		made += has_table(&w, x.pc[i]);
		next_window(&w);
		next_window(&w);
		next_window(&w);
	}
	failed = tables_failed(&w);
	/* the arena did not hold all: something failed at first, or one cannot be made */
	CHECK(failed > 0);
	CHECK(made + 2 >= x.len);
	for (made = 0, i = 0; i < x.len; i++)
		made += has_table(&w, x.pc[i]);
	CHECK(made < x.len);
	op_arena_release(w.arena, filler, OP_SLAB_BYTES - room, w.now_ns);
	world_deinit(&w);
}

/* Want one table after another, and those before it again, until one does not fit; its number. */
static size_t refuse_one(struct world *w, const struct images *x)
{
	size_t i;
	size_t j;

	for (i = 0; i < x->len; i++) {
		for (j = 0; j <= i; j++)
			want(w, x->pc[j]);
		if (!has_table(w, x->pc[i]))
			return i;
	}
	TEST_FAIL("all tables fit");
}

/* Each change of the rate ends a window; many in a row say nothing of what is needed. */
static void test_windows_cut_short(void)
{
	const struct world_options options = { .arena_bytes = OP_SLAB_BYTES };
	struct images x = { 0 };
	size_t refused;
	size_t room;
	op_ref filler;
	struct world w;
	size_t i;

	CHECK(op_maps_read("/proc/self/maps", keep, &x) > 0);
	room = measure_room(&x);
	world_init(&w, &options);
	filler = fill(&w, room);
	refused = refuse_one(&w, &x);
	for (i = 0; i < 5; i++)
		op_processes_window_end(w.p, true);
	for (i = 0; i < 4; i++) {
		world_settle(&w, 10 * SECOND);
		want(&w, x.pc[refused]);
	}
	for (i = 0; i < refused; i++)
		CHECK(has_table(&w, x.pc[i]));
	op_arena_release(w.arena, filler, OP_SLAB_BYTES - room, w.now_ns);
	world_deinit(&w);
}

/* What is in use stays, though another does not fit; that one is walked by frame pointers
 * and is not asked for at each sample. */
static void test_hot_tables_stay(void)
{
	const struct world_options options = { .arena_bytes = OP_SLAB_BYTES };
	const struct op_arena_mapping *m;
	struct images x = { 0 };
	size_t refused;
	size_t room;
	op_ref filler;
	struct world w;
	size_t i;

	CHECK(op_maps_read("/proc/self/maps", keep, &x) > 0);
	room = measure_room(&x);
	world_init(&w, &options);
	filler = fill(&w, room);
	refused = refuse_one(&w, &x);
	for (i = 0; i < refused; i++)
		CHECK(has_table(&w, x.pc[i]));
	/* It is refused again when it is time to ask, and then not asked for. */
	for (i = 0, m = NULL; i < SAMPLES_MAX && !m; i++) {
		world_settle(&w, 3 * SECOND);
		m = sample(&w, x.pc[refused]);
	}
	if (m) { /* else there is no room at all, and the process waits for some */
		CHECK_INT(m->flags & OP_MAPPING_LAZY, 0);
		CHECK_INT(m->flags & OP_MAPPING_ANON, OP_MAPPING_ANON);
		/* after a while it is asked for again */
		world_settle(&w, 5 * SECOND);
		m = world_mapping(&w, (uint32_t)getpid(), x.pc[refused], NULL);
		CHECK(m);
		CHECK_INT(m->flags & OP_MAPPING_LAZY, OP_MAPPING_LAZY);
	}
	op_arena_release(w.arena, filler, OP_SLAB_BYTES - room, w.now_ns);
	world_deinit(&w);
}

/* In the child of a fork nothing of the kernel's is touched. */
static void test_forked(void)
{
	struct images x = { 0 };
	uint64_t published;
	uint64_t unpublished;
	struct world w;

	CHECK(op_maps_read("/proc/self/maps", keep, &x) > 0);
	world_init(&w, NULL);
	want(&w, x.pc[0]);
	world_settle(&w, SECOND);
	published = w.published;
	unpublished = w.unpublished;
	CHECK(published > 0);
	op_processes_forked(w.p);
	op_processes_on_fork(w.p, 0x7ffffff0, (uint32_t)getpid(), ++w.now_ns);
	op_processes_on_exit(w.p, (uint32_t)getpid(), ++w.now_ns);
	op_processes_on_lost(w.p);
	world_settle(&w, SECOND);
	CHECK_INT(w.published, published);
	world_deinit(&w);
	CHECK_INT(w.unpublished, unpublished);
}

enum {
	TABLE_BYTES = 65536,
};

/* Is what was released not available yet, a grace period later? */
static bool is_kept(struct world *w)
{
	struct op_arena_stats stats;

	world_settle(w, 2 * GRACE);
	op_arena_get_stats(w->arena, &stats);
	return stats.grace_bytes >= TABLE_BYTES;
}

/* All events until now were passed on, and what they say is published. */
static void drain(struct world *w)
{
	w->drained_ns = op_clock_monotonic_ns();
	world_settle(w, 1);
	op_processes_go_on(w->p, 1);
}

/* The kernel gave a child, whose event waits, its parent's way to a table that is released: that is
 * over when the child was published, and what it may have forked until then. */
static void test_children_by_a_released_table(void)
{
	const uint32_t child = 0x7ffffff0;
	struct world w;
	void *memory;
	op_ref table;

	world_init(&w, NULL);
	world_learn_self(&w);
	drain(&w);
	drain(&w);
	CHECK_OK(op_arena_alloc(w.arena, TABLE_BYTES, &table, &memory));
	op_arena_release(w.arena, table, TABLE_BYTES, op_clock_monotonic_ns());
	op_processes_go_on(w.p, 1);
	CHECK(is_kept(&w)); /* events are late by seconds */
	w.drained_ns = op_clock_monotonic_ns();
	op_processes_on_fork(w.p, child, world_self(), w.drained_ns);
	op_processes_go_on(w.p, 1); /* the child is known, but not published yet */
	drain(&w);
	CHECK(is_kept(&w));
	drain(&w);
	CHECK(!is_kept(&w));
	world_deinit(&w);
}

TEST_MAIN({ "cold", test_cold_tables_make_room }, { "hot", test_hot_tables_stay },
	  { "windows_cut_short", test_windows_cut_short }, { "forked", test_forked },
	  { "children", test_children_by_a_released_table })
