/* SPDX-License-Identifier: Apache-2.0 */
/* Checks and stores headers. */
#include "export/transport/headers.h"

#include <ctype.h>
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hex.h"
#include "base/macros.h"
#include "base/vec.h"

/* The keys that gRPC sets itself. */
static const char *const reserved_keys[] = {
	"connection", "content-length", "content-type", "host",
	"te",	      "trailer",	"upgrade",	"user-agent",
};

static bool is_reserved(const char *key)
{
	size_t i;

	for (i = 0; i < OP_ARRAY_SIZE(reserved_keys); i++) {
		if (!strcmp(key, reserved_keys[i]))
			return true;
	}
	return !strncmp(key, "grpc-", strlen("grpc-"));
}

static bool is_binary(const char *key)
{
	size_t len = strlen(key);

	return len >= 4 && !strcmp(key + len - 4, "-bin");
}

/* Is it a valid key? Rule Header-Name of grpc's PROTOCOL-HTTP2. */
static bool key_ok(const char *key)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyz0123456789_-.";

	return *key && !key[strspn(key, allowed)];
}

/* Is it a valid value, ASCII from space to tilde? */
static bool value_ok(const char *value)
{
	for (; *value; value++) {
		if (*value < ' ' || *value > '~')
			return false;
	}
	return true;
}

static size_t count_bytes(const struct op_headers *h)
{
	size_t n = 0;
	size_t i;

	for (i = 0; i < h->len; i++)
		n += strlen(h->data[i].key) + strlen(h->data[i].value);
	return n;
}

static int check(const struct op_headers *h, const char *key, const char *value,
		 const char *what, struct op_log *log)
{
	if (!key_ok(key))
		return op_fail(log, -EINVAL, "%s: \"%.64s\" is not a valid header name",
			       what, key);
	if (is_reserved(key))
		return op_fail(log, -EINVAL, "%s: header \"%.64s\" is set by gRPC itself",
			       what, key);
	if (is_binary(key))
		return op_fail(log, -EINVAL,
			       "%s: header \"%.64s\": binary headers are not "
			       "supported",
			       what, key);
	if (!value_ok(value))
		return op_fail(
			log, -EINVAL,
			"%s: the value of header \"%.64s\" has a character that is "
			"not printable ASCII",
			what, key);
	if (h->len == OP_HEADERS_MAX ||
	    count_bytes(h) + strlen(key) + strlen(value) > OP_HEADERS_BYTES_MAX)
		return op_fail(
			log, -EINVAL,
			"%s: there are more than %d headers, or more than %d bytes of them",
			what, OP_HEADERS_MAX, OP_HEADERS_BYTES_MAX);
	return 0;
}

int op_headers_add(struct op_headers *h, const char *key, const char *value,
		   const char *what, struct op_log *log)
{
	_cleanup_free_ char *k = NULL;
	_cleanup_free_ char *v = NULL;
	char *p;
	int r;

	if (!key || !value)
		return op_fail(log, -EINVAL, "%s: a header has no name or no value",
			       what);
	k = strdup(key);
	v = strdup(value);
	if (!k || !v || op_vec_reserve(h, 1))
		return -ENOMEM;
	for (p = k; *p; p++)
		*p = (char)tolower((unsigned char)*p);
	r = check(h, k, v, what, log);
	if (r < 0)
		return r;
	h->data[h->len++] = (struct op_transport_header){
		.key = OP_TAKE_PTR(k),
		.value = OP_TAKE_PTR(v),
	};
	return 0;
}

static char *trim(char *s)
{
	char *end;

	s += strspn(s, " \t");
	end = s + strlen(s);
	while (end > s && (end[-1] == ' ' || end[-1] == '\t'))
		*--end = 0;
	return s;
}

static int parse_one(struct op_headers *h, char *item, const char *what,
		     struct op_log *log)
{
	char *value = strchr(item, '=');

	if (!value)
		return op_fail(log, -EINVAL, "%s: an entry has no \"=\"", what);
	*value++ = 0;
	value = trim(value);
	if (!op_percent_decode(value))
		return op_fail(log, -EINVAL,
			       "%s: the value of header \"%.64s\" has a bad %%-escape",
			       what, trim(item));
	return op_headers_add(h, trim(item), value, what, log);
}

int op_headers_parse(struct op_headers *h, const char *text, const char *what,
		     struct op_log *log)
{
	_cleanup_free_ char *copy = strdup(text);
	char *next = copy;
	char *item;
	int r = copy ? 0 : -ENOMEM;

	/* Ignore a header of another program, or one with a mistake: credentials stay. */
	while (r != -ENOMEM && (item = strsep(&next, ","))) {
		struct op_log own = { 0 };

		if (!*trim(item))
			continue;
		r = parse_one(h, item, what, &own);
		if (r == -EINVAL)
			op_log(log, OP_LOG_WARNING, "%s: it is ignored", own.message);
		op_log_deinit(&own);
	}
	return r == -ENOMEM ? r : 0;
}

void op_headers_deinit(struct op_headers *h)
{
	size_t i;

	for (i = 0; i < h->len; i++) {
		op_wipep(&h->data[i].value); /* may be secrets */
		op_freep(&h->data[i].key);
	}
	op_vec_clear(h);
}
