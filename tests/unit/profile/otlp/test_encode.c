/* SPDX-License-Identifier: Apache-2.0 */
#include "profile/otlp/encode.h"

#include "base/strbuf.h"
#include <pb_decode.h>

#include "model.h"
#include "profile/otlp/otlp_request.h"
#include "reader.h"

enum {
	START = 1000000000,
	SECOND = 1000000000
};

struct sink {
	struct lines lines;
	size_t requests;
	size_t max_bytes;
	size_t largest;
	uint64_t samples;
	int error_at; /* fail that request; 0: none */
};

static int take(void *data, void *bytes, size_t len, uint64_t samples)
{
	_cleanup_free_ void *owned = bytes;
	struct sink *s = data;
	size_t before = s->lines.len;

	s->requests++;
	if (s->error_at && s->requests == (size_t)s->error_at)
		return -EIO;
	CHECK(len < s->max_bytes);
	CHECK(samples > 0);
	reader_check(owned, len, "1.2.3", &s->lines);
	CHECK_INT(s->lines.len - before, samples);
	s->samples += samples;
	if (len > s->largest)
		s->largest = len;
	return 0;
}

static struct op_window *make(void)
{
	const struct op_window_config config = { .period_ns = 50000000 };
	struct op_window *w = NULL;

	CHECK_OK(op_window_new(&config, &w));
	return w;
}

static const struct op_otlp_options OPTIONS = {
	.start_ns = START,
	.end_ns = START + SECOND,
	.version = "1.2.3",
};

/* Encoded and decoded, a random window is what it was, in requests of @max_bytes. */
static size_t round_trip(struct model *m, size_t samples, size_t max_bytes)
{
	_cleanup_(op_window_freep) struct op_window *w = make();
	struct sink sink = { .max_bytes = max_bytes };
	struct op_otlp_options options = OPTIONS;
	struct lines want = { 0 };
	uint64_t left_out = 99;

	options.max_bytes = max_bytes;
	model_fill(m, w, samples, &want);
	CHECK_OK(op_otlp_encode_kinds(w, &model_kinds, &options, take, &sink, &left_out));
	CHECK_INT(left_out, 0);
	CHECK_INT(sink.samples, samples);
	lines_sort(&want);
	lines_sort(&sink.lines);
	lines_check_equal(&sink.lines, &want);
	lines_clear(&want);
	lines_clear(&sink.lines);
	return sink.requests;
}

static struct model model(uint64_t seed)
{
	return (struct model){ .random = seed,
			       .processes = 9,
			       .locations = 200,
			       .stack_max = 12,
			       .events = 2,
			       .start_ns = START,
			       .length_ns = SECOND };
}

static void test_random_windows_round_trip(void)
{
	struct model m = model(0x1234567);
	int i;

	for (i = 0; i < 10; i++)
		CHECK_INT(round_trip(&m, 1 + model_random(&m, 300), 4000000), 1);
}

/* The union of the requests is the window, each is complete and below the limit. */
static void test_split_requests_are_complete(void)
{
	struct model m = model(0x7654321);
	int i;

	for (i = 0; i < 6; i++)
		CHECK(round_trip(&m, 400, 5000 + model_random(&m, 20000)) > 1);
}

/* @count samples of one identity, a nanosecond apart. */
static void fill_one(struct op_window *w, size_t count)
{
	struct op_window_sample s = { 0 };
	struct op_resource r = { .pid = 1 };
	size_t i;

	CHECK_OK(op_window_resource(w, &r, &s.resource));
	for (i = 0; i < count; i++) {
		s.time_ns = START + i;
		CHECK_OK(op_window_add(w, &s));
	}
}

static void test_timestamps_of_one_sample_are_split(void)
{
	_cleanup_(op_window_freep) struct op_window *w = make();
	struct sink sink = { .max_bytes = 9000 };
	struct op_otlp_options options = OPTIONS;
	uint64_t left_out;
	size_t i;

	fill_one(w, 6000);
	options.max_bytes = 9000;
	CHECK_OK(op_otlp_encode(w, &options, take, &sink, &left_out));
	CHECK_INT(left_out, 0);
	CHECK_INT(sink.samples, 6000);
	CHECK_INT(sink.requests, 6);
	lines_sort(&sink.lines);
	for (i = 1; i < sink.lines.len; i++)
		CHECK(strcmp(sink.lines.line[i - 1], sink.lines.line[i]) != 0);
	lines_clear(&sink.lines);
}

/* A list ends at what a 16-bit count can say. */
static void test_longest_list(void)
{
	_cleanup_(op_window_freep) struct op_window *w = make();
	struct op_otlp_request q;
	uint64_t samples;
	uint32_t at = 0;
	size_t len;
	void *bytes;

	fill_one(w, 70000);
	CHECK_OK(op_otlp_request_init(&q, w, &OPTIONS));
	q.max_bytes = 4000000;
	CHECK_OK(op_otlp_request_resource(&q, 0));
	CHECK_OK(op_otlp_request_profile(&q, op_rows_otlp_of(OP_EVENT_CPU), 0));
	CHECK_INT(op_otlp_request_add(&q, &w->identities.data[0], &at, 70000), 65535);
	CHECK(!q.profile_open);
	CHECK_INT(op_otlp_request_add(&q, &w->identities.data[0], &at, 70000 - 65535),
		  4465);
	CHECK_OK(op_otlp_request_finish(&q, &bytes, &len, &samples));
	CHECK(len > 70000 * 8 && len < 70000 * 8 + 1000);
	free(bytes);
	op_otlp_request_deinit(&q);
}

/* Pyroscope takes 16,000 samples a profile. */
static void test_longest_profile(void)
{
	_cleanup_(op_window_freep) struct op_window *w = make();
	struct op_window_sample s = { .time_ns = START };
	struct op_resource r = { .pid = 1 };
	struct op_otlp_request q;
	uint32_t i;

	CHECK_OK(op_window_resource(w, &r, &s.resource));
	for (i = 0; i <= 16000; i++) {
		s.tid = i;
		CHECK_OK(op_window_add(w, &s));
	}
	CHECK_OK(op_otlp_request_init(&q, w, &OPTIONS));
	q.max_bytes = 40000000;
	CHECK_OK(op_otlp_request_resource(&q, 0));
	CHECK_OK(op_otlp_request_profile(&q, op_rows_otlp_of(OP_EVENT_CPU), 0));
	for (i = 0; i <= 16000; i++) {
		uint32_t at = i;

		CHECK_INT(q.profiles.len, 0);
		CHECK_INT(op_otlp_request_add(&q, &w->identities.data[i], &at, 1), 1);
	}
	CHECK(q.profiles.len > 0);
	CHECK_INT(q.profile_samples, 1);
	op_otlp_request_deinit(&q);
}

static void test_too_large_a_sample_is_left_out(void)
{
	_cleanup_(op_window_freep) struct op_window *w = make();
	struct model m = model(11);
	struct sink sink = { .max_bytes = 3000 };
	struct op_otlp_options options = OPTIONS;
	struct lines want = { 0 };
	uint64_t left_out = 0;

	m.stack_max = 60;
	model_fill(&m, w, 300, &want);
	options.max_bytes = 3000;
	CHECK_OK(op_otlp_encode_kinds(w, &model_kinds, &options, take, &sink, &left_out));
	CHECK(left_out > 50 && left_out < 300);
	CHECK_INT(sink.samples + left_out, 300);
	/* What did go out is true. */
	lines_sort(&want);
	lines_sort(&sink.lines);
	{
		size_t i;
		size_t k = 0;

		for (i = 0; i < sink.lines.len; i++) {
			while (k < want.len &&
			       strcmp(want.line[k], sink.lines.line[i]) < 0)
				k++;
			CHECK(k < want.len);
			CHECK_STR(sink.lines.line[i], want.line[k++]);
		}
	}
	lines_clear(&want);
	lines_clear(&sink.lines);
}

static void test_events_without_a_row_are_counted(void)
{
	_cleanup_(op_window_freep) struct op_window *w = make();
	struct model m = model(13);
	const struct op_otlp_kinds cpu = { op_rows_otlp_of(OP_EVENT_CPU), 1 };
	struct sink sink = { .max_bytes = 4000000 };
	struct lines want = { 0 };
	uint64_t left_out = 0;
	size_t off_cpu = 0;
	size_t i;

	model_fill(&m, w, 100, &want);
	for (i = 0; i < want.len; i++)
		off_cpu += !strncmp(want.line[i], "off_cpu", 7);
	CHECK_OK(op_otlp_encode_kinds(w, &cpu, &OPTIONS, take, &sink, &left_out));
	CHECK(off_cpu > 0);
	CHECK_INT(left_out, off_cpu);
	CHECK_INT(sink.samples, 100 - off_cpu);
	lines_clear(&want);
	lines_clear(&sink.lines);
}

/* Collects texts without the count rule, for kinds of several rows. */
static int take_lines(void *data, void *bytes, size_t len, uint64_t samples)
{
	struct sink *s = data;

	reader_check(bytes, len, "1.2.3", &s->lines);
	s->samples += samples;
	free(bytes);
	return 0;
}

static void test_sums_and_counts(void)
{
	_cleanup_(op_window_freep) struct op_window *w = make();
	struct op_window_sample s = { .tid = 7, .cpu = 1 };
	struct op_resource r = { .pid = 5 };
	struct sink sink = { 0 };
	uint64_t left_out;
	int i;

	CHECK_OK(op_window_resource(w, &r, &s.resource));
	for (i = 0; i < 3; i++) {
		s.event = 2;
		s.value = 10 + i;
		CHECK_OK(op_window_add(w, &s));
		s.event = 3;
		s.value = 100 + i;
		CHECK_OK(op_window_add(w, &s));
	}
	CHECK_OK(op_otlp_encode_kinds(w, &model_kinds, &OPTIONS, take_lines, &sink,
				      &left_out));
	CHECK_INT(sink.samples, 6);
	lines_sort(&sink.lines);
	CHECK_INT(sink.lines.len, 3);
	CHECK_STR(sink.lines.line[0],
		  "alloc_objects; pid=5; cpu.logical_number=1 thread.id=7 value 3");
	CHECK_STR(sink.lines.line[1],
		  "alloc_space; pid=5; cpu.logical_number=1 thread.id=7 value 303");
	CHECK_STR(sink.lines.line[2],
		  "delay; pid=5; cpu.logical_number=1 thread.id=7 value 33");
	lines_clear(&sink.lines);
}

/* A profile says how many samples of its kind were lost, of how many, also where a label of a
 * process has the same key and number. */
static void test_lost_samples_are_reported(void)
{
	_cleanup_(op_window_freep) struct op_window *w = make();
	const uint64_t lost[OP_EVENT_MAX] = { [2] = 1 };
	struct op_otlp_options options = OPTIONS;
	struct op_window_sample s = { .tid = 7, .cpu = 1, .value = 1 };
	struct op_attribute label = { .integer = 1, .is_int = 1 };
	struct op_resource r = { .pid = 5 };
	struct sink sink = { 0 };
	uint64_t left_out;
	int i;

	options.lost = lost;
	CHECK_OK(op_window_string(w, "otelprof.window.samples_lost", 28, &label.key));
	CHECK_OK(op_window_attribute(w, &label, &s.labels.index[s.labels.len++]));
	CHECK_OK(op_window_resource(w, &r, &s.resource));
	for (i = 0; i < 4; i++) {
		s.event = 2 + (uint32_t)(i == 3);
		CHECK_OK(op_window_add(w, &s));
	}
	CHECK_OK(op_otlp_encode_kinds(w, &model_kinds, &options, take_lines, &sink,
				      &left_out));
	lines_sort(&sink.lines);
	CHECK_INT(sink.lines.len, 3);
	CHECK_STR(sink.lines.line[0],
		  "alloc_objects; pid=5; cpu.logical_number=1 "
		  "otelprof.window.samples_lost=1 thread.id=7 value 1");
	CHECK_STR(
		sink.lines.line[2],
		"delay; otelprof.window.samples_lost=1 otelprof.window.samples_taken=4 "
		"pid=5; cpu.logical_number=1 otelprof.window.samples_lost=1 thread.id=7 "
		"value 3");
	lines_clear(&sink.lines);
}

static void test_empty_window_emits_nothing(void)
{
	_cleanup_(op_window_freep) struct op_window *w = make();
	struct sink sink = { 0 };
	uint64_t left_out = 99;

	CHECK_OK(op_otlp_encode(w, &OPTIONS, take, &sink, &left_out));
	CHECK_INT(sink.requests, 0);
	CHECK_INT(left_out, 0);
}

static void test_emit_error_ends_it(void)
{
	_cleanup_(op_window_freep) struct op_window *w = make();
	struct model m = model(17);
	struct sink sink = { .max_bytes = 10000, .error_at = 2 };
	struct op_otlp_options options = OPTIONS;
	struct lines want = { 0 };
	uint64_t left_out = 99;

	model_fill(&m, w, 300, &want);
	options.max_bytes = 10000;
	CHECK_INT(op_otlp_encode_kinds(w, &model_kinds, &options, take, &sink, &left_out),
		  -EIO);
	CHECK_INT(sink.requests, 2);
	CHECK_INT(left_out, 99);
	lines_clear(&want);
	lines_clear(&sink.lines);
}

struct first_request {
	otlp_ExportProfilesServiceRequest request;
};

static int keep(void *data, void *bytes, size_t len, uint64_t samples)
{
	struct first_request *f = data;
	pb_istream_t in = pb_istream_from_buffer(bytes, len);

	CHECK(pb_decode(&in, &otlp_ExportProfilesServiceRequest_msg, &f->request));
	free(bytes);
	return 0;
}

/* The span is widened by samples outside of it; its end is exclusive. */
static void test_times_are_half_open(void)
{
	static const struct {
		uint64_t start, end, sample, want_start, want_duration;
	} cases[] = {
		{ 100, 200, 150, 100, 100 }, { 100, 200, 200, 100, 101 },
		{ 100, 200, 50, 50, 150 },   { 0, 0, 50, 50, 1 },
		{ 100, 100, 100, 100, 1 },
	};
	size_t i;

	for (i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		_cleanup_(op_window_freep) struct op_window *w = make();
		struct op_otlp_options options = { .start_ns = cases[i].start,
						   .end_ns = cases[i].end };
		struct op_window_sample s = { .time_ns = cases[i].sample };
		struct op_resource r = { .pid = 5 };
		struct first_request f = { otlp_ExportProfilesServiceRequest_init_zero };
		const otlp_Profile *p;
		uint64_t left_out;

		CHECK_OK(op_window_resource(w, &r, &s.resource));
		CHECK_OK(op_window_add(w, &s));
		CHECK_OK(op_otlp_encode(w, &options, keep, &f, &left_out));
		p = &f.request.resource_profiles[0].scope_profiles[0].profiles[0];
		CHECK_INT(p->time_unix_nano, cases[i].want_start);
		CHECK_INT(p->duration_nano, cases[i].want_duration);
		pb_release(&otlp_ExportProfilesServiceRequest_msg, &f.request);
	}
}

/* The busiest process comes first; what it says of itself wins over the host's words. */
static void test_resources(void)
{
	static const struct op_otlp_attribute attributes[] = {
		{ "host.name", "box" },	 { "host.name", "again" },
		{ "process.pid", "no" }, { "service.name", "none" },
		{ "bad", "\xff" },	 { "", "no key" },
	};
	_cleanup_(op_window_freep) struct op_window *w = make();
	struct op_otlp_options options = OPTIONS;
	struct op_window_sample s = { .time_ns = START };
	struct op_resource r = { .pid = 5 };
	struct first_request f = { otlp_ExportProfilesServiceRequest_init_zero };
	const otlp_Resource *first;
	uint64_t left_out;
	uint32_t busy;

	options.attributes = attributes;
	options.attributes_len = 6;
	CHECK_OK(op_window_resource(w, &r, &s.resource));
	CHECK_OK(op_window_add(w, &s));
	r.pid = 6;
	CHECK_OK(op_window_string(w, "mine", 4, &r.service_name));
	CHECK_OK(op_window_resource(w, &r, &busy));
	s.resource = busy;
	CHECK_OK(op_window_add(w, &s));
	CHECK_OK(op_window_add(w, &s));
	CHECK_OK(op_otlp_encode(w, &options, keep, &f, &left_out));
	CHECK_INT(f.request.resource_profiles_count, 2);
	first = &f.request.resource_profiles[0].resource;
	CHECK_INT(first->attributes_count, 3);
	CHECK_STR(first->attributes[0].key, "process.pid");
	CHECK_INT(first->attributes[0].value.value.int_value, 6);
	CHECK_STR(first->attributes[1].key, "service.name");
	CHECK_STR(first->attributes[1].value.value.string_value, "mine");
	CHECK_STR(first->attributes[2].key, "host.name");
	CHECK_STR(first->attributes[2].value.value.string_value, "box");
	first = &f.request.resource_profiles[1].resource;
	CHECK_INT(first->attributes_count, 3);
	CHECK_STR(first->attributes[2].value.value.string_value, "none");
	pb_release(&otlp_ExportProfilesServiceRequest_msg, &f.request);
}

TEST_MAIN({ "longest_list", test_longest_list },
	  { "random_windows_round_trip", test_random_windows_round_trip },
	  { "split_requests_are_complete", test_split_requests_are_complete },
	  { "timestamps_of_one_sample_are_split",
	    test_timestamps_of_one_sample_are_split },
	  { "longest_profile", test_longest_profile },
	  { "too_large_a_sample_is_left_out", test_too_large_a_sample_is_left_out },
	  { "events_without_a_row_are_counted", test_events_without_a_row_are_counted },
	  { "sums_and_counts", test_sums_and_counts },
	  { "lost_samples_are_reported", test_lost_samples_are_reported },
	  { "empty_window_emits_nothing", test_empty_window_emits_nothing },
	  { "emit_error_ends_it", test_emit_error_ends_it },
	  { "times_are_half_open", test_times_are_half_open },
	  { "resources", test_resources })
