/* SPDX-License-Identifier: Apache-2.0 */
/* More stacks than a file tells apart: no sample is lost, and those that are left have a name. */
#include "base/macros.h"
#include "export/format/collect/collect.h"
#include "profile/otlp/encode.h"
#include "profile/window.h"

#include "test.h"

enum {
	STACKS_MAX = 10, /* of this test */
	PERIOD_NS = 1000,
};

static struct op_collect *collect;

static int take(void *data, void *bytes, size_t len, uint64_t samples)
{
	CHECK_OK(op_collect_add(collect, bytes, len));
	free(bytes);
	return 0;
}

/* A request with a sample in each of the stacks @first to @end - 1 of process @pid. */
static void add(uint32_t pid, uint64_t first, uint64_t end)
{
	const struct op_window_config config = { .period_ns = PERIOD_NS };
	const struct op_otlp_options options = { .start_ns = 1000,
						 .end_ns = 2000,
						 .version = "1" };
	const struct op_resource resource = { .pid = pid };
	_cleanup_(op_window_freep) struct op_window *w = NULL;
	struct op_window_sample s = { .time_ns = 1500, .value = PERIOD_NS };
	uint64_t left_out;
	uint64_t i;

	CHECK_OK(op_window_new(&config, &w));
	CHECK_OK(op_window_resource(w, &resource, &s.resource));
	for (i = first; i < end; i++) {
		const struct op_location location = { .address = 4096 + i };
		uint32_t n;

		CHECK_OK(op_window_location(w, &location, &n));
		CHECK_OK(op_window_stack(w, &n, 1, &s.stack));
		CHECK_OK(op_window_add(w, &s));
	}
	CHECK_OK(op_otlp_encode(w, &options, take, NULL, &left_out));
}

/* The samples of process @pid; *@ret_other: of them, those that are not told apart. */
static int64_t samples(int64_t pid, int64_t *ret_other)
{
	const struct op_collect_stack *s;
	struct op_collect_path path = { 0 };
	int64_t all = 0;

	*ret_other = 0;
	op_vec_foreach(s, &collect->stacks) {
		const struct op_collect_kind *k = &collect->kinds.data[s->kind];
		struct otlp_text name;

		if (!otlp_text_is(op_strings_get(&collect->strings, k->type),
				  "samples") ||
		    collect->processes.data[s->process].pid != pid)
			continue;
		CHECK_OK(op_collect_path(collect, s, &path));
		CHECK_INT(path.len, 1);
		name = op_strings_get(&collect->strings,
				      collect->functions.data[path.data[0]].name);
		all += s->value;
		if (otlp_text_is(name, "[other stacks]"))
			*ret_other += s->value;
	}
	free(path.data);
	return all;
}

static void test_none_is_lost(void)
{
	int64_t other;
	size_t before;

	CHECK_OK(op_collect_new(OP_COLLECT_LOCATIONS, &collect));
	CHECK_INT(collect->stacks_max, OP_COLLECT_STACKS_MAX);
	collect->stacks_max = STACKS_MAX;
	add(7, 0, 5);
	CHECK_INT(samples(7, &other), 5);
	CHECK_INT(other, 0);
	before = collect->stacks.len;
	collect->stacks_max = before; /* one or more for each stack, by its kinds */
	add(7, 0, 30);
	CHECK_INT(samples(7, &other), 35);
	CHECK_INT(other, 25);
	/* What was there is told apart still, and another process has its own. */
	add(7, 3, 4);
	add(8, 0, 40);
	CHECK_INT(samples(7, &other), 36);
	CHECK_INT(other, 25);
	CHECK_INT(samples(8, &other), 40);
	CHECK_INT(other, 40);
	CHECK(collect->stacks.len <= before + 2 * before / 5);
	(void)op_collect_free(collect);
}

TEST_MAIN({ "none_is_lost", test_none_is_lost })
