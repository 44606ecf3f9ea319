/* SPDX-License-Identifier: Apache-2.0 */
#include "model.h"

#include "base/strbuf.h"
#include "op_user_types.h"

static const struct op_otlp_kind ROWS[] = {
	{ 0, OP_OTLP_TIMES, "samples", "count", OP_OTLP_PERIOD_WINDOW, "cpu",
	  "nanoseconds" },
	{ 1, OP_OTLP_TIMES_VALUES, "off_cpu", "nanoseconds", OP_OTLP_PERIOD_NONE, NULL,
	  NULL },
	{ 2, OP_OTLP_SUM, "delay", "nanoseconds", OP_OTLP_PERIOD_ONE, "contentions",
	  "count" },
	{ 3, OP_OTLP_SUM, "alloc_space", "bytes", OP_OTLP_PERIOD_ONE, "space", "bytes" },
	{ 3, OP_OTLP_COUNT, "alloc_objects", "count", OP_OTLP_PERIOD_ONE, "space",
	  "bytes" },
};
const struct op_otlp_kinds model_kinds = { ROWS, 5 };

void lines_add(struct lines *l, const char *text)
{
	if (l->len == l->cap) {
		l->cap = l->cap ? 2 * l->cap : 64;
		l->line = realloc(l->line, l->cap * sizeof(*l->line));
		CHECK(l->line);
	}
	l->line[l->len] = strdup(text);
	CHECK(l->line[l->len]);
	l->len++;
}

static int compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

void lines_sort(struct lines *l)
{
	if (l->len)
		qsort(l->line, l->len, sizeof(*l->line), compare);
}

void lines_clear(struct lines *l)
{
	size_t i;

	for (i = 0; i < l->len; i++)
		free(l->line[i]);
	free(l->line);
	memset(l, 0, sizeof(*l));
}

void lines_check_equal(const struct lines *got, const struct lines *want)
{
	size_t i;

	for (i = 0; i < got->len && i < want->len; i++)
		CHECK_STR(got->line[i], want->line[i]);
	CHECK_INT(got->len, want->len);
}

uint64_t model_random(struct model *m, uint64_t below)
{
	m->random ^= m->random << 13;
	m->random ^= m->random >> 7;
	m->random ^= m->random << 17;
	return (m->random >> 11) % below;
}

static uint32_t intern(struct op_window *w, const char *s)
{
	uint32_t n;

	CHECK_OK(op_window_string(w, s, strlen(s), &n));
	return n;
}

/* What stands in a process, a function and so on follows from its number alone. */
static uint32_t add_process(struct op_window *w, uint32_t i, struct op_strbuf *text)
{
	struct op_resource r = { .pid = 1000 + i, .start_time_ns = i };
	char s[128];
	uint32_t n;

	(void)snprintf(s, sizeof(s), "/usr/bin/program%u", i);
	r.executable_path = intern(w, s);
	r.executable_name = intern(w, s + strlen("/usr/bin/"));
	op_strbuf_printf(text, "pid=%u name=%s path=%s", r.pid, s + strlen("/usr/bin/"),
			 s);
	if (i % 2) {
		(void)snprintf(s, sizeof(s), "%064x", i);
		r.container_id = intern(w, s);
		op_strbuf_printf(text, " container=%s", s);
	}
	if (i % 3 == 0) {
		(void)snprintf(s, sizeof(s), "service%u", i);
		r.service_name = intern(w, s);
		op_strbuf_printf(text, " service=%s", s);
	}
	if (i % 4 == 0) {
		int len = snprintf(s, sizeof(s), "program%u%c-v%c--x=%u", i, 0, 0, i);

		CHECK_OK(op_window_string(w, s, (size_t)len, &r.command_args));
		op_strbuf_printf(text, " args=program%u,-v,--x=%u", i, i);
	}
	CHECK_OK(op_window_resource(w, &r, &n));
	return n;
}

static uint32_t add_function(struct op_window *w, uint32_t i, struct op_strbuf *text)
{
	struct op_function f = { .start_line = i % 5 };
	char s[64];
	uint32_t n;

	(void)snprintf(s, sizeof(s), "function%u", i);
	f.name = intern(w, s);
	op_strbuf_printf(text, "%s", s);
	if (i % 2) {
		(void)snprintf(s, sizeof(s), "_Zraw%u", i);
		f.system_name = intern(w, s);
		op_strbuf_printf(text, "(%s)", s);
	}
	if (i % 3) {
		(void)snprintf(s, sizeof(s), "dir/file%u.c", i / 4);
		f.file = intern(w, s);
		op_strbuf_printf(text, "@%s", s);
	}
	op_strbuf_printf(text, "+%u", f.start_line);
	CHECK_OK(op_window_function(w, &f, &n));
	return n;
}

static uint32_t add_mapping(struct op_window *w, uint32_t i, struct op_strbuf *text)
{
	struct op_window_mapping m = { 0 };
	char s[80];
	uint32_t n;

	if (!i)
		return 0;
	m.start = i * UINT64_C(0x100000);
	m.limit = m.start + 0xff000;
	m.offset = i * 4096;
	(void)snprintf(s, sizeof(s), "/usr/lib/lib%u.so", i);
	m.file = intern(w, s);
	op_strbuf_printf(text, "[%#llx-%#llx+%#llx %s", (unsigned long long)m.start,
			 (unsigned long long)m.limit, (unsigned long long)m.offset, s);
	(void)snprintf(s, sizeof(s), "%032x", i);
	m.attributes.len = 2;
	CHECK_OK(op_window_string_attribute(w, "process.executable.build_id.htlhash", s,
					    &m.attributes.index[1]));
	op_strbuf_printf(text, " process.executable.build_id.gnu=%s", s + 8);
	op_strbuf_printf(text, " process.executable.build_id.htlhash=%s]", s);
	CHECK_OK(op_window_string_attribute(w, "process.executable.build_id.gnu", s + 8,
					    &m.attributes.index[0]));
	CHECK_OK(op_window_mapping(w, &m, &n));
	return n;
}

static uint32_t add_location(struct op_window *w, uint32_t i, struct op_strbuf *text)
{
	static const char *const types[] = { "native", "kernel", "cpython" };
	struct op_location l = { .address = i % 3 == 2 ? 0 : 0x1000 + i };
	uint32_t lines = i % 3 == 2 ? 1 : i % 4;
	uint32_t k;
	uint32_t n;

	op_strbuf_printf(text, "%#llx", (unsigned long long)l.address);
	l.mapping = add_mapping(w, i % 3 == 2 ? 0 : i % 7, text);
	for (k = 0; k < lines; k++) {
		op_strbuf_puts(text, k ? "<" : " ");
		l.lines[k].function = add_function(w, i + k, text);
		l.lines[k].line = (i * 7 + k) % 1000;
		l.lines[k].column = (i + k) % 5;
		op_strbuf_printf(text, ":%u:%u", l.lines[k].line, l.lines[k].column);
	}
	l.lines_len = lines;
	l.attributes.len = 1;
	CHECK_OK(op_window_string_attribute(w, "profile.frame.type", types[i % 3],
					    &l.attributes.index[0]));
	op_strbuf_printf(text, " profile.frame.type=%s", types[i % 3]);
	CHECK_OK(op_window_location(w, &l, &n));
	return n;
}

static void add_stack(struct model *m, struct op_window *w, struct op_window_sample *s,
		      struct op_strbuf *text)
{
	uint32_t list[2048];
	uint32_t len = (uint32_t)model_random(m, m->stack_max) + 1;
	uint32_t i;

	CHECK(len <= 2048);
	for (i = 0; i < len; i++) {
		op_strbuf_puts(text, "; ");
		/* Squared: few locations are in most stacks. */
		list[i] = add_location(w,
				       (uint32_t)(model_random(m, m->locations) *
						  model_random(m, m->locations) /
						  m->locations),
				       text);
	}
	CHECK_OK(op_window_stack(w, list, len, &s->stack));
}

/* Attributes in the order of their keys, as the decoder writes them. */
static void add_attributes(struct model *m, struct op_window *w,
			   struct op_window_sample *s, struct op_strbuf *text)
{
	char value[32];

	s->cpu = (uint32_t)model_random(m, 4);
	op_strbuf_printf(text, "; cpu.logical_number=%u", s->cpu);
	if (!model_random(m, 4)) {
		(void)snprintf(value, sizeof(value), "user%u",
			       (unsigned)model_random(m, 5));
		CHECK_OK(op_window_string_attribute(w, "label.user", value,
						    &s->labels.index[s->labels.len++]));
		op_strbuf_printf(text, " label.user=%s", value);
	}
	if (!model_random(m, 4)) {
		const struct op_attribute a = { .key = intern(w, "label.zone"),
						.integer = -7,
						.is_int = 1,
						.unit = intern(w, "By") };

		CHECK_OK(op_window_attribute(w, &a, &s->labels.index[s->labels.len++]));
		op_strbuf_puts(text, " label.zone=-7By");
	}
	s->tid = (uint32_t)model_random(m, 6);
	op_strbuf_printf(text, " thread.id=%u", s->tid);
	if (model_random(m, 5)) {
		/* A name that is also a string of the encoder. */
		(void)snprintf(value, sizeof(value), "%s", s->tid % 2 ? "cpu" : "worker");
		s->comm = intern(w, value);
		op_strbuf_printf(text, " thread.name=%s", value);
	}
}

void model_fill(struct model *m, struct op_window *w, size_t count, struct lines *ret)
{
	struct op_strbuf text = { 0 };
	size_t i;

	for (i = 0; i < count; i++) {
		struct op_window_sample s = { 0 };

		op_strbuf_reset(&text);
		s.event = (uint32_t)model_random(m, m->events);
		op_strbuf_printf(&text, "%s; ", ROWS[s.event].type);
		s.resource =
			add_process(w, (uint32_t)model_random(m, m->processes), &text);
		add_stack(m, w, &s, &text);
		add_attributes(m, w, &s, &text);
		if (!model_random(m, 3)) {
			struct op_link link = { { 0 }, { 0 } };

			link.trace_id[0] = 0xab;
			link.span_id[7] = (uint8_t)(1 + model_random(m, 20));
			CHECK_OK(op_window_link(w, &link, &s.link));
			op_strbuf_printf(&text, " link=ab/%02x", link.span_id[7]);
		}
		s.time_ns = m->start_ns + model_random(m, m->length_ns);
		s.value = (int64_t)model_random(m, 1 << 30);
		op_strbuf_printf(&text, " at %llu", (unsigned long long)s.time_ns);
		if (s.event)
			op_strbuf_printf(&text, " value %lld", (long long)s.value);
		CHECK(!text.failed);
		CHECK_OK(op_window_add(w, &s));
		lines_add(ret, text.data);
	}
	op_strbuf_deinit(&text);
}
