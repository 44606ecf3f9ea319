/* SPDX-License-Identifier: Apache-2.0 */
/* Stacks that are announced once, and then referred to by a hash. */
#include <errno.h>

#include "process/processes.h"
#include "profile/window_tables.h"
#include "sample/sampler.h"

#include "inside.h"
#include "test.h"
#include "world.h"

static void open_world(struct world *w)
{
	world_init(w, NULL);
	CHECK_OK(inside_scan(w->p));
	world_settle(w, 0);
}

static bool holds(const struct world *w, const char *text)
{
	uint32_t i;

	for (i = 0; i < w->window->strings.len; i++)
		if (!strcmp(world_text(w, i), text))
			return true;
	return false;
}

static void test_a_named_sample_has_the_stack_announced(void)
{
	const struct op_hash hash = { { 0x1111, 0x2222 } };
	const uint64_t word = world_exact((const void *)known_function);
	struct world w;

	open_world(&w);
	CHECK_OK(world_announce(&w, world_self(), &hash, &word, 1));
	CHECK_INT(op_window_samples(w.window), 0); /* it is no sample */
	CHECK_OK(world_named_sample(&w, world_self(), &hash, 0));
	CHECK_OK(world_named_sample(&w, world_self(), &hash, 0));
	CHECK_INT(op_window_samples(w.window), 2);
	CHECK_INT(w.window->identities.len, 1);
	CHECK_INT(world_frames(&w), 1);
	CHECK_STR(world_name(&w, 0), "known_function");
	CHECK_INT(world_last(&w)->event, OP_EVENT_PAGE_FAULTS);
	CHECK(holds(&w, "minor") && !holds(&w, "major"));
	CHECK_OK(world_named_sample(&w, world_self(), &hash, 1));
	CHECK_INT(w.window->identities.len, 2);
	CHECK(holds(&w, "major"));
	CHECK(!op_sampler_take_lost(w.sampler));
	world_deinit(&w);
}

static void test_a_lost_announcement_is_told_and_asked_for(void)
{
	const struct op_hash hash = { { 0x1111, 0x2222 } };
	const struct op_hash other = { { 0x1111, 0x3333 } };
	const uint64_t word = world_exact((const void *)known_function);
	struct world w;

	open_world(&w);
	CHECK_OK(world_named_sample(&w, world_self(), &hash, 0));
	CHECK_INT(op_window_samples(w.window), 1);
	CHECK_INT(world_frames(&w), 1);
	CHECK_STR(world_name(&w, 0), "[stack lost]");
	CHECK_INT(op_sampler_announcements_lost(w.sampler), 1);
	CHECK(op_sampler_take_lost(w.sampler));
	CHECK(!op_sampler_take_lost(w.sampler));
	CHECK_OK(world_announce(&w, world_self(), &hash, &word, 1));
	CHECK_OK(world_named_sample(&w, world_self(), &hash, 0));
	CHECK_STR(world_name(&w, 0), "known_function");
	/* half of the hash is not enough */
	CHECK_OK(world_named_sample(&w, world_self(), &other, 0));
	CHECK_STR(world_name(&w, 0), "[stack lost]");
	CHECK_INT(op_sampler_announcements_lost(w.sampler), 2);
	world_deinit(&w);
}

static void end_window(struct world *w)
{
	op_sampler_window_end(w->sampler);
	op_window_reset(w->window);
}

static void named_is(struct world *w, const struct op_hash *hash, const char *function)
{
	CHECK_OK(world_named_sample(w, world_self(), hash, 0));
	CHECK_STR(world_name(w, 0), function);
}

static void test_a_stack_is_known_for_one_more_window(void)
{
	const struct op_hash hash = { { 0x1111, 0x2222 } };
	const uint64_t word = world_exact((const void *)known_function);
	struct world w;

	open_world(&w);
	CHECK_OK(world_announce(&w, world_self(), &hash, &word, 1));
	op_sampler_drained(w.sampler);
	end_window(&w);
	named_is(&w, &hash, "known_function"); /* was still in the ring */
	op_sampler_drained(w.sampler);
	end_window(&w);
	named_is(&w, &hash, "[stack lost]");
	world_deinit(&w);
}

/* A poll has an end, so windows may end faster than the ring is read. */
static void test_a_stack_is_known_while_records_wait(void)
{
	const struct op_hash hash = { { 0x1111, 0x2222 } };
	const uint64_t word = world_exact((const void *)known_function);
	struct world w;
	int i;

	open_world(&w);
	CHECK_OK(world_announce(&w, world_self(), &hash, &word, 1));
	for (i = 0; i < 4; i++) {
		end_window(&w);
		named_is(&w, &hash, "known_function");
	}
	op_sampler_drained(w.sampler);
	for (i = 0; i < 4; i++)
		end_window(&w);
	named_is(&w, &hash, "known_function");
	CHECK_INT(op_sampler_announcements_lost(w.sampler), 0);
	world_deinit(&w);
}

static void test_bad_announcements(void)
{
	const struct op_hash hash = { { 1, 2 } };
	struct op_named named = { .header = { .type = OP_RECORD_NAMED,
					      .version = OP_RECORD_VERSION,
					      .bytes = sizeof(named) },
				  .event = OP_EVENT_MAX };
	struct op_record_header h = { .type = OP_RECORD_REQUEST,
				      .version = OP_RECORD_VERSION,
				      .bytes = sizeof(h) };
	struct world w;

	open_world(&w);
	CHECK_INT(world_announce(&w, world_self(), &hash, NULL, 0), 0);
	CHECK_INT(op_sampler_add_record(w.sampler, &named, sizeof(named), w.window),
		  -EBADMSG);
	named.header.bytes -= 8;
	named.event = 0;
	CHECK_INT(op_sampler_add_record(w.sampler, &named, sizeof(named), w.window),
		  -EBADMSG);
	CHECK_INT(op_sampler_add_record(w.sampler, &h, sizeof(h), w.window), -EBADMSG);
	h.type = OP_RECORD_STACK;
	CHECK_INT(op_sampler_add_record(w.sampler, &h, sizeof(h), w.window), -EBADMSG);
	CHECK(op_sampler_is_sample(OP_RECORD_SAMPLE) &&
	      op_sampler_is_sample(OP_RECORD_NAMED));
	CHECK(!op_sampler_is_sample(OP_RECORD_STACK) &&
	      !op_sampler_is_sample(OP_RECORD_REQUEST));
	world_deinit(&w);
}

TEST_MAIN({ "named", test_a_named_sample_has_the_stack_announced },
	  { "lost", test_a_lost_announcement_is_told_and_asked_for },
	  { "window", test_a_stack_is_known_for_one_more_window },
	  { "waiting", test_a_stack_is_known_while_records_wait },
	  { "bad", test_bad_announcements })
