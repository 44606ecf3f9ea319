/* SPDX-License-Identifier: Apache-2.0 */
/* What is in use, is of one moment: a recording of several windows has that of the last one,
 * and the sum of what was allocated. */
#include "base/macros.h"
#include "export/format/collect/collect.h"
#include "profile/otlp/encode.h"
#include "profile/window.h"

#include "test.h"

enum {
	WINDOW_NS = 1000
};

static struct op_collect *collect;

static int take(void *data, void *bytes, size_t len, uint64_t samples)
{
	CHECK_OK(op_collect_add(collect, bytes, len));
	free(bytes);
	return 0;
}

/* A window of process @pid that began at @start_ns, with @allocated and @in_use in two stacks. */
static void add_window(uint32_t pid, uint64_t start_ns, int64_t allocated, int64_t in_use,
		       uint64_t address)
{
	const struct op_window_config config = { .period_ns = 1 };
	const struct op_otlp_options options = { .start_ns = start_ns,
						 .end_ns = start_ns + WINDOW_NS,
						 .version = "1" };
	const struct op_resource resource = { .pid = pid };
	const struct op_location location = { .address = address };
	_cleanup_(op_window_freep) struct op_window *w = NULL;
	struct op_window_sample s = { .time_ns = start_ns + 1 };
	uint64_t left_out;
	uint32_t n;

	CHECK_OK(op_window_new(&config, &w));
	CHECK_OK(op_window_resource(w, &resource, &s.resource));
	CHECK_OK(op_window_location(w, &location, &n));
	CHECK_OK(op_window_stack(w, &n, 1, &s.stack));
	s.event = OP_EVENT_HEAP;
	s.value = allocated;
	CHECK_OK(op_window_add(w, &s));
	s.event = OP_EVENT_HEAP_LIVE;
	s.value = in_use;
	CHECK_OK(op_window_add(w, &s));
	s.event = OP_EVENT_GOROUTINES;
	s.value = 1;
	s.count = (double)in_use;
	CHECK_OK(op_window_add(w, &s));
	CHECK_OK(op_otlp_encode(w, &options, take, NULL, &left_out));
}

static int64_t sum(const char *type)
{
	const struct op_collect_stack *s;
	int64_t all = 0;

	op_vec_foreach(s, &collect->stacks) {
		const struct op_collect_kind *k = &collect->kinds.data[s->kind];
		struct otlp_text t = op_strings_get(&collect->strings, k->type);

		if (otlp_text_is(t, type))
			all += s->value;
	}
	return all;
}

static void test_the_last_window(void)
{
	CHECK_OK(op_collect_new(OP_COLLECT_LOCATIONS, &collect));
	add_window(7, 1000, 50, 30, 4096);
	CHECK_INT(sum("inuse_space"), 30);
	add_window(7, 2000, 60, 10, 4096);
	CHECK_INT(sum("inuse_space"), 10);
	CHECK_INT(sum("goroutines"), 10);
	/* another stack takes its place, too */
	add_window(7, 3000, 70, 5, 8192);
	CHECK_INT(sum("inuse_space"), 5);
	CHECK_INT(sum("inuse_objects"), 1);
	/* one that comes late is older, and another part of the same window adds */
	add_window(7, 2500, 70, 1000, 4096);
	CHECK_INT(sum("inuse_space"), 5);
	add_window(7, 3000, 0, 6, 4096);
	CHECK_INT(sum("inuse_space"), 11);
	CHECK_INT(sum("alloc_space"), 50 + 60 + 70 + 70);
	(void)op_collect_free(collect);
}

/* Of one host: whoever recorded them, processes add up, and one of them counts once. */
static void test_two_recorders(void)
{
	CHECK_OK(op_collect_new(OP_COLLECT_LOCATIONS, &collect));
	add_window(7, 1000, 50, 30, 4096);
	add_window(8, 1500, 50, 4000, 4096);
	CHECK_INT(sum("inuse_space"), 4030);
	CHECK_INT(sum("goroutines"), 4030);
	add_window(7, 2000, 60, 10, 4096);
	CHECK_INT(sum("inuse_space"), 4010);
	add_window(8, 1000, 60, 700, 4096);
	CHECK_INT(sum("inuse_space"), 4010);
	CHECK_INT(sum("alloc_space"), 50 + 50 + 60 + 60);
	/* one that is in no later window has ended: here 8, then 9 */
	add_window(9, 2500, 0, 500, 4096);
	CHECK_INT(sum("inuse_space"), 510);
	add_window(7, 3000, 0, 20, 4096);
	CHECK_INT(sum("inuse_space"), 520);
	add_window(7, 4000, 0, 21, 4096);
	CHECK_INT(sum("inuse_space"), 21);
	(void)op_collect_free(collect);
}

static void test_types(void)
{
	static const char *const OF_A_MOMENT[] = { "inuse_space", "inuse_objects",
						   "threads", "goroutines" };
	static const char *const SUMS[] = { "alloc_space", "samples", "wall", "thread",
					    "" };
	size_t i;

	for (i = 0; i < OP_ARRAY_SIZE(OF_A_MOMENT); i++)
		CHECK(op_moments_has_type(
			(struct otlp_text){ OF_A_MOMENT[i], strlen(OF_A_MOMENT[i]) }));
	for (i = 0; i < OP_ARRAY_SIZE(SUMS); i++)
		CHECK(!op_moments_has_type(
			(struct otlp_text){ SUMS[i], strlen(SUMS[i]) }));
}

TEST_MAIN({ "the_last_window", test_the_last_window },
	  { "two_recorders", test_two_recorders }, { "types", test_types })
