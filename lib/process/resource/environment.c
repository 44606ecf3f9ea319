/* SPDX-License-Identifier: Apache-2.0 */
/* Parses the variables of an environment, with the escapes of OTEL_RESOURCE_ATTRIBUTES.
 * */
#include "process/resource/environment.h"

#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/hex.h"
#include "process/target/target.h"
#include "profile/window.h"

ssize_t op_environ_read(struct op_target *t, uint32_t pid, char **ret)
{
	return op_target_read_proc(t, pid, "environ", OP_ENVIRON_MAX, ret);
}

/* The value of variable @name, the first one as in getenv(3); NULL if it is not set or
 * cut off. */
static const char *find(const char *text, size_t len, const char *name)
{
	size_t name_len = strlen(name);
	const char *pos = text;
	const char *end = text + len;

	while (pos < end) {
		const char *nul = memchr(pos, 0, (size_t)(end - pos));

		if (!nul)
			return NULL;
		if ((size_t)(nul - pos) > name_len && pos[name_len] == '=' &&
		    memcmp(pos, name, name_len) == 0)
			return pos + name_len + 1;
		pos = nul + 1;
	}
	return NULL;
}

/* A piece of a text. */
struct part {
	char *text;
	size_t len;
};

static bool is_blank(char c)
{
	return c == ' ' || c == '\t';
}

static struct part trim(struct part p)
{
	while (p.len && is_blank(*p.text)) {
		p.text++;
		p.len--;
	}
	while (p.len && is_blank(p.text[p.len - 1]))
		p.len--;
	return p;
}

/* Split "key=value"; escapes must be complete. */
static bool split_pair(struct part pair, struct part *ret_key, struct part *ret_value)
{
	char *equals = memchr(pair.text, '=', pair.len);
	size_t i;

	if (!equals)
		return false;
	*ret_key = trim((struct part){ pair.text, (size_t)(equals - pair.text) });
	*ret_value = trim(
		(struct part){ equals + 1, (size_t)(pair.text + pair.len - equals - 1) });
	for (i = 0; i < pair.len; i++)
		if (pair.text[i] == '%' &&
		    (pair.len - i < 3 || op_hex_digit(pair.text[i + 1]) < 0 ||
		     op_hex_digit(pair.text[i + 2]) < 0))
			return false;
	return ret_key->len > 0;
}

/* Decode in place. */
static void percent_decode(struct part *p)
{
	size_t out = 0;
	size_t i;

	for (i = 0; i < p->len; i++) {
		char c = p->text[i];

		if (c == '%' && p->len - i > 2) {
			c = (char)(op_hex_digit(p->text[i + 1]) << 4 |
				   op_hex_digit(p->text[i + 2]));
			i += 2;
		}
		p->text[out++] = c;
	}
	p->len = out;
}

/* Handle each pair of @list, from the end, so that the last value of a key is kept.
 * @attributes NULL: only check. Returns false if a pair is malformed. */
static bool each_pair(char *list, struct op_resource_attributes *attributes)
{
	size_t left = strlen(list);

	while (left) {
		char *comma = memrchr(list, ',', left);
		size_t start = comma ? (size_t)(comma + 1 - list) : 0;
		struct part pair = trim((struct part){ list + start, left - start });
		struct part key;
		struct part value;

		left = comma ? start - 1 : 0;
		if (!pair.len)
			continue;
		if (!split_pair(pair, &key, &value))
			return false;
		if (!attributes)
			continue;
		percent_decode(&key);
		percent_decode(&value);
		op_resource_attributes_put(attributes, key.text, key.len, OP_VALUE_STRING,
					   value.text, value.len);
	}
	return true;
}

static void take_list(const char *text, struct op_resource_attributes *attributes)
{
	_cleanup_free_ char *list = strdup(text);

	if (!list || !each_pair(list, NULL))
		attributes->dropped++;
	else
		(void)each_pair(list, attributes);
}

void op_environ_attributes(const char *text, size_t len,
			   struct op_resource_attributes *attributes)
{
	static const char service[] = "service.name";
	const char *value = find(text, len, "OTEL_SERVICE_NAME");

	if (value)
		op_resource_attributes_put(attributes, service, sizeof(service) - 1,
					   OP_VALUE_STRING, value, strlen(value));
	value = find(text, len, "OTEL_RESOURCE_ATTRIBUTES");
	if (value)
		take_list(value, attributes);
}

void op_environ_variable(const char *text, size_t len, const char *name,
			 struct op_resource_attributes *attributes)
{
	char key[sizeof("process.environment_variable.") + OP_VARIABLE_NAME_MAX];
	const char *value = find(text, len, name);

	if (!value || snprintf(key, sizeof(key), "process.environment_variable.%s",
			       name) >= (int)sizeof(key))
		return;
	op_resource_attributes_put_observed(attributes, key, value, strlen(value));
}
