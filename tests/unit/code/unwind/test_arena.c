/* SPDX-License-Identifier: Apache-2.0 */
#include "code/unwind/arena.h"

#include <time.h>

#include "test.h"

struct maker {
	void *slabs[OP_SLABS_MAX];
	uint32_t made;
	uint32_t fail_at; /* this slab cannot be made */
};

static int make_slab(void *ctx, uint32_t index, void **ret)
{
	struct maker *m = ctx;

	CHECK_INT(index, m->made);
	if (index == m->fail_at)
		return -EPERM;
	m->slabs[index] = calloc(1, OP_SLAB_BYTES);
	CHECK(m->slabs[index]);
	m->made++;
	*ret = m->slabs[index];
	return 0;
}

static const struct op_arena_ops ops = { .add_slab = make_slab };

static struct op_arena *new_arena(struct maker *m, uint64_t budget)
{
	struct op_arena *arena = NULL;

	*m = (struct maker){ .fail_at = UINT32_MAX };
	CHECK_OK(op_arena_new(&ops, m, budget, &arena));
	return arena;
}

static void end(struct maker *m, struct op_arena *arena)
{
	uint32_t i;

	op_arena_free(arena);
	for (i = 0; i < m->made; i++)
		free(m->slabs[i]);
}

static uint32_t random32(uint32_t *x)
{
	*x = *x * 1664525u + 1013904223u;
	return *x >> 8;
}

struct object {
	op_ref ref;
	size_t bytes;
	uint8_t *at;
	uint8_t fill;
	uint64_t released_ns; /* 0: live */
};

/*
 * Live objects and those in their grace keep their content whatever is given out and
 * written meanwhile: so nothing overlaps and no grace is cut short.
 */
static void check_content(const struct object *o)
{
	size_t i;

	for (i = 0; i<o->bytes; i += o->bytes> 4096 ? 509 : 1)
		CHECK_INT(o->at[i], o->fill);
	CHECK_INT(o->at[o->bytes - 1], o->fill);
}

static void fill_new(struct op_arena *arena, struct object *o, uint32_t *x)
{
	static const size_t most[] = { 8, 64, 512, 8192, 131072 };
	void *at = NULL;

	*o = (struct object){ .bytes = 1 + random32(x) % most[random32(x) % 5] };
	o->fill = (uint8_t)random32(x);
	if (op_arena_alloc(arena, o->bytes, &o->ref, &at) < 0) {
		*o = (struct object){ 0 };
		return;
	}
	o->at = at;
	CHECK(o->ref != 0);
	CHECK(op_arena_at(arena, o->ref) == at);
	CHECK_INT((uintptr_t)at % 8, 0);
	/* inside one slab */
	CHECK_INT((((uint64_t)o->ref * 8 + o->bytes - 1) >> OP_SLAB_SHIFT),
		  (uint64_t)o->ref * 8 >> OP_SLAB_SHIFT);
	memset(o->at, o->fill, o->bytes);
}

static void test_random_objects_keep_their_content(void)
{
	enum {
		OBJECTS = 400,
		STEPS = 30000
	};
	static struct object objects[OBJECTS];
	struct maker m;
	struct op_arena *arena = new_arena(&m, 16 * OP_SLAB_BYTES);
	struct op_arena_stats stats;
	uint64_t now = 1;
	uint32_t x = 7;
	int step;
	int i;

	for (step = 0; step < STEPS; step++) {
		struct object *o = &objects[random32(&x) % OBJECTS];

		now += random32(&x) % 5000000;
		op_arena_reclaim(arena, now);
		if (o->ref && !o->released_ns) {
			check_content(o);
			op_arena_release(arena, o->ref, o->bytes, now);
			o->released_ns = now;
		} else if (!o->ref || now - o->released_ns >= OP_ARENA_GRACE_NS) {
			fill_new(arena, o, &x);
		} else {
			check_content(o);
		}
	}
	for (i = 0; i < OBJECTS; i++) {
		if (objects[i].ref && !objects[i].released_ns)
			op_arena_release(arena, objects[i].ref, objects[i].bytes, now);
	}
	op_arena_reclaim(arena, now + OP_ARENA_GRACE_NS);
	op_arena_get_stats(arena, &stats);
	CHECK_INT(stats.used_bytes, 0);
	CHECK_INT(stats.grace_bytes, 0);
	/* All joined again: every slab but the first gives one object of a whole slab. */
	for (i = 1; i < (int)(stats.slab_bytes / OP_SLAB_BYTES); i++) {
		struct object o;
		void *at;

		CHECK_OK(op_arena_alloc(arena, OP_SLAB_BYTES, &o.ref, &at));
	}
	CHECK_INT(m.made, stats.slab_bytes / OP_SLAB_BYTES);
	end(&m, arena);
}

/*
 * The kernel makes whoever adds a slab wait until no program can be in the old state of its
 * map. So tables and processes, of which there are thousands, are never slabs of their own.
 */
static void test_many_objects_in_one_slab(void)
{
	enum {
		PROCESSES = 4000,
		PROCESS_BYTES = 80 + 24 * (8 + 24),
	};
	struct maker m;
	struct op_arena *arena = new_arena(&m, 16 * OP_SLAB_BYTES);
	op_ref ref[PROCESSES];
	void *at;
	int round;
	int i;

	for (round = 0; round < 8; round++) {
		uint64_t now = 1 + (uint64_t)round * 2 * OP_ARENA_GRACE_NS;

		op_arena_reclaim(arena, now);
		for (i = 0; i < PROCESSES; i++)
			CHECK_OK(op_arena_alloc(arena, PROCESS_BYTES, &ref[i], &at));
		for (i = 0; i < PROCESSES; i++)
			op_arena_release(arena, ref[i], PROCESS_BYTES, now);
	}
	CHECK(m.made <= PROCESSES * PROCESS_BYTES / OP_SLAB_BYTES + 1);
	end(&m, arena);
}

static void test_grace_is_honoured(void)
{
	struct maker m;
	struct op_arena *arena = new_arena(&m, OP_SLAB_BYTES);
	struct op_arena_stats stats;
	size_t most = OP_SLAB_BYTES - 8; /* the first granule is "none" */
	op_ref ref;
	op_ref again;
	void *at;

	CHECK_OK(op_arena_alloc(arena, most, &ref, &at));
	op_arena_release(arena, ref, most, 5);
	op_arena_reclaim(arena, 5 + OP_ARENA_GRACE_NS - 1);
	CHECK_INT(op_arena_alloc(arena, 1, &again, &at), -ENOSPC);
	op_arena_get_stats(arena, &stats);
	CHECK_INT(stats.grace_bytes, most);
	CHECK_INT(stats.failed, 1);
	op_arena_reclaim(arena, 5 + OP_ARENA_GRACE_NS);
	CHECK_OK(op_arena_alloc(arena, most, &again, &at));
	CHECK_INT(again, ref);
	end(&m, arena);
}

static uint64_t clock_now;

static uint64_t pretended_clock(void *ctx)
{
	return clock_now;
}

/* Something may still lead to what was released after the fence. */
static void test_fence(void)
{
	struct maker m;
	struct op_arena *arena = new_arena(&m, OP_SLAB_BYTES);
	struct op_arena_stats stats;
	op_ref ref[2];
	void *at;

	CHECK_OK(op_arena_alloc(arena, 64, &ref[0], &at));
	CHECK_OK(op_arena_alloc(arena, 128, &ref[1], &at));
	op_arena_release(arena, ref[0], 64, 5);
	op_arena_release(arena, ref[1], 128, 7);
	op_arena_set_fence(arena, 6);
	op_arena_reclaim(arena, 7 + OP_ARENA_GRACE_NS);
	op_arena_get_stats(arena, &stats);
	CHECK_INT(stats.grace_bytes, 128);
	op_arena_set_fence(arena, 7);
	op_arena_reclaim(arena, 7 + OP_ARENA_GRACE_NS);
	op_arena_get_stats(arena, &stats);
	CHECK_INT(stats.grace_bytes, 0);
	/* a fence that does not move keeps nothing for ever */
	CHECK_OK(op_arena_alloc(arena, 64, &ref[0], &at));
	op_arena_release(arena, ref[0], 64, 9);
	op_arena_reclaim(arena, 9 + OP_ARENA_FENCE_NS_MAX - 1);
	op_arena_get_stats(arena, &stats);
	CHECK_INT(stats.grace_bytes, 64);
	op_arena_reclaim(arena, 9 + OP_ARENA_FENCE_NS_MAX);
	op_arena_get_stats(arena, &stats);
	CHECK_INT(stats.grace_bytes, 0);
	end(&m, arena);
}

/* A batch of records takes two seconds; what it releases has the time of its beginning. */
static void test_grace_does_not_lag(void)
{
	const struct op_arena_ops with_clock = { .add_slab = make_slab,
						 .clock_ns = pretended_clock };
	uint64_t began = UINT64_C(5000000000);
	struct op_arena *arena = NULL;
	struct op_arena_stats stats;
	struct maker m = { .fail_at = UINT32_MAX };
	op_ref ref;
	void *at;

	CHECK_OK(op_arena_new(&with_clock, &m, OP_SLAB_BYTES, &arena));
	CHECK_OK(op_arena_alloc(arena, 64, &ref, &at));
	clock_now = began + 2 * OP_ARENA_GRACE_NS;
	op_arena_release(arena, ref, 64, began);
	op_arena_reclaim(arena, clock_now + 1);
	op_arena_get_stats(arena, &stats);
	CHECK_INT(stats.grace_bytes, 64);
	op_arena_reclaim(arena, clock_now + OP_ARENA_GRACE_NS);
	op_arena_get_stats(arena, &stats);
	CHECK_INT(stats.grace_bytes, 0);
	end(&m, arena);
}

/* Thousands of small holes, and larger objects behind them: their number does not matter.
 * Each alloc of two granules would look at 60,000 holes of one: 10 s with a sanitizer. */
static void test_holes_are_not_looked_at_again(void)
{
	enum {
		HOLES = 60000,
		AGAIN = 100000
	};
	static op_ref small[2 * HOLES];
	struct maker m;
	struct op_arena *arena = new_arena(&m, 4 * OP_SLAB_BYTES);
	clock_t start;
	op_ref ref;
	void *at;
	int i;

	for (i = 0; i < 2 * HOLES; i++)
		CHECK_OK(op_arena_alloc(arena, 8, &small[i], &at));
	for (i = 0; i < HOLES; i++)
		op_arena_release(arena, small[2 * i], 8, 0);
	start = clock();
	for (i = 0; i < AGAIN; i++) {
		CHECK_OK(op_arena_alloc(arena, 16, &ref, &at));
		CHECK(ref > small[2 * HOLES - 1]);
		op_arena_release(arena, ref, 16, 0);
	}
	CHECK(clock() - start < CLOCKS_PER_SEC);
	/* and they are found again by what fits */
	CHECK_OK(op_arena_alloc(arena, 8, &ref, &at));
	CHECK_INT(ref, small[0]);
	end(&m, arena);
}

static void test_budget_and_sizes(void)
{
	struct maker m;
	struct op_arena *arena = new_arena(&m, 2 * OP_SLAB_BYTES + 100);
	struct op_arena_stats stats;
	op_ref ref = 0;
	void *at;

	CHECK_INT(op_arena_alloc(arena, (size_t)OP_SLAB_BYTES + 1, &ref, &at), -E2BIG);
	CHECK_INT(m.made, 0);
	/* A whole slab cannot be in the first one, which has no first granule. */
	CHECK_OK(op_arena_alloc(arena, OP_SLAB_BYTES, &ref, &at));
	CHECK_INT(ref, OP_SLAB_BYTES / 8);
	CHECK_INT(op_arena_alloc(arena, OP_SLAB_BYTES, &ref, &at), -ENOSPC);
	CHECK_OK(op_arena_alloc(arena, 1, &ref, &at));
	CHECK_INT(ref, 1);
	op_arena_get_stats(arena, &stats);
	CHECK_INT(stats.limit_bytes, 2 * OP_SLAB_BYTES);
	CHECK_INT(stats.used_bytes, OP_SLAB_BYTES + 8);
	op_arena_release(arena, 0, 100, 1);
	op_arena_get_stats(arena, &stats);
	CHECK_INT(stats.used_bytes, OP_SLAB_BYTES + 8);
	end(&m, arena);
	arena = new_arena(&m, 0);
	op_arena_get_stats(arena, &stats);
	CHECK_INT(stats.limit_bytes, OP_SLAB_BYTES);
	end(&m, arena);
}

static void test_a_slab_that_cannot_be_made(void)
{
	struct maker m;
	struct op_arena *arena = new_arena(&m, 4 * OP_SLAB_BYTES);
	op_ref ref;
	void *at;

	m.fail_at = 0;
	CHECK_INT(op_arena_alloc(arena, 8, &ref, &at), -EPERM);
	m.fail_at = UINT32_MAX;
	CHECK_OK(op_arena_alloc(arena, 8, &ref, &at));
	end(&m, arena);
}

/* What the kernel keeps of a slab while it is not mapped. */
static void *kept[OP_SLABS_MAX];
static bool cannot_map;

/* A use of the old address is a use after free. */
static int rest_slab(void *ctx, uint32_t index)
{
	struct maker *m = ctx;

	kept[index] = malloc(OP_SLAB_BYTES);
	CHECK(kept[index]);
	memcpy(kept[index], m->slabs[index], OP_SLAB_BYTES);
	free(m->slabs[index]);
	m->slabs[index] = NULL;
	return 0;
}

static int wake_slab(void *ctx, uint32_t index, void **ret)
{
	struct maker *m = ctx;

	if (cannot_map)
		return -ENOMEM;
	CHECK(!m->slabs[index] && kept[index]);
	*ret = m->slabs[index] = kept[index];
	kept[index] = NULL;
	return 0;
}

static void test_slabs_rest(void)
{
	static const struct op_arena_ops resting = { .add_slab = make_slab,
						     .unmap_slab = rest_slab,
						     .map_slab = wake_slab };
	struct maker m = { .fail_at = UINT32_MAX };
	struct op_arena *arena = NULL;
	struct op_arena_stats stats;
	op_ref first;
	op_ref second;
	op_ref third;
	void *at;

	CHECK_OK(op_arena_new(&resting, &m, 4 * OP_SLAB_BYTES, &arena));
	CHECK_OK(op_arena_alloc(arena, 100, &first, &at));
	memset(at, 1, 100);
	CHECK_OK(op_arena_alloc(arena, OP_SLAB_BYTES, &second, &at));
	memset(at, 2, OP_SLAB_BYTES);
	op_arena_rest(arena);
	op_arena_rest(arena);
	op_arena_get_stats(arena, &stats);
	CHECK_INT(stats.unmapped_bytes, 2 * OP_SLAB_BYTES);
	/* only what is needed is mapped again */
	CHECK_INT(*(uint8_t *)op_arena_at(arena, second), 2);
	op_arena_get_stats(arena, &stats);
	CHECK_INT(stats.unmapped_bytes, OP_SLAB_BYTES);
	CHECK_OK(op_arena_alloc(arena, 100, &third, &at));
	CHECK_INT(*(uint8_t *)op_arena_at(arena, first), 1);

	op_arena_rest(arena);
	cannot_map = true;
	CHECK_INT(op_arena_alloc(arena, 8, &third, &at), -ENOMEM);
	CHECK(!op_arena_slab(arena, 0));
	CHECK_INT(*(uint8_t *)op_arena_at(arena, first), 0);
	*(uint8_t *)op_arena_at(arena, first) = 9;
	op_arena_get_stats(arena, &stats);
	CHECK_INT(stats.map_failures, 4);
	cannot_map = false;
	CHECK_INT(*(uint8_t *)op_arena_at(arena, first), 1);
	CHECK_INT(*(uint8_t *)op_arena_at(arena, second), 2);
	end(&m, arena);
}

static uint32_t removed; /* the slab that was removed last */

static int remove_slab(void *ctx, uint32_t index)
{
	struct maker *m = ctx;

	free(m->slabs[index]);
	m->slabs[index] = NULL;
	removed = index;
	return 0;
}

static int make_again(void *ctx, uint32_t index, void **ret)
{
	struct maker *m = ctx;

	CHECK(!m->slabs[index]);
	m->slabs[index] = calloc(1, OP_SLAB_BYTES);
	CHECK(m->slabs[index]);
	m->made = index + 1 > m->made ? index + 1 : m->made;
	*ret = m->slabs[index];
	return 0;
}

/* What is in use stays, and what is in its grace period; a number is given out again. */
static void test_slabs_are_given_back(void)
{
	static const struct op_arena_ops giving = { .add_slab = make_again,
						    .remove_slab = remove_slab };
	struct maker m = { .fail_at = UINT32_MAX };
	struct op_arena *arena = NULL;
	struct op_arena_stats stats;
	op_ref whole[4];
	op_ref small;
	void *at;
	int i;

	CHECK_OK(op_arena_new(&giving, &m, 8 * OP_SLAB_BYTES, &arena));
	CHECK_OK(op_arena_alloc(arena, 8, &small, &at));
	for (i = 0; i < 4; i++)
		CHECK_OK(op_arena_alloc(arena, OP_SLAB_BYTES, &whole[i], &at));
	CHECK_INT(op_arena_give_back(arena, 8 * OP_SLAB_BYTES), 0);
	op_arena_release(arena, whole[1], OP_SLAB_BYTES, 1000);
	op_arena_release(arena, whole[2], OP_SLAB_BYTES, 1000);
	CHECK_INT(op_arena_give_back(arena, 1), 0);
	op_arena_reclaim(arena, 1000 + OP_ARENA_GRACE_NS);
	/* a slab for the smallest wish, from behind */
	CHECK_INT(op_arena_give_back(arena, 1), OP_SLAB_BYTES);
	CHECK_INT(removed, 3);
	CHECK(!op_arena_slab(arena, 3));
	CHECK_INT(op_arena_give_back(arena, 8 * OP_SLAB_BYTES), OP_SLAB_BYTES);
	CHECK_INT(removed, 2);
	op_arena_get_stats(arena, &stats);
	CHECK_INT(stats.slab_bytes, 3 * OP_SLAB_BYTES);
	CHECK_INT(stats.unmapped_bytes, 0);
	op_arena_rest(arena);
	/* no more than the room */
	op_arena_set_limit(arena, 4 * OP_SLAB_BYTES);
	CHECK_OK(op_arena_alloc(arena, OP_SLAB_BYTES, &whole[1], &at));
	CHECK_INT(whole[1] >> OP_REF_SLAB_SHIFT, 2);
	memset(at, 7, OP_SLAB_BYTES);
	CHECK_INT(op_arena_alloc(arena, OP_SLAB_BYTES, &whole[2], &at), -ENOSPC);
	op_arena_set_limit(arena, 100 * OP_SLAB_BYTES);
	CHECK_OK(op_arena_alloc(arena, OP_SLAB_BYTES, &whole[2], &at));
	CHECK_INT(whole[2] >> OP_REF_SLAB_SHIFT, 3);
	CHECK_OK(op_arena_alloc(arena, OP_SLAB_BYTES, &small, &at));
	CHECK_INT(small >> OP_REF_SLAB_SHIFT, 5);
	CHECK_INT(*(uint8_t *)op_arena_at(arena, whole[1]), 7);
	end(&m, arena);
}

TEST_MAIN({ "rest", test_slabs_rest }, { "given_back", test_slabs_are_given_back },
	  { "many", test_many_objects_in_one_slab },
	  { "random", test_random_objects_keep_their_content },
	  { "grace", test_grace_is_honoured }, { "budget", test_budget_and_sizes },
	  { "lag", test_grace_does_not_lag }, { "fence", test_fence },
	  { "holes", test_holes_are_not_looked_at_again },
	  { "slab", test_a_slab_that_cannot_be_made })
