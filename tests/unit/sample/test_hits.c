/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A record may stand for several: a rule has kept one in so many, or the limit on probes and
 * allocations has. Whatever its kind counts is that many times as much in what is exported.
 */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/macros.h"
#include "export/format/collect/kinds.h"
#include "profile/otlp/encode.h"
#include "sample/labels.h"
#include "sample/state.h"
#include "test.h"

enum {
	PERIOD_NS = 50000000, /* of the window */
	HITS = 4,
	WANTS = 2,
};
#define START_NS UINT64_C(1700000000000000000)

/* What one record counts, of a type and a unit. */
struct want {
	const char *type;
	const char *unit;
	int64_t one;
};

struct record {
	uint16_t event;
	uint64_t value;
	const char *leaf; /* the function in which its thread was */
	struct want want[WANTS];
	const char *absent; /* a type that it must not have */
};

/* A probe with a value. */
static const struct op_detail *detail_of_probe(void *ctx, uint32_t detail)
{
	static const struct op_detail read = { .name = "read",
					       .type = "bytes_read",
					       .unit = "bytes" };

	return detail ? NULL : &read;
}

static struct op_sampler *sampler_new(void)
{
	struct op_sampler *s = calloc(1, sizeof(*s));

	CHECK(s);
	s->detail = detail_of_probe;
	return s;
}

static uint32_t stack_of(struct op_window *w, const char *leaf)
{
	struct op_function function = { 0 };
	struct op_location location = { .lines_len = 1 };
	uint32_t n;

	CHECK_OK(op_window_string(w, leaf, strlen(leaf), &function.name));
	CHECK_OK(op_window_function(w, &function, &location.lines[0].function));
	CHECK_OK(op_window_location(w, &location, &n));
	CHECK_OK(op_window_stack(w, &n, 1, &n));
	return n;
}

/* As lib/sample/record.c does with a record of the ring. */
static void add(struct op_sampler *sampler, struct op_window *w, const struct record *r,
		uint32_t hits)
{
	const struct op_resource resource = { .pid = 7 };
	const struct op_record record = {
		.event = r->event, .pid = 7, .value = r->value, .hits = hits
	};
	struct op_window_sample s = { .event = r->event, .time_ns = START_NS + 1 };

	CHECK_OK(op_window_resource(w, &resource, &s.resource));
	s.stack = stack_of(w, r->leaf ? r->leaf : "main");
	CHECK_OK(op_labels_kind(sampler, &record, 0, w, &s));
	CHECK_OK(op_window_add(w, &s));
}

static int take(void *data, void *bytes, size_t len, uint64_t samples)
{
	CHECK_OK(op_collect_add(data, bytes, len));
	free(bytes);
	return 0;
}

/* The values of @type; those of a clock in ns. */
static int64_t sum(const struct op_collect *c, const char *type, const char *unit)
{
	const struct op_collect_stack *s;
	int64_t all = 0;

	op_vec_foreach(s, &c->stacks) {
		const struct op_collect_kind *k = &c->kinds.data[s->kind];

		if (!otlp_text_is(op_strings_get(&c->strings, k->counted_type), type) ||
		    (unit &&
		     !otlp_text_is(op_strings_get(&c->strings, k->counted_unit), unit)))
			continue;
		all += op_collect_is_clock(c, k) ? s->value * k->period : s->value;
	}
	return all;
}

/* Records of @hits each, and whether they are in the export what they stand for. */
static void check(const struct record *r, const uint32_t *hits, size_t len)
{
	const struct op_window_config config = { .period_ns = PERIOD_NS };
	const struct op_otlp_options options = { .start_ns = START_NS,
						 .end_ns = START_NS + 1000,
						 .version = "1" };
	_cleanup_(op_window_freep) struct op_window *w = NULL;
	_cleanup_(op_collect_freep) struct op_collect *c = NULL;
	struct op_sampler *sampler = sampler_new();
	int64_t all = 0;
	uint64_t left_out;
	size_t i;

	CHECK_OK(op_window_new(&config, &w));
	CHECK_OK(op_collect_new(OP_COLLECT_LOCATIONS, &c));
	for (i = 0; i < len; i++) {
		add(sampler, w, r, hits[i]);
		all += hits[i] ? hits[i] : 1;
	}
	CHECK_OK(op_otlp_encode(w, &options, take, c, &left_out));
	CHECK_INT(left_out, 0);
	for (i = 0; i < WANTS && r->want[i].type; i++) {
		const struct want *want = &r->want[i];
		int64_t got = sum(c, want->type, want->unit);

		if (got != all * want->one)
			TEST_FAIL("%s in %s: %lld of %lld", want->type, want->unit,
				  (long long)got, (long long)(all * want->one));
	}
	CHECK(!r->absent || sum(c, r->absent, NULL) == 0);
	op_parked_deinit(&sampler->parked);
	free(sampler);
}

static void test_values(void)
{
	const struct record all[] = {
		{ OP_EVENT_CPU, 10000000, NULL, { { "samples", "count", 10000000 } } },
		/* the time of several does not fit into a period */
		{ OP_EVENT_CPU,
		  3000000000,
		  NULL,
		  { { "samples", "count", 3000000000 } } },
		{ OP_EVENT_PAGE_FAULTS,
		  3,
		  NULL,
		  { { "page_faults", "count", 1 },
		    { "memory_growth", "bytes", 3 * sysconf(_SC_PAGESIZE) } } },
		{ OP_EVENT_OFF_CPU,
		  123456,
		  NULL,
		  { { "off_cpu", "nanoseconds", 123456 } } },
		{ OP_EVENT_LOCKS,
		  UINT64_C(3) << OP_LOCKS_COUNT_SHIFT | 5000,
		  NULL,
		  { { "contentions", "count", 3 }, { "delay", "nanoseconds", 5000 } },
		  "parked" },
		{ OP_EVENT_LOCKS,
		  UINT64_C(3) << OP_LOCKS_COUNT_SHIFT | 5000,
		  "uv_cond_wait",
		  { { "parked", "nanoseconds", 5000 } },
		  "delay" },
		{ OP_EVENT_HEAP,
		  op_heap_value(100, 700),
		  NULL,
		  { { "alloc_space", "bytes", 700 }, { "alloc_objects", "count", 7 } } },
		{ OP_EVENT_PROBES,
		  99,
		  NULL,
		  { { "events", "count", 1 }, { "bytes_read", "bytes", 99 } } },
	};
	static const uint32_t hits[] = { HITS, 1, 0, HITS, 3 };
	size_t i;

	for (i = 0; i < OP_ARRAY_SIZE(all); i++) {
		check(&all[i], (const uint32_t[]){ 1 }, 1);
		check(&all[i], (const uint32_t[]){ HITS }, 1);
		check(&all[i], hits, OP_ARRAY_SIZE(hits));
	}
}

/* A product that does not fit stops at the largest number, and keeps its sign. */
static void test_too_much(void)
{
	static const int64_t values[][2] = {
		{ INT64_MAX / 3, INT64_MAX },
		{ INT64_MIN / 3, INT64_MIN },
		{ -5, -5 * HITS },
	};
	const struct op_window_config config = { .period_ns = PERIOD_NS };
	_cleanup_(op_window_freep) struct op_window *w = NULL;
	struct op_sampler *sampler = sampler_new();
	size_t i;

	CHECK_OK(op_window_new(&config, &w));
	for (i = 0; i < OP_ARRAY_SIZE(values); i++) {
		const struct op_record record = { .event = OP_EVENT_PROBES,
						  .pid = 7,
						  .value = (uint64_t)values[i][0],
						  .hits = HITS };
		struct op_window_sample s = { .event = OP_EVENT_PROBES };

		CHECK_OK(op_labels_kind(sampler, &record, 0, w, &s));
		CHECK_INT(s.value, values[i][1]);
	}
	free(sampler);
}

TEST_MAIN({ "values", test_values }, { "too_much", test_too_much })
