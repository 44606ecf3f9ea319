/* SPDX-License-Identifier: Apache-2.0 */
/*
 * proto/otlp/reader.h on requests written by hand: a good one, and a bad one for each
 * rule of otlp_check().
 */
#include "otlp/reader.h"

#include "request.h"
#include "test.h"

enum {
	DEEP_STACKS = 42500,
	DEEP = 100,
};

struct found {
	const char *words;
	bool seen;
	unsigned int rules;
	char all[4096];
};

static void on_violation(void *data, const char *sentence, uint64_t cases)
{
	struct found *f = data;

	CHECK(cases >= 1);
	f->rules++;
	f->seen = f->seen || (f->words && strstr(sentence, f->words));
	if (strlen(f->all) + strlen(sentence) + 2 < sizeof(f->all)) {
		(void)strcat(f->all, sentence);
		(void)strcat(f->all, "\n");
	}
}

/* The rules that @request breaks; frees it. */
static void check_request(struct rq_buf request, struct found *f)
{
	struct otlp_profiles *p = NULL;
	const char *reason = NULL;

	if (otlp_read(request.data, request.len, &p, &reason))
		TEST_FAIL("not readable: %s", reason);
	CHECK_INT(otlp_check(p, on_violation, f), f->rules);
	(void)otlp_free(p);
	free(request.data);
}

static void check_breaks(struct rq_buf request, const char *words)
{
	struct found f = { .words = words };

	check_request(request, &f);
	if (!f.seen)
		TEST_FAIL("\"%s\" is not among:\n%s", words, f.all);
}

/* More numbers than a table may have entries: they are what stacks are made of. */
static void test_many_deep_stacks_are_read(void)
{
	struct otlp_profiles *p = NULL;
	uint32_t frames[DEEP] = { 0 };
	struct rq_buf request;
	struct rq q;
	uint32_t i;

	CHECK(DEEP_STACKS * DEEP > OTLP_TABLE_MAX);
	rq_begin(&q);
	for (i = 0; i < DEEP_STACKS; i++)
		(void)rq_stack(&q, frames, DEEP);
	request = rq_end(&q);
	CHECK_OK(otlp_read(request.data, request.len, &p, NULL));
	CHECK_INT(p->stacks.len, DEEP_STACKS + 1);
	CHECK_INT(p->ints.len, DEEP_STACKS * DEEP);
	(void)otlp_free(p);
	free(request.data);
}

static void test_too_many_entries_are_refused(void)
{
	struct otlp_profiles *p = NULL;
	const char *reason = NULL;
	struct rq_buf request;
	struct rq q;
	uint32_t i;

	rq_begin(&q);
	for (i = 0; i < OTLP_TABLE_MAX; i++)
		(void)rq_string_len(&q, "", 0);
	request = rq_end(&q);
	CHECK_INT(otlp_read(request.data, request.len, &p, &reason), -EFBIG);
	CHECK(!p && reason);
	free(request.data);
}

static void test_good_request_breaks_no_rule(void)
{
	struct found f = { 0 };

	check_request(rq_canned(), &f);
	if (f.rules)
		TEST_FAIL("broken:\n%s", f.all);
}

struct seen {
	unsigned int samples;
	uint64_t events;
};

static int on_sample(void *data, const struct otlp_sample_view *s)
{
	struct seen *seen = data;
	char name[64];

	seen->samples++;
	seen->events += s->count;
	CHECK(otlp_text_is(s->type, "samples"));
	CHECK(otlp_text_is(s->unit, "count"));
	CHECK(otlp_text_is(s->period_type, "cpu"));
	CHECK_INT(s->profile->period, 10000000);
	CHECK_INT(s->value, s->count);
	if (seen->samples != 1)
		return 0;
	CHECK_INT(s->resource->pid, 100);
	CHECK(otlp_text_is(s->resource->executable_name, "web"));
	CHECK(otlp_text_is(s->resource->container_id, RQ_CONTAINER));
	CHECK(otlp_text_is(s->thread_name, "worker"));
	CHECK_INT(s->thread_id, 101);
	CHECK_INT(s->cpu, -1);
	CHECK_INT(s->count, 3);
	CHECK_INT(s->timestamps[2], RQ_TIME_NS + 2000);
	CHECK_INT(s->frames_len, 3);
	CHECK_STR(otlp_frame_name(&s->frames[0], name, sizeof(name)), "parse");
	CHECK(s->frames[0].inlined);
	CHECK_INT(s->frames[0].line, 7);
	CHECK_STR(otlp_frame_name(&s->frames[1], name, sizeof(name)), "handle");
	CHECK(!s->frames[1].inlined);
	CHECK_INT(s->frames[1].line, 25);
	CHECK_INT(s->frames[1].start_line, 20);
	CHECK(otlp_text_is(s->frames[1].file, "web.c"));
	CHECK(otlp_text_is(s->frames[1].type, "native"));
	CHECK(otlp_text_is(s->frames[1].module, "web"));
	CHECK(otlp_text_is(s->frames[1].build_id, "aabb"));
	CHECK_INT(s->frames[1].address, 0x1200);
	CHECK_STR(otlp_frame_name(&s->frames[2], name, sizeof(name)), "main");
	return 0;
}

static void test_samples_are_written_out(void)
{
	struct rq_buf request = rq_canned();
	struct otlp_profiles *p = NULL;
	struct seen seen = { 0 };

	CHECK_OK(otlp_read(request.data, request.len, &p, NULL));
	CHECK_OK(otlp_each_sample(p, on_sample, &seen));
	CHECK_INT(seen.samples, 4);
	CHECK_INT(seen.events, 10);
	(void)otlp_free(p);
	free(request.data);
}

static void test_frame_without_name_is_module_and_address(void)
{
	struct otlp_frame f = { .module = { "/lib/libx.so", 12 }, .address = 0x1f };
	char name[64];

	CHECK_STR(otlp_frame_name(&f, name, sizeof(name)), "libx.so+0x1f");
	f.module.len = 0;
	CHECK_STR(otlp_frame_name(&f, name, sizeof(name)), "0x1f");
}

/* Each prefix of a request is refused or read, and never read past (ASan). */
static void test_cut_requests(void)
{
	struct rq_buf request = rq_canned();
	struct found f = { 0 };
	struct otlp_profiles *p;
	uint8_t *copy;
	size_t len;
	int r;

	for (len = 0; len < request.len; len++) {
		copy = malloc(len + 1);
		CHECK(copy);
		memcpy(copy, request.data, len);
		p = NULL;
		r = otlp_read(copy, len, &p, NULL);
		CHECK(r == 0 || r == -EBADMSG);
		if (!r)
			CHECK_OK(otlp_check(p, on_violation, &f));
		(void)otlp_free(p);
		free(copy);
	}
	free(request.data);
}

static void test_old_proto_is_reported(void)
{
	/* Before proto 1.10 field 4 of a sample was the link, and 2 the values; a wire type
	 * that cannot be is told as another version. */
	static const uint8_t sample[] = { 0x0d, 1, 2, 3, 4 }; /* stack_index as fixed32 */
	struct rq_buf profile = { 0 }, scope = { 0 }, resource = { 0 }, request = { 0 };
	struct otlp_profiles *p = NULL;
	const char *reason = NULL;

	rq_bytes(&profile, 2, sample, sizeof(sample));
	rq_message(&scope, 2, &profile);
	rq_message(&resource, 2, &scope);
	rq_message(&request, 1, &resource);
	CHECK_INT(otlp_read(request.data, request.len, &p, &reason), -EBADMSG);
	CHECK(strstr(reason, "not this version of the proto"));
	CHECK(!p);
	free(request.data);
}

/* A request with one sample of one frame, and what a test makes wrong with it. */
struct parts {
	struct rq q;
	uint32_t type;
	uint32_t mapping;
	uint32_t function;
	uint32_t location;
	uint32_t stack;
};

static void begin(struct parts *x)
{
	rq_begin(&x->q);
	x->type = rq_string_attribute(&x->q, "profile.frame.type", "native");
	x->mapping = rq_mapping(&x->q, "m", "aa");
	x->function = rq_function(&x->q, "f", "", 0);
	x->location = rq_location(&x->q, x->type, x->mapping, 1, x->function, 0, 0, 0);
	x->stack = rq_stack(&x->q, &x->location, 1);
	rq_sample(&x->q, x->stack, NULL, 0, 1);
}

static struct rq_buf finish(struct parts *x)
{
	rq_process(&x->q, 1, "p", NULL);
	return rq_end(&x->q);
}

static void test_nothing_wrong_with_the_parts(void)
{
	struct found f = { 0 };
	struct parts x;

	begin(&x);
	check_request(finish(&x), &f);
	if (f.rules)
		TEST_FAIL("broken:\n%s", f.all);
}

static void test_tables(void)
{
	struct rq_buf none = { 0 };
	struct parts x;

	check_breaks(none, "mapping_table: entry 0 must be there");
	begin(&x);
	(void)rq_string(&x.q, "nobody needs me");
	check_breaks(finish(&x), "string_table: nothing refers to entry");
	begin(&x);
	(void)rq_function(&x.q, "f", "", 0);
	check_breaks(finish(&x), "function_table: two entries are equal");
	begin(&x);
	rq_sample(&x.q, 77, NULL, 0, 1);
	check_breaks(finish(&x), "index 77 is outside stack_table of 2");
	begin(&x);
	(void)rq_string_len(&x.q, "\xc0\xaf", 2);
	check_breaks(finish(&x), "is not UTF-8");
}

static void test_locations_and_mappings(void)
{
	struct rq_buf m = { 0 };
	uint32_t l[2], kernel;
	struct parts x;

	begin(&x);
	(void)rq_location(&x.q, 0, x.mapping, 2, x.function, 0, 0, 0);
	check_breaks(finish(&x), "no profile.frame.type");
	begin(&x);
	(void)rq_location(&x.q, x.type, 0, 0, 0, 0, 0, 0);
	check_breaks(finish(&x), "neither a line nor an address");
	begin(&x);
	rq_uint(&m, 1, 5);
	rq_uint(&m, 2, 5);
	(void)rq_entry(&x.q, RQ_MAPPING, &m);
	check_breaks(finish(&x), "at or past its limit");
	begin(&x);
	rq_uint(&m, 1, 5);
	rq_uint(&m, 2, 6);
	(void)rq_entry(&x.q, RQ_MAPPING, &m);
	check_breaks(finish(&x), "no process.executable.build_id");
	begin(&x);
	(void)rq_function(&x.q, "", "", 3);
	check_breaks(finish(&x), "neither a name nor a file");
	begin(&x);
	kernel = rq_string_attribute(&x.q, "profile.frame.type", "kernel");
	l[0] = x.location;
	l[1] = rq_location(&x.q, kernel, x.mapping, 9, x.function, 0, 0, 0);
	(void)rq_stack(&x.q, l, 2);
	check_breaks(finish(&x), "cannot be below a user frame");
}

static void test_samples(void)
{
	uint32_t twice[2];
	struct rq_buf s = { 0 };
	struct parts x;

	begin(&x);
	rq_sample(&x.q, x.stack, NULL, 0, 1);
	check_breaks(finish(&x), "two samples with stack 1");
	begin(&x);
	rq_sample(&x.q, 0, NULL, 0, 0);
	check_breaks(finish(&x), "0 values and 0 timestamps");
	begin(&x);
	x.q.next_time_ns = RQ_TIME_NS + RQ_WINDOW_NS; /* half-open: the end is outside */
	rq_sample(&x.q, 0, NULL, 0, 1);
	check_breaks(finish(&x), "is outside [");
	begin(&x);
	rq_uint(&s, 1, 0);
	rq_packed(&s, 4, (uint32_t[]){ 5 }, 1);
	rq_message(&x.q.samples, 2, &s);
	check_breaks(finish(&x), "unlike shapes");
	begin(&x);
	twice[0] = rq_int_attribute(&x.q, "thread.id", 1);
	twice[1] = rq_int_attribute(&x.q, "thread.id", 2);
	rq_sample(&x.q, x.stack, twice, 2, 1);
	check_breaks(finish(&x), "key \"thread.id\" twice");
}

static void test_links_and_lists(void)
{
	struct rq_buf l = { 0 }, r = { 0 };
	struct parts x;

	begin(&x);
	rq_text(&l, 1, "short");
	(void)rq_entry(&x.q, RQ_LINK, &l);
	check_breaks(finish(&x), "ids of 5 and 0 bytes");
	begin(&x);
	rq_message(&x.q.resources, 1, &r);
	check_breaks(finish(&x), "resource 0: has no scope");
	begin(&x);
	rq_message(&x.q.resources, 1, &r);
	check_breaks(finish(&x), "resource 0: no process.pid");
}

TEST_MAIN({ "many_deep_stacks_are_read", test_many_deep_stacks_are_read },
	  { "too_many_entries_are_refused", test_too_many_entries_are_refused },
	  { "good_request_breaks_no_rule", test_good_request_breaks_no_rule },
	  { "samples_are_written_out", test_samples_are_written_out },
	  { "frame_without_name_is_module_and_address",
	    test_frame_without_name_is_module_and_address },
	  { "cut_requests", test_cut_requests },
	  { "old_proto_is_reported", test_old_proto_is_reported },
	  { "nothing_wrong_with_the_parts", test_nothing_wrong_with_the_parts },
	  { "tables", test_tables },
	  { "locations_and_mappings", test_locations_and_mappings },
	  { "samples", test_samples }, { "links_and_lists", test_links_and_lists })
