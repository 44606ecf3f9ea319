/* SPDX-License-Identifier: Apache-2.0 */
#include "reader.h"

#include <pb_decode.h>
#include <pb_encode.h>

#include "base/strbuf.h"

static const char SCHEMA[] = "https://opentelemetry.io/schemas/1.44.0";

/* A request and how often each entry of its dictionary is referred to. */
struct reader {
	otlp_ExportProfilesServiceRequest request;
	const otlp_ProfilesDictionary *d;
	uint32_t *used[7];
};

enum {
	STRING,
	ATTRIBUTE,
	FUNCTION,
	MAPPING,
	LOCATION,
	LINK,
	STACK
};

static size_t table_len(const otlp_ProfilesDictionary *d, int table)
{
	const size_t len[] = { d->string_table_count,	d->attribute_table_count,
			       d->function_table_count, d->mapping_table_count,
			       d->location_table_count, d->link_table_count,
			       d->stack_table_count };

	return len[table];
}

/* A reference: in range, and counted. */
static uint32_t ref(struct reader *x, int table, int32_t i)
{
	CHECK(i >= 0 && (size_t)i < table_len(x->d, table));
	x->used[table][i]++;
	return (uint32_t)i;
}

static const char *str(struct reader *x, int32_t i)
{
	return x->d->string_table[ref(x, STRING, i)];
}

static void attribute_text(struct reader *x, int32_t i, struct op_strbuf *text)
{
	const otlp_KeyValueAndUnit *a = &x->d->attribute_table[ref(x, ATTRIBUTE, i)];
	const char *key = str(x, a->key_strindex);

	CHECK(i > 0 && key[0] && a->has_value);
	if (a->value.which_value == otlp_AnyValue_int_value_tag) {
		op_strbuf_printf(text, " %s=%lld", key,
				 (long long)a->value.value.int_value);
	} else {
		CHECK_INT(a->value.which_value, otlp_AnyValue_string_value_tag);
		op_strbuf_printf(text, " %s=%s", key, a->value.value.string_value);
	}
	op_strbuf_puts(text, str(x, a->unit_strindex));
}

/* Attributes sorted; no key twice. */
static void attributes_text(struct reader *x, const int32_t *list, size_t len,
			    struct op_strbuf *text)
{
	struct lines lines = { 0 };
	size_t i;

	for (i = 0; i < len; i++) {
		struct op_strbuf one = { 0 };

		attribute_text(x, list[i], &one);
		lines_add(&lines, one.data);
		op_strbuf_deinit(&one);
	}
	lines_sort(&lines);
	for (i = 0; i < lines.len; i++) {
		size_t key = strcspn(lines.line[i], "=") + 1;

		CHECK(!i || strncmp(lines.line[i], lines.line[i - 1], key) != 0);
		op_strbuf_puts(text, lines.line[i]);
	}
	lines_clear(&lines);
}

static void function_text(struct reader *x, int32_t i, struct op_strbuf *text)
{
	const otlp_Function *f = &x->d->function_table[ref(x, FUNCTION, i)];

	CHECK(i > 0);
	CHECK(f->name_strindex || f->system_name_strindex || f->filename_strindex);
	op_strbuf_puts(text, str(x, f->name_strindex));
	if (f->system_name_strindex)
		op_strbuf_printf(text, "(%s)", str(x, f->system_name_strindex));
	if (f->filename_strindex)
		op_strbuf_printf(text, "@%s", str(x, f->filename_strindex));
	op_strbuf_printf(text, "+%lld", (long long)f->start_line);
}

static void mapping_text(struct reader *x, int32_t i, struct op_strbuf *text)
{
	const otlp_Mapping *m = &x->d->mapping_table[ref(x, MAPPING, i)];

	if (!i)
		return;
	CHECK(m->memory_start < m->memory_limit);
	op_strbuf_printf(
		text, "[%#llx-%#llx+%#llx %s", (unsigned long long)m->memory_start,
		(unsigned long long)m->memory_limit, (unsigned long long)m->file_offset,
		str(x, m->filename_strindex));
	attributes_text(x, m->attribute_indices, m->attribute_indices_count, text);
	op_strbuf_puts(text, "]");
}

static void location_text(struct reader *x, int32_t i, struct op_strbuf *text)
{
	const otlp_Location *l = &x->d->location_table[ref(x, LOCATION, i)];
	size_t k;

	CHECK(i > 0);
	op_strbuf_printf(text, "; %#llx", (unsigned long long)l->address);
	mapping_text(x, l->mapping_index, text);
	for (k = 0; k < l->lines_count; k++) {
		CHECK(l->lines[k].line >= 0 && l->lines[k].column >= 0);
		op_strbuf_puts(text, k ? "<" : " ");
		function_text(x, l->lines[k].function_index, text);
		op_strbuf_printf(text, ":%lld:%lld", (long long)l->lines[k].line,
				 (long long)l->lines[k].column);
	}
	attributes_text(x, l->attribute_indices, l->attribute_indices_count, text);
}

static void link_text(struct reader *x, int32_t i, struct op_strbuf *text)
{
	const otlp_Link *l = &x->d->link_table[ref(x, LINK, i)];

	if (!i)
		return;
	CHECK(l->trace_id && l->trace_id->size == 16);
	CHECK(l->span_id && l->span_id->size == 8);
	op_strbuf_printf(text, " link=%02x/%02x", l->trace_id->bytes[0],
			 l->span_id->bytes[7]);
}

static const otlp_AnyValue *find(const otlp_Resource *r, const char *key)
{
	const otlp_AnyValue *found = NULL;
	size_t i;

	for (i = 0; i < r->attributes_count; i++) {
		const otlp_KeyValue *kv = &r->attributes[i];

		CHECK(kv->key && kv->has_value && kv->key_strindex == 0);
		CHECK(kv->value.which_value != otlp_AnyValue_string_value_strindex_tag);
		if (!strcmp(kv->key, key)) {
			CHECK(!found);
			found = &kv->value;
		}
	}
	return found;
}

static void put_string(const otlp_Resource *r, const char *key, const char *name,
		       struct op_strbuf *text)
{
	const otlp_AnyValue *v = find(r, key);

	if (!v)
		return;
	CHECK_INT(v->which_value, otlp_AnyValue_string_value_tag);
	op_strbuf_printf(text, " %s=%s", name, v->value.string_value);
}

static void resource_text(const otlp_Resource *r, struct op_strbuf *text)
{
	const otlp_AnyValue *v = find(r, "process.pid");
	size_t i;

	CHECK(v && v->which_value == otlp_AnyValue_int_value_tag);
	op_strbuf_printf(text, "pid=%lld", (long long)v->value.int_value);
	put_string(r, "process.executable.name", "name", text);
	put_string(r, "process.executable.path", "path", text);
	put_string(r, "container.id", "container", text);
	put_string(r, "service.name", "service", text);
	v = find(r, "process.command_args");
	if (!v)
		return;
	CHECK_INT(v->which_value, otlp_AnyValue_array_value_tag);
	for (i = 0; i < v->value.array_value.values_count; i++)
		op_strbuf_printf(text, "%s%s", i ? "," : " args=",
				 v->value.array_value.values[i].value.string_value);
}

/* The texts of one Sample: one a timestamp, or one with a value alone. */
static void sample_texts(struct reader *x, const otlp_Sample *s, const otlp_Profile *p,
			 const char *head, struct lines *ret)
{
	struct op_strbuf text = { 0 };
	size_t body;
	size_t i;

	op_strbuf_puts(&text, head);
	ref(x, STACK, s->stack_index);
	for (i = 0; i < x->d->stack_table[s->stack_index].location_indices_count; i++)
		location_text(x, x->d->stack_table[s->stack_index].location_indices[i],
			      &text);
	op_strbuf_puts(&text, ";");
	attributes_text(x, s->attribute_indices, s->attribute_indices_count, &text);
	link_text(x, s->link_index, &text);
	body = text.len;
	CHECK(s->values_count || s->timestamps_unix_nano_count);
	if (s->timestamps_unix_nano_count && s->values_count)
		CHECK_INT(s->values_count, s->timestamps_unix_nano_count);
	for (i = 0; i < s->timestamps_unix_nano_count; i++) {
		CHECK(s->timestamps_unix_nano[i] >= p->time_unix_nano);
		CHECK(s->timestamps_unix_nano[i] - p->time_unix_nano < p->duration_nano);
		text.len = body;
		op_strbuf_printf(&text, " at %llu",
				 (unsigned long long)s->timestamps_unix_nano[i]);
		if (s->values_count)
			op_strbuf_printf(&text, " value %lld", (long long)s->values[i]);
		lines_add(ret, text.data);
	}
	if (!s->timestamps_unix_nano_count) {
		CHECK_INT(s->values_count, 1);
		op_strbuf_printf(&text, " value %lld", (long long)s->values[0]);
		lines_add(ret, text.data);
	}
	CHECK(!text.failed);
	op_strbuf_deinit(&text);
}

static void check_period(struct reader *x, const otlp_Profile *p, const char *type)
{
	if (!strcmp(type, "samples")) {
		CHECK_STR(str(x, p->sample_type.unit_strindex), "count");
		CHECK(p->has_period_type);
		CHECK_STR(str(x, p->period_type.type_strindex), "cpu");
		CHECK_STR(str(x, p->period_type.unit_strindex), "nanoseconds");
		CHECK_INT(p->period, 50000000);
	} else if (!strcmp(type, "off_cpu")) {
		CHECK_STR(str(x, p->sample_type.unit_strindex), "nanoseconds");
		/* Parca wants the message; Pyroscope wants nothing in it. */
		CHECK(p->has_period_type && !p->period);
		CHECK_INT(p->period_type.type_strindex, 0);
		CHECK_INT(p->period_type.unit_strindex, 0);
	} else {
		(void)str(x, p->sample_type.unit_strindex);
		CHECK(p->has_period_type && p->period > 0);
		CHECK(str(x, p->period_type.type_strindex)[0]);
		CHECK(str(x, p->period_type.unit_strindex)[0]);
	}
	/* A dash is refused in Pyroscope's names. */
	CHECK(!strchr(type, '-'));
}

/* Samples of one identity are one. */
static void check_identities(const otlp_Profile *p)
{
	struct lines lines = { 0 };
	size_t i;

	for (i = 0; i < p->samples_count; i++) {
		const otlp_Sample *s = &p->samples[i];
		struct op_strbuf text = { 0 };
		size_t k;

		op_strbuf_printf(&text, "%d %d:", s->stack_index, s->link_index);
		for (k = 0; k < s->attribute_indices_count; k++)
			op_strbuf_printf(&text, " %d", s->attribute_indices[k]);
		lines_add(&lines, text.data);
		op_strbuf_deinit(&text);
	}
	lines_sort(&lines);
	for (i = 1; i < lines.len; i++)
		CHECK(strcmp(lines.line[i - 1], lines.line[i]) != 0);
	lines_clear(&lines);
}

static void check_profile(struct reader *x, const otlp_Profile *p, const char *resource,
			  struct lines *ret)
{
	static const uint8_t zero[16];
	struct op_strbuf head = { 0 };
	const char *type;
	size_t i;

	CHECK(p->has_sample_type && p->samples_count > 0 && p->samples_count <= 16000);
	CHECK(p->profile_id && p->profile_id->size == 16);
	CHECK(memcmp(p->profile_id->bytes, zero, 16) != 0);
	type = str(x, p->sample_type.type_strindex);
	CHECK(type[0]);
	check_period(x, p, type);
	check_identities(p);
	op_strbuf_printf(&head, "%s;", type);
	attributes_text(x, p->attribute_indices, p->attribute_indices_count, &head);
	op_strbuf_printf(&head, " %s", resource);
	for (i = 0; i < p->samples_count; i++)
		sample_texts(x, &p->samples[i], p, head.data, ret);
	op_strbuf_deinit(&head);
}

static void check_resource(struct reader *x, const otlp_ResourceProfiles *rp,
			   const char *version, struct lines *ret)
{
	struct op_strbuf text = { 0 };
	size_t i;

	CHECK(rp->has_resource);
	CHECK_STR(rp->schema_url, SCHEMA);
	CHECK_INT(rp->scope_profiles_count, 1);
	CHECK_STR(rp->scope_profiles[0].schema_url, SCHEMA);
	CHECK_STR(rp->scope_profiles[0].scope.name, "otelprof");
	CHECK_STR(rp->scope_profiles[0].scope.version, version);
	CHECK(rp->scope_profiles[0].profiles_count > 0);
	resource_text(&rp->resource, &text);
	for (i = 0; i < rp->scope_profiles[0].profiles_count; i++)
		check_profile(x, &rp->scope_profiles[0].profiles[i], text.data, ret);
	op_strbuf_deinit(&text);
}

/* Entry 0 of each table is there and zero: encoded again, it is nothing. */
static void check_zero_entries(const otlp_ProfilesDictionary *d)
{
	const void *first[] = { d->attribute_table, d->function_table, d->mapping_table,
				d->location_table,  d->link_table,     d->stack_table };
	const pb_msgdesc_t *desc[] = {
		&otlp_KeyValueAndUnit_msg, &otlp_Function_msg, &otlp_Mapping_msg,
		&otlp_Location_msg,	   &otlp_Link_msg,     &otlp_Stack_msg
	};
	size_t size;
	int i;

	for (i = 0; i < 7; i++)
		CHECK(table_len(d, i) > 0);
	CHECK_STR(d->string_table[0], "");
	for (i = 0; i < 6; i++) {
		CHECK(pb_get_encoded_size(&size, desc[i], first[i]));
		CHECK_INT(size, 0);
	}
}

static void check_strings_differ(const otlp_ProfilesDictionary *d)
{
	struct lines lines = { 0 };
	size_t i;

	for (i = 0; i < d->string_table_count; i++)
		lines_add(&lines, d->string_table[i]);
	lines_sort(&lines);
	for (i = 1; i < lines.len; i++)
		CHECK(strcmp(lines.line[i - 1], lines.line[i]) != 0);
	lines_clear(&lines);
}

/* The encoded entries of a table as hex lines: no two are alike. */
static void check_entries_differ(const pb_msgdesc_t *desc, const void *entries,
				 size_t elem_size, size_t len)
{
	struct lines lines = { 0 };
	size_t i;
	size_t k;

	for (i = 0; i < len; i++) {
		const void *entry = (const char *)entries + i * elem_size;
		struct op_strbuf text = { 0 };
		uint8_t buf[16384];
		pb_ostream_t out = pb_ostream_from_buffer(buf, sizeof(buf));

		CHECK(pb_encode(&out, desc, entry));
		op_strbuf_puts(&text, "x");
		for (k = 0; k < out.bytes_written; k++)
			op_strbuf_printf(&text, "%02x", buf[k]);
		lines_add(&lines, text.data);
		op_strbuf_deinit(&text);
	}
	lines_sort(&lines);
	for (i = 1; i < lines.len; i++)
		CHECK(strcmp(lines.line[i - 1], lines.line[i]) != 0);
	lines_clear(&lines);
}

#define CHECK_DIFFER(d, table, type)                                                     \
	check_entries_differ(&otlp_##type##_msg, (d)->table, sizeof(otlp_##type),        \
			     (d)->table##_count)

void reader_check(const void *bytes, size_t len, const char *version, struct lines *ret)
{
	struct reader x = { .request = otlp_ExportProfilesServiceRequest_init_zero };
	pb_istream_t in = pb_istream_from_buffer(bytes, len);
	size_t i;
	int t;

	if (!pb_decode(&in, &otlp_ExportProfilesServiceRequest_msg, &x.request))
		TEST_FAIL("decoding failed: %s", PB_GET_ERROR(&in));
	CHECK(x.request.has_dictionary && x.request.resource_profiles_count > 0);
	x.d = &x.request.dictionary;
	check_zero_entries(x.d);
	check_strings_differ(x.d);
	CHECK_DIFFER(x.d, attribute_table, KeyValueAndUnit);
	CHECK_DIFFER(x.d, function_table, Function);
	CHECK_DIFFER(x.d, mapping_table, Mapping);
	CHECK_DIFFER(x.d, location_table, Location);
	CHECK_DIFFER(x.d, link_table, Link);
	CHECK_DIFFER(x.d, stack_table, Stack);
	for (t = 0; t < 7; t++)
		CHECK((x.used[t] = calloc(table_len(x.d, t), sizeof(uint32_t))) != NULL);
	for (i = 0; i < x.request.resource_profiles_count; i++)
		check_resource(&x, &x.request.resource_profiles[i], version, ret);
	/* No orphan: everything but the zero entries was referred to on the way. */
	for (t = 0; t < 7; t++) {
		for (i = 1; i < table_len(x.d, t); i++)
			CHECK(x.used[t][i] > 0);
		free(x.used[t]);
	}
	pb_release(&otlp_ExportProfilesServiceRequest_msg, &x.request);
}
