/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The input is a program that fills a window: names, frames, labels and times of any bytes.
 * What is encoded must decode, obey every rule of a request, and hold as many samples.
 */
#include "base/reader.h"
#include "model.h"
#include "profile/otlp/encode.h"
#include "reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

struct state {
	struct op_window *w;
	struct op_reader r;
	uint32_t strings[16];
	uint32_t attributes[16];
	uint32_t functions[16];
	uint32_t mappings[16];
	uint32_t locations[16];
	uint32_t stacks[16];
	uint32_t links[16];
	uint32_t resources[16];
};

/* Results go to a slot and are used from a slot: any thing with any other. */
static uint32_t *slot(struct state *s, uint32_t *slots)
{
	return &slots[op_read_u8(&s->r) % 16];
}

static void add_string(struct state *s)
{
	uint8_t len = op_read_u8(&s->r);
	const uint8_t *bytes = op_read_bytes(&s->r, len);

	if (bytes && !memchr(bytes, 0, len))
		CHECK_OK(op_window_string(s->w, (const char *)bytes, len,
					  slot(s, s->strings)));
}

static void add_attribute(struct state *s)
{
	struct op_attribute a = { .key = *slot(s, s->strings) };

	a.is_int = op_read_u8(&s->r) & 1;
	a.unit = *slot(s, s->strings);
	if (a.is_int)
		a.integer = op_read_s64(&s->r);
	else
		a.string = *slot(s, s->strings);
	/* The null attribute has no key; nobody makes another without one. */
	if (a.key)
		CHECK_OK(op_window_attribute(s->w, &a, slot(s, s->attributes)));
}

static void add_set(struct state *s, struct op_attribute_set *ret)
{
	uint32_t i;

	ret->len = op_read_u8(&s->r) % (OP_ATTRIBUTES_MAX + 1);
	for (i = 0; i < ret->len; i++)
		ret->index[i] = *slot(s, s->attributes);
}

static void add_code(struct state *s)
{
	struct op_function f = { .name = *slot(s, s->strings) };
	struct op_window_mapping m = { .start = op_read_u32(&s->r) };

	f.system_name = *slot(s, s->strings);
	f.file = *slot(s, s->strings);
	f.start_line = op_read_u32(&s->r);
	CHECK_OK(op_window_function(s->w, &f, slot(s, s->functions)));
	m.limit = m.start + 1 + op_read_u16(&s->r);
	m.offset = op_read_u64(&s->r);
	m.file = *slot(s, s->strings);
	add_set(s, &m.attributes);
	CHECK_OK(op_window_mapping(s->w, &m, slot(s, s->mappings)));
}

static void add_location(struct state *s)
{
	struct op_location l = { .address = op_read_u64(&s->r) };
	uint32_t i;

	l.address += !l.address; /* location 0 is in no stack */
	l.mapping = *slot(s, s->mappings);
	l.lines_len = op_read_u8(&s->r) % (OP_LINES_MAX + 1);
	for (i = 0; i < l.lines_len; i++) {
		l.lines[i].function = *slot(s, s->functions);
		l.lines[i].line = op_read_u32(&s->r);
	}
	add_set(s, &l.attributes);
	CHECK_OK(op_window_location(s->w, &l, slot(s, s->locations)));
}

static void add_stack(struct state *s)
{
	uint32_t list[64];
	uint32_t len = op_read_u8(&s->r) % 64;
	uint32_t used = 0;
	uint32_t i;

	for (i = 0; i < len; i++) {
		list[used] = *slot(s, s->locations);
		used += list[used] != 0;
	}
	CHECK_OK(op_window_stack(s->w, list, used, slot(s, s->stacks)));
}

static void add_resource(struct state *s)
{
	struct op_resource r = { .pid = op_read_u32(&s->r) };
	struct op_link link = { { 1 }, { 2 } };

	r.container_id = *slot(s, s->strings);
	r.executable_name = *slot(s, s->strings);
	r.executable_path = *slot(s, s->strings);
	r.service_name = *slot(s, s->strings);
	r.command_args = *slot(s, s->strings);
	CHECK_OK(op_window_resource(s->w, &r, slot(s, s->resources)));
	link.trace_id[15] = op_read_u8(&s->r);
	CHECK_OK(op_window_link(s->w, &link, slot(s, s->links)));
}

static void add_samples(struct state *s)
{
	struct op_window_sample x = { .resource = *slot(s, s->resources) };
	uint32_t count = 1 + op_read_u8(&s->r) % 32;

	x.event = op_read_u8(&s->r) % 2;
	x.stack = *slot(s, s->stacks);
	x.tid = op_read_u8(&s->r);
	x.comm = *slot(s, s->strings);
	x.cpu = op_read_u8(&s->r);
	x.link = *slot(s, s->links);
	add_set(s, &x.labels);
	while (count--) {
		/* Half of the range: the end of the last nanosecond is no time. */
		x.time_ns = op_read_u64(&s->r) >> 1;
		x.value = op_read_s64(&s->r);
		CHECK_OK(op_window_add(s->w, &x));
	}
}

struct output {
	struct lines lines;
	size_t max_bytes;
	uint64_t samples;
};

static int take(void *data, void *bytes, size_t len, uint64_t samples)
{
	struct output *o = data;

	CHECK(len < o->max_bytes);
	reader_check(bytes, len, "v", &o->lines);
	o->samples += samples;
	CHECK_INT(o->lines.len, o->samples);
	free(bytes);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static void (*const commands[])(struct state *) = {
		add_string, add_attribute, add_code,	add_location,
		add_stack,  add_resource,  add_samples, add_samples,
	};
	const struct op_window_config config = { .period_ns = 50000000 };
	struct op_otlp_options options = { .version = "v", .start_ns = 1 };
	struct state s = { .r = op_reader_init(data, size) };
	struct output o = { 0 };
	const struct op_resource nobody = { 0 };
	uint64_t left_out = 0;

	CHECK_OK(op_window_new(&config, &s.w));
	CHECK_OK(op_window_resource(s.w, &nobody, &s.resources[0]));
	options.max_bytes = o.max_bytes = 1 + op_read_u16(&s.r);
	while (op_reader_left(&s.r) && !s.r.failed)
		commands[op_read_u8(&s.r) % 8](&s);
	CHECK_OK(op_otlp_encode_kinds(s.w, &model_kinds, &options, take, &o, &left_out));
	CHECK_INT(o.samples + left_out, op_window_samples(s.w));
	(void)op_window_free(s.w);
	lines_clear(&o.lines);
	return 0;
}
