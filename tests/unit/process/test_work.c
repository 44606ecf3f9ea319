/* SPDX-License-Identifier: Apache-2.0 */
/* Tables and names wait if a budget has no CPU time for them, and stacks do not
 * change. */
#include <unistd.h>

#include "base/io.h"
#include "inside.h"
#include "snapshot.h"
#include "test.h"
#include "world.h"

enum {
	GRANTS = 1000, /* more than any table needs */
};

static struct op_processes_stats stats_of(const struct world *w)
{
	struct op_processes_stats s;

	op_processes_get_stats(w->p, &s);
	return s;
}

static const struct op_arena_mapping *own_code(const struct world *w)
{
	return world_mapping(w, world_self(), (uint64_t)(uintptr_t)known_function, NULL);
}

/* Does the frame have an attribute that says it? */
static bool says_postponed(const struct world *w, size_t frame)
{
	const struct op_location_entry *l = world_location(w, frame);
	uint32_t i;

	for (i = 0; i < l->attributes.len; i++) {
		uint32_t number = op_window_numbers(w->window, l->attributes)[i];
		const struct op_attribute *a = &w->window->attributes.data[number];

		if (strcmp(world_text(w, a->key), "otelprof.frame.name_postponed") == 0)
			return true;
	}
	return false;
}

/* The name of a frame that waits is the file and its ELF address. */
static void check_waits(const struct world *w, size_t frame)
{
	CHECK(strstr(world_name(w, frame), "test_work+0x"));
	CHECK_STR(world_file(w, frame), "test_work");
	CHECK(world_location(w, frame)->address != 0);
	CHECK(says_postponed(w, frame));
}

static void first_sample(struct world *w)
{
	CHECK_OK(world_first_sample(w, world_self(), &snapshot.registers, snapshot.stack,
				    snapshot.len));
}

/* As the capture does it: its work has an end. */
static void begin_poll(struct world *w)
{
	op_allowance_until(&w->allowance,
			   op_clock_monotonic_ns() + UINT64_C(60000000000));
}

static void test_waits(void)
{
	uint64_t address[4];
	uint64_t bytes;
	size_t frames;
	struct world w;
	size_t i;

	memset(&snapshot, 0, sizeof(snapshot));
	snapshot.len = 4096;
	CHECK_INT(level_one(0), 5);
	world_init(&w, NULL);
	op_allowance_give_cpu(&w.allowance, 0);
	CHECK(!op_allowance_has_cpu(&w.allowance));
	begin_poll(&w);
	first_sample(&w);
	/* The stack is there, without names, and no table was made. */
	frames = world_frames(&w);
	CHECK(frames > 5);
	for (i = 0; i < 4; i++) {
		check_waits(&w, i);
		address[i] = world_location(&w, i)->address;
	}
	CHECK(!own_code(&w)->segment);
	CHECK(stats_of(&w).tables_postponed >= 1);
	CHECK(stats_of(&w).names_postponed >= 4);
	/* What it has taken so far counts. */
	bytes = stats_of(&w).own_bytes;
	/* It does not turn on it, and it does not give the table up. */
	for (i = 0; i < 4; i++) {
		world_settle(&w, UINT64_C(1000000000));
		CHECK(op_processes_next_ns(w.p) != w.now_ns);
		CHECK(!own_code(&w)->segment);
	}
	/* A table that waits is counted once. */
	i = stats_of(&w).tables_postponed;
	first_sample(&w);
	CHECK_INT(stats_of(&w).tables_postponed, i);

	/* There is time again: the table is made, and the next window has the names. */
	op_allowance_give_cpu(&w.allowance, INT64_C(10000000000));
	CHECK(op_allowance_has_cpu(&w.allowance));
	world_settle(&w, 1000);
	CHECK(w.allowance.cpu_used_ns > 0);
	op_window_reset(w.window);
	first_sample(&w);
	check_levels(&w, "test_waits");
	CHECK(own_code(&w)->segment);
	CHECK_INT(world_frames(&w), frames);
	CHECK(stats_of(&w).own_bytes < bytes);
	for (i = 0; i < 4; i++) {
		CHECK_INT(world_location(&w, i)->address, address[i]);
		CHECK(!says_postponed(&w, i));
	}
	world_deinit(&w);
}

/* Where little time is given at long intervals, a table is gone on with at each. */
static void test_little_at_a_time(void)
{
	struct world w;
	int i;

	memset(&snapshot, 0, sizeof(snapshot));
	snapshot.len = 4096;
	CHECK_INT(level_one(0), 5);
	world_init(&w, NULL);
	op_allowance_give_cpu(&w.allowance, 0);
	begin_poll(&w);
	first_sample(&w);
	CHECK(inside_jobs(w.p) >= 1);
	for (i = 0; i < GRANTS && inside_jobs(w.p); i++) {
		op_allowance_give_cpu(&w.allowance, INT64_C(3000000));
		world_settle(&w, UINT64_C(3000000000));
		/* none is left until the next time, or it was not needed */
		op_allowance_give_cpu(&w.allowance, 0);
		world_settle(&w, UINT64_C(100000000));
	}
	CHECK_INT(inside_jobs(w.p), 0);
	first_sample(&w);
	CHECK(own_code(&w)->segment);
	world_deinit(&w);
}

/* A table that nobody can go on with, since its file is closed, does not wait for ever. */
static void test_a_closed_file(void)
{
	struct world w;

	memset(&snapshot, 0, sizeof(snapshot));
	snapshot.len = 4096;
	CHECK_INT(level_one(0), 5);
	world_init(&w, NULL);
	op_allowance_give_cpu(&w.allowance, 0);
	begin_poll(&w);
	first_sample(&w);
	inside_close_jobs(w.p);
	world_settle(&w, UINT64_C(29000000000));
	CHECK(inside_jobs(w.p) >= 1);
	world_settle(&w, UINT64_C(2000000000));
	CHECK_INT(inside_jobs(w.p), 0);
	world_deinit(&w);
}

/* What was begun may take more than there was, which is owed. */
static void test_is_owed(void)
{
	struct world w;

	memset(&snapshot, 0, sizeof(snapshot));
	snapshot.len = 4096;
	CHECK_INT(level_one(0), 5);
	world_init(&w, NULL);
	op_allowance_give_cpu(&w.allowance, 1);
	begin_poll(&w);
	first_sample(&w);
	CHECK(!op_allowance_has_cpu(&w.allowance));
	CHECK(w.allowance.cpu_used_ns > 1);
	world_deinit(&w);
}

static bool refuse(void *ctx, uint64_t bytes, bool needed)
{
	*(uint64_t *)ctx += needed ? bytes : 0;
	return false;
}

/* Where there is no room for what making a table takes, there is none for a while. */
static void test_no_room(void)
{
	uint64_t asked = 0;
	struct world w;

	memset(&snapshot, 0, sizeof(snapshot));
	snapshot.len = 4096;
	CHECK_INT(level_one(0), 5);
	world_init(&w, NULL);
	w.allowance.may_take = refuse;
	w.allowance.may_take_ctx = &asked;
	begin_poll(&w);
	first_sample(&w);
	CHECK(asked >= 65536);
	CHECK(!own_code(&w)->segment);
	CHECK(stats_of(&w).tables_postponed >= 1);
	CHECK(stats_of(&w).names_postponed >= 1);
	check_waits(&w, 0);
	w.allowance.may_take = NULL;
	world_settle(&w, UINT64_C(3000000000));
	begin_poll(&w);
	first_sample(&w);
	CHECK(own_code(&w)->segment);
	world_deinit(&w);
}

/* Without a budget nothing waits, and nothing is measured. */
static void test_without_a_budget(void)
{
	struct world w;

	memset(&snapshot, 0, sizeof(snapshot));
	snapshot.len = 4096;
	CHECK_INT(level_one(0), 5);
	world_init(&w, NULL);
	begin_poll(&w);
	first_sample(&w);
	check_levels(&w, "test_without_a_budget");
	CHECK(op_allowance_has_cpu(&w.allowance));
	CHECK_INT(w.allowance.cpu_used_ns, 0);
	CHECK_INT(stats_of(&w).names_postponed, 0);
	CHECK_INT(stats_of(&w).tables_postponed, 0);
	world_deinit(&w);
}

TEST_MAIN({ "waits", test_waits }, { "little_at_a_time", test_little_at_a_time },
	  { "a_closed_file", test_a_closed_file }, { "is_owed", test_is_owed },
	  { "no_room", test_no_room }, { "without_a_budget", test_without_a_budget })
