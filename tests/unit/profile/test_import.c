/* SPDX-License-Identifier: Apache-2.0 */
/* A window imports from another: the content is the same, even if the numbers differ. */
#include "profile/import.h"

#include "make_window.h"
#include "profile/window_tables.h"
#include "test.h"

/* A stack of two frames, one of which has an inlined function. */
static uint32_t make_stack(struct op_window *w)
{
	struct op_window_mapping m = {
		.start = 4096, .limit = 8192, .offset = 512, .file = string(w, "lib.so")
	};
	struct op_function outer = { .name = string(w, "outer"),
				     .system_name = string(w, "_outer"),
				     .file = string(w, "a.c"),
				     .start_line = 7 };
	struct op_function inner = { .name = string(w, "inner") };
	struct op_location l = { .address = 5000, .lines_len = 2 };
	struct op_location leaf = { .address = 6000 };
	uint32_t list[2];
	uint32_t stack;

	m.attributes.len = 1;
	CHECK_OK(
		op_window_string_attribute(w, "build_id", "abc", &m.attributes.index[0]));
	CHECK_OK(op_window_mapping(w, &m, &l.mapping));
	CHECK_OK(op_window_function(w, &inner, &l.lines[0].function));
	CHECK_OK(op_window_function(w, &outer, &l.lines[1].function));
	l.lines[1].line = 11;
	l.attributes.len = 1;
	CHECK_OK(op_window_string_attribute(w, "type", "native", &l.attributes.index[0]));
	CHECK_OK(op_window_location(w, &leaf, &list[0]));
	CHECK_OK(op_window_location(w, &l, &list[1]));
	CHECK_OK(op_window_stack(w, list, 2, &stack));
	return stack;
}

static void test_stack(void)
{
	_cleanup_(op_window_freep) struct op_window *from = make(0);
	_cleanup_(op_window_freep) struct op_window *to = make(0);
	uint32_t stack = make_stack(from);
	uint32_t got;
	uint32_t want;

	/* other numbers there */
	(void)string(to, "something");
	(void)string(to, "else");
	CHECK_OK(op_window_import_stack(to, from, stack, &got));
	want = make_stack(to); /* finds all that it asks for */
	CHECK_INT(got, want);
	CHECK_INT(to->stacks.len, 2);
	CHECK_INT(to->locations.len, 3);
	CHECK_INT(to->functions.len, 3);
	CHECK_INT(to->mappings.len, 2);
	/* the empty one is the empty one */
	CHECK_OK(op_window_import_stack(to, from, 0, &got));
	CHECK_INT(got, 0);
}

static uint32_t make_resource(struct op_window *w)
{
	struct op_resource r = { .pid = 7,
				 .container_id = string(w, "c"),
				 .executable_name = string(w, "exe"),
				 .executable_path = string(w, "/exe"),
				 .service_name = string(w, "service"),
				 .start_time_ns = 9 };
	uint32_t n;

	CHECK_OK(op_window_resource(w, &r, &n));
	return n;
}

static void test_resource(void)
{
	_cleanup_(op_window_freep) struct op_window *from = make(0);
	_cleanup_(op_window_freep) struct op_window *to = make(0);
	uint32_t resource = make_resource(from);
	uint32_t got;

	(void)string(to, "something");
	CHECK_OK(op_window_import_resource(to, from, resource, &got));
	CHECK_INT(got, make_resource(to));
	CHECK_INT(to->resources.len, 1);
}

static void test_no_room(void)
{
	_cleanup_(op_window_freep) struct op_window *from = make(0);
	_cleanup_(op_window_freep) struct op_window *to = make(20000);
	uint32_t got = 77;
	int r = 0;
	int i;

	for (i = 0; i < 1000 && r == 0; i++) {
		char name[32];
		struct op_location l = { .address = 1, .lines_len = 1 };
		struct op_function f;
		uint32_t n;

		(void)snprintf(name, sizeof(name), "function_%d", i);
		f = (struct op_function){ .name = string(from, name) };
		CHECK_OK(op_window_function(from, &f, &l.lines[0].function));
		CHECK_OK(op_window_location(from, &l, &n));
		CHECK_OK(op_window_stack(from, &n, 1, &n));
		r = op_window_import_stack(to, from, n, &got);
	}
	CHECK_INT(r, -ENOSPC);
}

/* A sample that stands for many. */
static void test_counts(void)
{
	_cleanup_(op_window_freep) struct op_window *w = make(0);
	struct op_window_sample s = { .value = 1000,
				      .count = 32.5,
				      .resource = make_resource(w),
				      .cpu = (uint32_t)OP_WINDOW_NO_THREAD };

	CHECK_OK(op_window_add(w, &s));
	CHECK(w->taken.data[0].count == 32.5f);
	CHECK_INT(w->identities.data[0].attributes.len, 0);
	s.count = 0;
	CHECK_OK(op_window_add(w, &s));
	CHECK(w->taken.data[1].count == 1);
	s.cpu = 3;
	CHECK_OK(op_window_add(w, &s));
	CHECK_INT(w->identities.data[1].attributes.len, 2);
}

TEST_MAIN({ "stack", test_stack }, { "resource", test_resource },
	  { "no_room", test_no_room }, { "counts", test_counts })
