/* SPDX-License-Identifier: Apache-2.0 */
/* Decides which attributes a process may set, and stores them as one text. */
#include "process/resource/attributes.h"

#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "profile/window.h"

/*
 * Keys that a process cannot set, because they are observed from outside, or not about
 * the process. telemetry.* names who made the profile: this library, not the SDK in the
 * process. k8s.* belongs to the cluster: a Collector finds these by container.id and
 * k8s.pod.uid, but keeps existing ones. A '*' at the end matches anything.
 */
static const char *const observed[] = {
	"container.id",
	"container.name",
	"host.*",
	"k8s.*",
	"os.type",
	"process.command*",
	"process.environment_variable.*",
	"process.executable.*",
	"process.linux.cgroup",
	"process.parent_pid",
	"process.pid",
	"process.real_user.*",
	"process.vpid",
	"telemetry.*",
};

bool op_resource_is_observed(const char *key, size_t len)
{
	size_t i;

	for (i = 0; i < OP_ARRAY_SIZE(observed); i++) {
		size_t n = strlen(observed[i]);

		if (observed[i][n - 1] == '*' && len >= n - 1 &&
		    memcmp(key, observed[i], n - 1) == 0)
			return true;
		if (n == len && memcmp(key, observed[i], n) == 0)
			return true;
	}
	return false;
}

struct op_resource_attributes *op_resource_attributes_new(void)
{
	struct op_resource_attributes *c = calloc(1, sizeof(*c));

	if (c)
		c->refs = 1;
	return c;
}

struct op_resource_attributes *
op_resource_attributes_ref(struct op_resource_attributes *c)
{
	c->refs++;
	return c;
}

struct op_resource_attributes *
op_resource_attributes_put_ref(struct op_resource_attributes *c)
{
	if (c && --c->refs == 0) {
		op_strbuf_deinit(&c->text);
		free(c);
	}
	return NULL;
}

/* Is @key in the text? Each entry is a key with its NUL, then a type and a value with its
 * NUL. */
static bool has_key(const struct op_resource_attributes *c, const char *key, size_t len)
{
	const char *pos = c->text.data;
	const char *end = pos + c->text.len;

	while (pos < end) {
		size_t n = strlen(pos);

		if (n == len && memcmp(pos, key, len) == 0)
			return true;
		pos += n + 1;
		pos += strlen(pos) + 1;
	}
	return false;
}

static void put(struct op_resource_attributes *c, const char *key, size_t key_len,
		char type, const char *value, size_t value_len)
{
	size_t before = c->text.len;

	if (has_key(c, key, key_len))
		return;
	if (c->len >= OP_RESOURCE_ATTRIBUTES_MAX || key_len > OP_RESOURCE_KEY_MAX ||
	    value_len > OP_RESOURCE_VALUE_MAX ||
	    before + key_len + value_len + 3 > OP_RESOURCE_ATTRIBUTES_BYTES_MAX ||
	    memchr(key, 0, key_len) || (value_len && memchr(value, 0, value_len))) {
		c->dropped++;
		return;
	}
	op_strbuf_add(&c->text, key, key_len);
	op_strbuf_add(&c->text, "", 1);
	op_strbuf_add(&c->text, &type, 1);
	op_strbuf_add(&c->text, value, value_len);
	op_strbuf_add(&c->text, "", 1);
	if (c->text.failed) {
		c->text.failed = false;
		c->text.len = before;
		c->dropped++;
		return;
	}
	c->len++;
}

static void put_service(struct op_resource_attributes *c, const char *value, size_t len)
{
	if (c->service_name[0] || !len)
		return;
	if (len >= sizeof(c->service_name) || memchr(value, 0, len)) {
		c->dropped++;
		return;
	}
	memcpy(c->service_name, value, len);
	c->service_name[len] = 0;
}

void op_resource_attributes_put(struct op_resource_attributes *c, const char *key,
				size_t key_len, char type, const char *value,
				size_t value_len)
{
	static const char service[] = "service.name";

	if (key_len == sizeof(service) - 1 && memcmp(key, service, key_len) == 0) {
		if (type == OP_VALUE_STRING)
			put_service(c, value, value_len);
	} else if (key_len && !op_resource_is_observed(key, key_len)) {
		put(c, key, key_len, type, value, value_len);
	}
}

void op_resource_attributes_put_observed(struct op_resource_attributes *c,
					 const char *key, const char *value,
					 size_t value_len)
{
	put(c, key, strlen(key), OP_VALUE_STRING, value, value_len);
}
