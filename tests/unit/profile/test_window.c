/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/window.h"

#include "make_window.h"
#include "profile/window_tables.h"
#include "test.h"

static uint32_t location(struct op_window *w, uint64_t address)
{
	const struct op_location l = { .address = address };
	uint32_t n;

	CHECK_OK(op_window_location(w, &l, &n));
	return n;
}

static void test_zero_entries(void)
{
	_cleanup_(op_window_freep) struct op_window *w = make(0);
	const struct op_location l = { 0 };
	const struct op_link link = { 0 };
	const struct op_function f = { 0 };
	const struct op_window_mapping m = { 0 };
	const struct op_attribute a = { 0 };
	uint32_t n = 99;

	CHECK_INT(string(w, ""), 0);
	CHECK_OK(op_window_location(w, &l, &n));
	CHECK_INT(n, 0);
	n = 99;
	CHECK_OK(op_window_link(w, &link, &n));
	CHECK_INT(n, 0);
	n = 99;
	CHECK_OK(op_window_function(w, &f, &n));
	CHECK_INT(n, 0);
	n = 99;
	CHECK_OK(op_window_mapping(w, &m, &n));
	CHECK_INT(n, 0);
	n = 99;
	CHECK_OK(op_window_attribute(w, &a, &n));
	CHECK_INT(n, 0);
	n = 99;
	CHECK_OK(op_window_stack(w, NULL, 0, &n));
	CHECK_INT(n, 0);
	CHECK_INT(op_window_samples(w), 0);
}

/* Things that differ in one field only are two; equal ones are one. */
static void test_whole_content(void)
{
	_cleanup_(op_window_freep) struct op_window *w = make(0);
	struct op_function f = { .name = string(w, "f") };
	struct op_window_mapping m = { .start = 1, .limit = 2, .file = string(w, "/f") };
	struct op_location l = { .address = 7 };
	uint32_t n[8];
	uint32_t build_id;
	size_t i;
	size_t j;

	CHECK_OK(op_window_function(w, &f, &n[0]));
	f.start_line = 1;
	CHECK_OK(op_window_function(w, &f, &n[1]));
	CHECK(n[0] != n[1]);
	CHECK_OK(op_window_string_attribute(w, "id", "00", &build_id));
	CHECK_OK(op_window_mapping(w, &m, &n[2]));
	m.attributes = (struct op_attribute_set){ 1, { build_id } };
	CHECK_OK(op_window_mapping(w, &m, &n[3]));
	CHECK(n[2] != n[3]);

	l.lines_len = 2;
	l.lines[0] = (struct op_line){ n[0], 5, 0 };
	l.lines[1] = (struct op_line){ n[1], 6, 7 };
	for (i = 0; i < 6; i++) {
		if (i == 1)
			l.address++;
		if (i == 2)
			l.mapping = n[2];
		if (i == 3)
			l.lines[1].line++;
		if (i == 4)
			l.lines_len--;
		if (i == 5)
			l.attributes = m.attributes;
		CHECK_OK(op_window_location(w, &l, &n[i]));
		for (j = 0; j < i; j++)
			CHECK(n[i] != n[j]);
		/* What stands behind lines_len is not content. */
		if (i >= 4)
			memset(&l.lines[1], 0xee, sizeof(l.lines[1]));
		CHECK_OK(op_window_location(w, &l, &n[7]));
		CHECK_INT(n[7], n[i]);
	}
}

/* No name, no function; no function, no line. */
static void test_nameless_functions_are_none(void)
{
	_cleanup_(op_window_freep) struct op_window *w = make(0);
	struct op_function f = { .start_line = 9 };
	struct op_location l = { .address = 1, .lines_len = 3 };
	uint32_t n = 99;

	CHECK_OK(op_window_function(w, &f, &n));
	CHECK_INT(n, 0);
	f.file = string(w, "f.c");
	CHECK_OK(op_window_function(w, &f, &l.lines[1].function));
	CHECK(l.lines[1].function != 0);
	l.lines[1].line = 4;
	l.lines[2].line = 5;
	CHECK_OK(op_window_location(w, &l, &n));
	CHECK_INT(w->locations.data[n].lines.len, 1);
	CHECK_INT(w->lines.data[w->locations.data[n].lines.first].line, 4);
}

static void test_set_has_a_key_once(void)
{
	_cleanup_(op_window_freep) struct op_window *w = make(0);
	struct op_location l = { .address = 1 };
	uint32_t a1;
	uint32_t a2;
	uint32_t b;
	uint32_t n;
	uint32_t again;

	CHECK_OK(op_window_string_attribute(w, "a", "1", &a1));
	CHECK_OK(op_window_string_attribute(w, "a", "2", &a2));
	CHECK_OK(op_window_string_attribute(w, "b", "1", &b));
	l.attributes = (struct op_attribute_set){ 4, { b, a1, a2, b } };
	CHECK_OK(op_window_location(w, &l, &n));
	CHECK_INT(w->locations.data[n].attributes.len, 2);
	CHECK_INT(op_window_numbers(w, w->locations.data[n].attributes)[0], a1);
	CHECK_INT(op_window_numbers(w, w->locations.data[n].attributes)[1], b);
	l.attributes = (struct op_attribute_set){ 2, { a1, b } };
	CHECK_OK(op_window_location(w, &l, &again));
	CHECK_INT(again, n);
}

static void test_samples_are_merged(void)
{
	_cleanup_(op_window_freep) struct op_window *w = make(0);
	const struct op_resource r = { .pid = 4 };
	struct op_window_sample s = { .tid = 5, .cpu = 3, .comm = string(w, "t") };
	uint32_t list[2];
	uint32_t i;

	list[0] = location(w, 1);
	list[1] = location(w, 2);
	CHECK_OK(op_window_resource(w, &r, &s.resource));
	CHECK_OK(op_window_stack(w, list, 2, &s.stack));
	for (i = 0; i < 10; i++) {
		s.time_ns = 100 + i;
		s.value = -(int64_t)i;
		s.tid = i % 2 ? 5 : 6;
		CHECK_OK(op_window_add(w, &s));
	}
	CHECK_INT(op_window_samples(w), 10);
	CHECK_INT(w->identities.len, 2);
	for (i = 0; i < 2; i++) {
		const struct op_identity *e = &w->identities.data[i];
		uint32_t at = e->first;
		uint32_t k;

		CHECK_INT(e->tid, i ? 5 : 6);
		CHECK_INT(e->count, 5);
		for (k = 0; k < 5; k++) {
			CHECK_INT(w->taken.data[at].time_ns, 100 + i + 2 * k);
			CHECK_INT(w->taken.data[at].value, -(int64_t)(i + 2 * k));
			at = w->taken.data[at].next;
		}
		CHECK_INT(at, OP_TAKEN_END);
		CHECK_INT(e->attributes.len, 3);
	}
}

/* A label must not say again what the sample says. */
static void test_labels_do_not_repeat_keys(void)
{
	_cleanup_(op_window_freep) struct op_window *w = make(0);
	const struct op_resource r = { .pid = 4 };
	struct op_window_sample s = { 0 };
	uint32_t label[3];

	CHECK_OK(op_window_resource(w, &r, &s.resource));
	CHECK_OK(op_window_string_attribute(w, "thread.id", "no", &label[0]));
	CHECK_OK(op_window_string_attribute(w, "user", "a", &label[1]));
	CHECK_OK(op_window_string_attribute(w, "user", "b", &label[2]));
	s.labels = (struct op_attribute_set){ 3, { label[0], label[1], label[2] } };
	CHECK_OK(op_window_add(w, &s));
	s.labels = (struct op_attribute_set){ 1, { label[1] } };
	CHECK_OK(op_window_add(w, &s));
	CHECK_INT(w->identities.len, 1);
	CHECK_INT(w->identities.data[0].labels.len, 1);
	CHECK_INT(op_window_numbers(w, w->identities.data[0].labels)[0], label[1]);
	/* thread.id, cpu.logical_number, user; no thread name was given */
	CHECK_INT(w->identities.data[0].attributes.len, 3);
	s.labels.index[0] = label[2];
	CHECK_OK(op_window_add(w, &s));
	CHECK_INT(w->identities.len, 2);
}

static void test_strings_are_utf8_and_bounded(void)
{
	_cleanup_(op_window_freep) struct op_window *w = make(0);
	_cleanup_free_ char *big = malloc(OP_STRING_MAX_BYTES + 10);
	uint32_t n;

	n = string(w, "a\xff");
	CHECK_STR(op_window_chars(w, n), "a\xef\xbf\xbd");
	CHECK_INT(string(w, "a\xef\xbf\xbd"), n);
	CHECK_INT(w->strings_mended, 1);
	CHECK(big);
	memset(big, 'x', OP_STRING_MAX_BYTES + 10);
	memcpy(big + OP_STRING_MAX_BYTES - 1, "\xe2\x82\xac", 3);
	CHECK_OK(op_window_string(w, big, OP_STRING_MAX_BYTES + 10, &n));
	CHECK_INT(strlen(op_window_chars(w, n)), OP_STRING_MAX_BYTES - 1);
	memset(big, 0xff, OP_STRING_MAX_BYTES);
	CHECK_OK(op_window_string(w, big, OP_STRING_MAX_BYTES, &n));
	CHECK_INT(strlen(op_window_chars(w, n)), OP_STRING_MAX_BYTES / 3 * 3);
	CHECK_INT(w->strings_cut, 1);
	/* A NUL is a character. */
	CHECK_OK(op_window_string(w, "a\0b", 3, &n));
	CHECK_INT(w->strings.data[n].len, 3);
	CHECK(n != string(w, "a"));
}

/* Fill with ever new content until the limit; returns the samples taken. */
static uint64_t fill_to_limit(struct op_window *w, uint32_t salt, int *ret_error)
{
	const struct op_resource r = { .pid = 1 };
	struct op_window_sample s = { 0 };
	uint32_t i;
	int e = op_window_resource(w, &r, &s.resource);

	for (i = 0; e >= 0; i++) {
		struct op_location l = { .address = ((uint64_t)salt << 32) + i };
		char name[32];
		uint32_t number;

		(void)snprintf(name, sizeof(name), "%u-%u", salt, i);
		e = op_window_string(w, name, strlen(name), &number);
		if (e >= 0)
			e = op_window_location(w, &l, &number);
		if (e >= 0)
			e = op_window_stack(w, &number, 1, &s.stack);
		if (e >= 0)
			e = op_window_add(w, &s);
	}
	*ret_error = e;
	return op_window_samples(w);
}

static void test_limit_holds_and_reset_frees_room(void)
{
	const size_t limit = 1 << 20;
	_cleanup_(op_window_freep) struct op_window *w = make(limit);
	uint32_t epoch = op_window_epoch(w);
	uint64_t first;
	uint64_t next;
	int error;
	int round;

	CHECK(epoch != 0);
	first = fill_to_limit(w, 0, &error);
	CHECK_INT(error, -ENOSPC);
	CHECK(first > 1000);
	for (round = 1; round < 4; round++) {
		CHECK(op_window_bytes(w) <= limit);
		CHECK_INT(w->taken.len, op_window_samples(w));
		op_window_reset(w);
		CHECK(op_window_epoch(w) != epoch && op_window_epoch(w) != 0);
		epoch = op_window_epoch(w);
		CHECK_INT(op_window_samples(w), 0);
		next = fill_to_limit(w, (uint32_t)round, &error);
		CHECK_INT(error, -ENOSPC);
		CHECK(next > first / 2);
	}
	/* Full is not broken: what is there can still be found. */
	CHECK_INT(string(w, "thread.id"), OP_STRING_THREAD_ID);
}

static void test_memory_is_kept_by_reset(void)
{
	_cleanup_(op_window_freep) struct op_window *w = make(0);
	size_t held;
	int i;

	for (i = 0; i < 1000; i++)
		(void)location(w, (uint64_t)i);
	held = op_window_bytes(w);
	op_window_reset(w);
	CHECK_INT(op_window_bytes(w), held);
	for (i = 0; i < 1000; i++)
		(void)location(w, (uint64_t)i);
	CHECK_INT(op_window_bytes(w), held);
}

/*
 * Hashes are 32 bits: among so many entries about ten pairs share one. Entries that differ
 * in one field only must stay two all the same, whichever field it is.
 */
enum {
	COLLIDING = 300000,
};

#define CHECK_ALL_NEW(call, table)                                                       \
	do {                                                                             \
		size_t _before = w->table.len;                                           \
		for (i = 0; i < COLLIDING; i++) {                                        \
			CHECK_OK(call);                                                  \
			CHECK_INT(n, _before + i);                                       \
		}                                                                        \
		for (i = 0; i < COLLIDING; i++) {                                        \
			CHECK_OK(call);                                                  \
			CHECK_INT(n, _before + i);                                       \
		}                                                                        \
	} while (0)

static int add_text(struct op_window *w, uint32_t i, uint32_t *ret)
{
	char text[16];

	(void)snprintf(text, sizeof(text), "s%u", i);
	return op_window_string(w, text, strlen(text), ret);
}

static void test_colliding_tables(void)
{
	_cleanup_(op_window_freep) struct op_window *w = make(1 << 30);
	struct op_attribute a = { .key = 1, .is_int = 1 };
	struct op_function f = { .name = 1 };
	struct op_window_mapping m = { .limit = 1 };
	struct op_link link = { { 1 }, { 1 } };
	struct op_resource r = { .pid = 1 };
	uint32_t i;
	uint32_t n;

	CHECK_ALL_NEW(add_text(w, i, &n), strings);
	CHECK_ALL_NEW((a.integer = i, op_window_attribute(w, &a, &n)), attributes);
	CHECK_ALL_NEW((f.start_line = i, op_window_function(w, &f, &n)), functions);
	CHECK_ALL_NEW((m.start = i, op_window_mapping(w, &m, &n)), mappings);
	CHECK_ALL_NEW((memcpy(link.span_id, &i, 4), op_window_link(w, &link, &n)), links);
	CHECK_ALL_NEW((r.start_time_ns = i, op_window_resource(w, &r, &n)), resources);
}

static void test_colliding_locations(void)
{
	_cleanup_(op_window_freep) struct op_window *w = make(1 << 30);
	struct op_attribute a = { .key = 1, .is_int = 1 };
	struct op_function f = { .name = 1 };
	struct op_window_mapping m = { .limit = 1 };
	struct op_location l = { .address = 1, .lines_len = 1 };
	uint32_t i;
	uint32_t n;

	CHECK_OK(op_window_function(w, &f, &l.lines[0].function));
	CHECK_ALL_NEW((m.start = i, op_window_mapping(w, &m, &n)), mappings);
	CHECK_ALL_NEW((a.integer = i, op_window_attribute(w, &a, &n)), attributes);
	CHECK_ALL_NEW((l.address = i + 2, op_window_location(w, &l, &n)), locations);
	l.address = 1;
	CHECK_ALL_NEW((l.lines[0].line = i + 1, op_window_location(w, &l, &n)),
		      locations);
	CHECK_ALL_NEW((l.lines[0].column = i + 1, op_window_location(w, &l, &n)),
		      locations);
	l.lines[0].line = l.lines[0].column = 0;
	CHECK_ALL_NEW((l.mapping = i + 1, op_window_location(w, &l, &n)), locations);
	l.mapping = 0;
	l.attributes.len = 1;
	CHECK_ALL_NEW((l.attributes.index[0] = i + 1, op_window_location(w, &l, &n)),
		      locations);
	CHECK_ALL_NEW((n = i + 1, op_window_stack(w, &n, 1, &n)), stacks);
}

static void test_colliding_samples(void)
{
	_cleanup_(op_window_freep) struct op_window *w = make(1 << 30);
	const struct op_resource r = { .pid = 1 };
	struct op_window_sample s = { 0 };
	uint32_t i;

	CHECK_OK(op_window_resource(w, &r, &s.resource));
	for (i = 0; i < 2 * COLLIDING; i++) {
		s.tid = i % COLLIDING;
		CHECK_OK(op_window_add(w, &s));
	}
	CHECK_INT(w->identities.len, COLLIDING);
	for (i = 0; i < COLLIDING; i++)
		CHECK_INT(w->identities.data[i].count, 2);
}

static void test_too_small_a_limit(void)
{
	const struct op_window_config config = { .limit_bytes = 100 };
	struct op_window *w = NULL;

	CHECK_INT(op_window_new(&config, &w), -ENOSPC);
	CHECK(!w);
}

TEST_MAIN({ "zero_entries", test_zero_entries }, { "whole_content", test_whole_content },
	  { "nameless_functions_are_none", test_nameless_functions_are_none },
	  { "set_has_a_key_once", test_set_has_a_key_once },
	  { "samples_are_merged", test_samples_are_merged },
	  { "labels_do_not_repeat_keys", test_labels_do_not_repeat_keys },
	  { "strings_are_utf8_and_bounded", test_strings_are_utf8_and_bounded },
	  { "limit_holds_and_reset_frees_room", test_limit_holds_and_reset_frees_room },
	  { "memory_is_kept_by_reset", test_memory_is_kept_by_reset },
	  { "colliding_tables", test_colliding_tables },
	  { "colliding_locations", test_colliding_locations },
	  { "colliding_samples", test_colliding_samples },
	  { "too_small_a_limit", test_too_small_a_limit })
