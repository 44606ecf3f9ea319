/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every allocation of filling and of encoding a window fails once. A call that fails says
 * -ENOMEM and can be made again: what comes out in the end is always the same.
 */
#include "fail_alloc.h"
#include "model.h"
#include "profile/otlp/encode.h"
#include "reader.h"

/* Once more where the first time failed as it should. */
#define TWICE(call)                                                                      \
	do {                                                                             \
		int _first = (call);                                                     \
		if (_first < 0) {                                                        \
			CHECK(failed);                                                   \
			CHECK_INT(_first, -ENOMEM);                                      \
			CHECK_OK(call);                                                  \
		}                                                                        \
	} while (0)

enum {
	SAMPLES = 60
};

static const struct op_window_config CONFIG = { .period_ns = 50000000 };

static void fill(struct op_window *w, uint32_t i)
{
	struct op_window_sample s = { .tid = i % 3, .event = i % 2, .time_ns = 1000 + i };
	struct op_resource r = { .pid = i % 5 };
	struct op_function f = { 0 };
	struct op_window_mapping m = { .start = 1 + i % 7, .limit = 99 };
	struct op_location l = { .address = i, .lines_len = 1 };
	struct op_link link = { { (uint8_t)i, 1 }, { 1 } };
	char name[32];

	(void)snprintf(name, sizeof(name), i % 10 ? "name-%u" : "name-\xff-%u", i);
	TWICE(op_window_string(w, name, strlen(name), &f.name));
	TWICE(op_window_function(w, &f, &l.lines[0].function));
	TWICE(op_window_string_attribute(w, "build", name, &m.attributes.index[0]));
	m.attributes.len = 1;
	TWICE(op_window_mapping(w, &m, &l.mapping));
	TWICE(op_window_string_attribute(w, "type", "native", &l.attributes.index[0]));
	l.attributes.len = 1;
	TWICE(op_window_location(w, &l, &s.labels.index[1]));
	TWICE(op_window_stack(w, &s.labels.index[1], 1, &s.stack));
	TWICE(op_window_resource(w, &r, &s.resource));
	TWICE(op_window_link(w, &link, &s.link));
	TWICE(op_window_string_attribute(w, "label", name, &s.labels.index[0]));
	s.labels.len = 1;
	TWICE(op_window_add(w, &s));
}

static int take(void *data, void *bytes, size_t len, uint64_t samples)
{
	struct lines *lines = data;
	long paused = fail_after;

	fail_after = -1; /* the reader's allocations do not fail */
	reader_check(bytes, len, "v", lines);
	free(bytes);
	fail_after = paused;
	return 0;
}

static void encode(const struct op_window *w, struct lines *ret)
{
	const struct op_otlp_options options = { .version = "v", .max_bytes = 6000 };
	uint64_t left_out = 99;
	int r;

	r = op_otlp_encode_kinds(w, &model_kinds, &options, take, ret, &left_out);
	if (r < 0) {
		CHECK(failed);
		CHECK_INT(r, -ENOMEM);
		CHECK_INT(left_out, 99);
		lines_clear(ret);
		fail_after = -1;
		CHECK_OK(op_otlp_encode_kinds(w, &model_kinds, &options, take, ret,
					      &left_out));
	}
	CHECK_INT(left_out, 0);
	lines_sort(ret);
}

/* Returns whether an allocation failed: the @n-th. */
static bool run(long n, struct lines *ret)
{
	_cleanup_(op_window_freep) struct op_window *w = NULL;
	uint32_t i;

	fail_after = n;
	failed = false;
	TWICE(op_window_new(&CONFIG, &w));
	for (i = 0; i < SAMPLES; i++)
		fill(w, i);
	encode(w, ret);
	fail_after = -1;
	return failed;
}

static void test_every_allocation_fails_once(void)
{
	struct lines want = { 0 };
	long n;

	CHECK(!run(-1, &want));
	CHECK_INT(want.len, SAMPLES);
	for (n = 0;; n++) {
		struct lines got = { 0 };
		bool again = run(n, &got);

		lines_check_equal(&got, &want);
		lines_clear(&got);
		if (!again)
			break;
	}
	printf("%ld allocations\n", n);
	CHECK(n > 100);
	lines_clear(&want);
}

TEST_MAIN({ "every_allocation_fails_once", test_every_allocation_fails_once })
