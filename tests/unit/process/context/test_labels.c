/* SPDX-License-Identifier: Apache-2.0 */
/* Labels and names that processes wrote, after the text of OTEP 4947; messages byte by byte. */
#include "process/context/labels.h"

#include <string.h>

#include "process/context/ids.h"
#include "process/context/schema.h"
#include "test.h"

/* threadlocal.schema_version = tls_v1 */
static const char version[] = "\x12\x26\x0a\x1a"
			      "threadlocal.schema_version"
			      "\x12\x08\x0a\x06"
			      "tls_v1";

/* And threadlocal.attribute_key_map = [ "a", "", "c" ]. */
static void read_schema(struct op_schema *ret)
{
	static const char list[] = "\x0a\x03\x0a\x01"
				   "a"
				   "\x0a\x02\x0a\x00"
				   "\x0a\x03\x0a\x01"
				   "c";
	char bytes[128];
	size_t len = sizeof(version) - 1;

	memcpy(bytes, version, len);
	memcpy(bytes + len, "\x12\x31\x0a\x1d", 4);
	memcpy(bytes + len + 4, "threadlocal.attribute_key_map", 29);
	memcpy(bytes + len + 33, "\x12\x10\x2a\x0e", 4);
	memcpy(bytes + len + 37, list, sizeof(list) - 1);
	memset(ret, 0, sizeof(*ret));
	CHECK_OK(op_schema_parse(bytes, len + 37 + sizeof(list) - 1, ret));
}

static void test_names(void)
{
	struct op_schema s;

	read_schema(&s);
	CHECK_INT(s.form, OP_SCHEMA_TLS);
	CHECK_INT(s.keys_len, 3);
	CHECK_STR(op_schema_name(&s, 0), "a");
	CHECK(!op_schema_name(&s, 1));
	CHECK_STR(op_schema_name(&s, 2), "c");
	CHECK(!op_schema_name(&s, 3));
	op_schema_deinit(&s);
}

/* The form that a message says by its threadlocal.schema_version. */
static enum op_schema_form form_of(const char *name)
{
	struct op_schema s = { 0 };
	uint8_t len = (uint8_t)strlen(name);
	char bytes[128];

	memcpy(bytes, version, 34);
	bytes[1] = (char)(32 + len);
	bytes[31] = (char)(2 + len);
	bytes[33] = (char)len;
	memcpy(bytes + 34, name, len);
	CHECK_OK(op_schema_parse(bytes, 34U + len, &s));
	op_schema_deinit(&s);
	return s.form;
}

static void test_versions(void)
{
	CHECK_INT(form_of("tlsdesc_v1_dev"), OP_SCHEMA_TLS);
	CHECK_INT(form_of("tls_v1"), OP_SCHEMA_TLS);
	CHECK_INT(form_of("tlsdesc_v1"), OP_SCHEMA_TLS);
	CHECK_INT(form_of("go_pprof_labels_v1"), OP_SCHEMA_GO);
	/* of another layout, or of nobody */
	CHECK_INT(form_of("tls_v2"), OP_SCHEMA_NONE);
	CHECK_INT(form_of("tlsdesc_v1_"), OP_SCHEMA_NONE);
	CHECK_INT(form_of("nodejs_v1_dev"), OP_SCHEMA_NONE);
	CHECK_INT(form_of(""), OP_SCHEMA_NONE);
}

static void check_label(const struct op_context_label *l, const char *key,
			const char *value)
{
	CHECK_INT(l->key_len, strlen(key));
	CHECK_INT(l->value_len, strlen(value));
	CHECK(!memcmp(l->key, key, l->key_len) && !memcmp(l->value, value, l->value_len));
}

static void test_the_last_of_a_key_stands(void)
{
	static const char bytes[] =
		"\x00\x03one\x02\x00\x00\x03two\x01\x01x\x02\x09short";
	struct op_context_labels labels;
	struct op_schema s;

	read_schema(&s);
	op_context_labels_parse(OP_CONTEXT_OTEL, bytes, sizeof(bytes) - 1, &s, &labels);
	CHECK_INT(labels.len, 2);
	check_label(&labels.label[0], "a", "two");
	check_label(&labels.label[1], "c", "");
	CHECK(!labels.unknown_key);
	op_context_labels_parse(OP_CONTEXT_OTEL, "\x07\x00", 2, &s, &labels);
	CHECK_INT(labels.len, 0);
	CHECK(labels.unknown_key);
	op_schema_deinit(&s);
}

static struct op_label cell(const char *key, const char *value)
{
	struct op_label l = { .key_len = (uint8_t)strlen(key),
			      .value_len = (uint8_t)strlen(value) };

	memcpy(l.key, key, l.key_len);
	memcpy(l.value, value, l.value_len);
	return l;
}

static void test_ids(void)
{
	const struct op_label cells[] = {
		cell("route", "/x"),
		cell("trace_id", "000102030405060708090a0B0c0d0e0f"),
		cell("route", "/y"),
		cell("span_id", "f0f1f2f3f4f5f6f7"),
	};
	struct op_context_labels labels;
	struct op_thread_context ids;

	op_context_labels_parse(OP_CONTEXT_GO, cells, sizeof(cells), NULL, &labels);
	CHECK_INT(labels.len, 3);
	CHECK(op_context_ids_of_labels(&labels, &ids));
	CHECK_INT(labels.len, 1);
	check_label(&labels.label[0], "route", "/x");
	CHECK(ids.trace_id[1] == 1 && ids.trace_id[15] == 15 && ids.span_id[7] == 0xf7);
	/* without the span there is no link, and the label stays */
	op_context_labels_parse(OP_CONTEXT_GO, cells, 3 * sizeof(cells[0]), NULL,
				&labels);
	CHECK(!op_context_ids_of_labels(&labels, &ids));
	CHECK_INT(labels.len, 2);
}

static void test_more_than_are_taken(void)
{
	struct op_label cells[OP_LABELS_MAX + 2];
	struct op_context_labels labels;
	char key[] = "a";
	size_t i;

	for (i = 0; i < OP_LABELS_MAX + 2; i++, key[0]++)
		cells[i] = cell(key, "");
	op_context_labels_parse(OP_CONTEXT_CUSTOM, cells, sizeof(cells), NULL, &labels);
	CHECK_INT(labels.len, OP_LABELS_MAX);
	CHECK_INT(labels.cut, 2);
	cells[1].key_len = OP_LABEL_KEY_BYTES + 1;
	op_context_labels_parse(OP_CONTEXT_CUSTOM, cells, sizeof(cells), NULL, &labels);
	CHECK_INT(labels.len, 1);
}

TEST_MAIN({ "names", test_names }, { "versions", test_versions },
	  { "last", test_the_last_of_a_key_stands }, { "ids", test_ids },
	  { "more", test_more_than_are_taken })
