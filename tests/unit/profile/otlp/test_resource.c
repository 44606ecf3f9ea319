/* SPDX-License-Identifier: Apache-2.0 */
/* The resource of a process as a message: which keys, of which types, and who wins. */
#include "profile/otlp/otlp_request.h"

#include <errno.h>
#include <pb_decode.h>

#include "resource.pb.h"
#include "test.h"

enum {
	FIELD = 1
};

static struct op_window *window;

static uint32_t intern(const char *text, size_t len)
{
	uint32_t number;

	CHECK_OK(op_window_string(window, text, len, &number));
	return number;
}

#define STRING(text) intern(text, sizeof(text) - 1)

/* @r encoded and decoded again. Caller releases with pb_release(). */
static otlp_Resource encoded(const struct op_resource *r,
			     const struct op_otlp_options *options)
{
	otlp_Resource m = otlp_Resource_init_zero;
	struct op_bytes bytes = { 0 };
	pb_wire_type_t type;
	pb_istream_t sub;
	pb_istream_t s;
	uint32_t tag;
	bool end;

	CHECK_OK(op_otlp_resource(window, r, options, FIELD, &bytes));
	s = pb_istream_from_buffer(bytes.data, bytes.len);
	CHECK(pb_decode_tag(&s, &type, &tag, &end) && tag == FIELD);
	CHECK(pb_make_string_substream(&s, &sub));
	CHECK(pb_decode(&sub, &otlp_Resource_msg, &m));
	free(bytes.data);
	return m;
}

static const otlp_AnyValue *find(const otlp_Resource *m, const char *key)
{
	const otlp_AnyValue *found = NULL;
	size_t i;

	for (i = 0; i < m->attributes_count; i++) {
		CHECK(!m->attributes[i].key_strindex); /* inline: see resource.c */
		if (strcmp(m->attributes[i].key, key) != 0)
			continue;
		CHECK(!found);
		found = &m->attributes[i].value;
	}
	return found;
}

static const char *text_of(const otlp_Resource *m, const char *key)
{
	const otlp_AnyValue *v = find(m, key);

	return v && v->which_value == otlp_AnyValue_string_value_tag
		       ? v->value.string_value
		       : "";
}

static void test_observed(void)
{
	const struct op_otlp_options options = { 0 };
	struct op_resource r = { .pid = 4711, .namespace_pid = 7, .user = 1001 };
	otlp_Resource m;

	r.container_id = STRING("id");
	r.container_name = STRING("name");
	r.pod_uid = STRING("uid");
	r.service_name = STRING("shop");
	r.cgroup_path = STRING("0::/a/b");
	m = encoded(&r, &options);
	CHECK_INT(find(&m, "process.pid")->value.int_value, 4711);
	CHECK_INT(find(&m, "process.real_user.id")->value.int_value, 1000);
	CHECK_STR(text_of(&m, "process.linux.cgroup"), "0::/a/b");
	CHECK_INT(find(&m, "process.vpid")->value.int_value, 7);
	CHECK_STR(text_of(&m, "container.id"), "id");
	CHECK_STR(text_of(&m, "container.name"), "name");
	CHECK_STR(text_of(&m, "k8s.pod.uid"), "uid");
	CHECK_STR(text_of(&m, "service.name"), "shop");
	CHECK_INT(m.attributes_count, 8);
	pb_release(&otlp_Resource_msg, &m);
}

static void test_claims(void)
{
	const struct op_otlp_attribute user[] = { { "team", "users" },
						  { "host.name", "node" } };
	const struct op_otlp_options options = { .attributes = user,
						 .attributes_len = 2 };
	struct op_resource r = { .pid = 1, .attributes_dropped = 3 };
	const otlp_AnyValue *v;
	otlp_Resource m;

	r.service_name = STRING("shop");
	r.attributes =
		STRING("team\0sred\0n\0i-5\0yes\0b1\0no\0b0\0half\0d3fe0000000000000\0"
		       "service.name\0sother\0process.pid\0i2\0odd\0?x\0empty\0s\0");
	m = encoded(&r, &options);
	/* what the user sets stands before what it says of itself, what is observed before both */
	CHECK_STR(text_of(&m, "team"), "users");
	CHECK_STR(text_of(&m, "host.name"), "node");
	CHECK_STR(text_of(&m, "service.name"), "shop");
	CHECK_INT(find(&m, "process.pid")->value.int_value, 1);
	v = find(&m, "n");
	CHECK(v && v->which_value == otlp_AnyValue_int_value_tag);
	CHECK_INT(v->value.int_value, -5);
	v = find(&m, "yes");
	CHECK(v && v->which_value == otlp_AnyValue_bool_value_tag && v->value.bool_value);
	v = find(&m, "no");
	CHECK(v && v->which_value == otlp_AnyValue_bool_value_tag &&
	      !v->value.bool_value);
	v = find(&m, "half");
	CHECK(v && v->which_value == otlp_AnyValue_double_value_tag &&
	      v->value.double_value == 0.5);
	v = find(&m, "empty");
	CHECK(v && v->which_value == otlp_AnyValue_string_value_tag);
	CHECK(!find(&m, "odd"));
	CHECK_INT(m.dropped_attributes_count, 3);
	pb_release(&otlp_Resource_msg, &m);
}

/* More than there is room for, and a text that was cut inside an attribute. */
static void test_limits(void)
{
	const struct op_otlp_options options = { 0 };
	struct op_resource r = { .pid = 1 };
	char text[2000];
	otlp_Resource m;
	size_t len = 0;
	int i;

	for (i = 0; i < 70; i++)
		len += (size_t)sprintf(text + len, "k%d%csv", i, 0) + 1;
	r.attributes = intern(text, len);
	m = encoded(&r, &options);
	CHECK_INT(m.attributes_count, 1 + 64);
	CHECK_INT(m.dropped_attributes_count, 6);
	pb_release(&otlp_Resource_msg, &m);
	r.attributes = STRING("a\0sb\0cut");
	m = encoded(&r, &options);
	CHECK_INT(m.attributes_count, 2);
	pb_release(&otlp_Resource_msg, &m);
}

int main(int argc, char **argv)
{
	static const struct test tests[] = { { "observed", test_observed },
					     { "attributes", test_claims },
					     { "limits", test_limits } };
	const struct op_window_config config = { 0 };
	int r;

	CHECK_OK(op_window_new(&config, &window));
	r = test_run(tests, sizeof(tests) / sizeof(tests[0]), argc, argv);
	op_window_free(window);
	return r;
}
