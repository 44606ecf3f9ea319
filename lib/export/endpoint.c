/* SPDX-License-Identifier: Apache-2.0 */
#include "export/endpoint.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"

enum {
	ENDPOINT_BYTES_MAX = 2048,
	PORT_MAX = 65535,
};

static const char schemes_sep[] = "://";

/* The part after "scheme://", or NULL where the scheme is none of ours. */
static const char *skip_scheme(const char *text, bool insecure, bool *ret_tls)
{
	const char *sep = strstr(text, schemes_sep);
	const char *rest = sep ? sep + sizeof(schemes_sep) - 1 : text;

	*ret_tls = !insecure;
	if (!sep)
		return rest;
	if (!strncasecmp(text, "https", (size_t)(sep - text)) && sep - text == 5)
		*ret_tls = true;
	else if (!strncasecmp(text, "http", (size_t)(sep - text)) && sep - text == 4)
		*ret_tls = false;
	else
		return NULL;
	return rest;
}

/* Length of the host with its brackets, or 0 where it is none. */
static size_t host_length(const char *s, size_t len)
{
	bool literal = len && s[0] == '[';
	size_t i;

	for (i = literal; i < len; i++) {
		if (literal && s[i] == ']')
			return i > 1 ? i + 1 : 0;
		if (!literal && s[i] == ':')
			return i;
		if (isalnum((unsigned char)s[i]) || strchr("-._", s[i]))
			continue;
		/* IPv6: colons, and a zone ("%eth0", "%25eth0"). */
		if (!literal || !strchr(":%", s[i]))
			return 0;
	}
	return literal ? 0 : len;
}

/* The port after @s (":4317" or nothing), or 0 where it is none. */
static unsigned int port_number(const char *s, size_t len)
{
	unsigned int port = 0;
	size_t i;

	if (!len)
		return OP_ENDPOINT_PORT;
	if (s[0] != ':' || len < 2)
		return 0;
	for (i = 1; i < len; i++) {
		if (!isdigit((unsigned char)s[i]))
			return 0;
		port = port * 10 + (unsigned int)(s[i] - '0');
		if (port > PORT_MAX)
			return 0;
	}
	return port;
}

int op_endpoint_parse(const char *text, bool insecure, const char *what,
		      struct op_log *log, struct op_endpoint *ret)
{
	struct op_endpoint e = { 0 };
	const char *rest;
	unsigned int port;
	size_t host;
	size_t len;

	if (strnlen(text, ENDPOINT_BYTES_MAX) == ENDPOINT_BYTES_MAX)
		return op_fail(log, -EINVAL, "%s: longer than %d bytes", what,
			       ENDPOINT_BYTES_MAX - 1);
	rest = skip_scheme(text, insecure, &e.tls);
	if (!rest)
		return op_fail(log, -EINVAL, "%s: \"%s\" is not http:// or https://",
			       what, text);
	len = strcspn(rest, "/?#");
	e.has_path = rest[len] && strcmp(rest + len, "/") != 0;
	if (memchr(rest, '@', len))
		return op_fail(
			log, -EINVAL,
			"%s: a user name in an endpoint is not supported; use headers",
			what);
	host = host_length(rest, len);
	if (!host)
		return op_fail(
			log, -EINVAL,
			"%s: \"%s\" has no valid host (an IPv6 address goes in [])", what,
			text);
	port = port_number(rest + host, len - host);
	if (!port)
		return op_fail(log, -EINVAL,
			       "%s: \"%s\" has no valid port (an IPv6 address "
			       "goes in [])",
			       what, text);
	if (asprintf(&e.target, "%.*s:%u", (int)host, rest, port) < 0)
		return -ENOMEM;
	*ret = e;
	return 0;
}
