/* SPDX-License-Identifier: Apache-2.0 */
/* Parses endpoints of gRPC and HTTP. */
#include "export/transport/endpoint.h"

#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/un.h>

#include "base/cleanup.h"

enum {
	ENDPOINT_BYTES_MAX = 2048,
	PORT_MAX = 65535,
	HTTP_PORT = 80,
	HTTPS_PORT = 443,
};

static const char schemes_sep[] = "://";
/* OTLP 1.10. */
static const char profiles_path[] = "/v1development/profiles";

static const char unix_scheme[] = "unix://";

static bool is_unix(const char *text)
{
	return !strncasecmp(text, unix_scheme, sizeof(unix_scheme) - 1);
}

/* Parse "unix:///path". The path names the socket; requests to it have no TLS. */
static int parse_unix(const char *text, const char *protocol, const char *what,
		      struct op_log *log, struct op_endpoint *e)
{
	const char *path = text + sizeof(unix_scheme) - 1;

	/* gRPC reads the path as a URI's, and would use another socket for an escaped one. */
	if (path[strspn(path, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
			      "0123456789/-._~@:+,=")])
		return op_fail(log, -EINVAL,
			       "%s: the path of \"%.128s\" may have letters, digits and "
			       "/-._~@:+,= only",
			       what, text);
	if (path[0] != '/' || !path[1] ||
	    strlen(path) >= sizeof(((struct sockaddr_un *)NULL)->sun_path))
		return op_fail(
			log, -EINVAL,
			"%s: \"%.128s\" is not a socket; write unix:///PATH, with an "
			"absolute path of at most 107 bytes",
			what, text);
	e->socket = strdup(path);
	if (asprintf(&e->target, "unix:%s", path) < 0)
		e->target = NULL;
	if (asprintf(&e->id, "%s://unix:%s", protocol, path) < 0)
		e->id = NULL;
	return e->socket && e->target && e->id ? 0 : -ENOMEM;
}

static const char *after_scheme(const char *text)
{
	const char *sep = strstr(text, schemes_sep);

	return sep ? sep + sizeof(schemes_sep) - 1 : text;
}

/* The part after "scheme://", or NULL if the scheme is not http or https. */
static const char *skip_scheme(const char *text, bool insecure, bool *ret_tls)
{
	const char *sep = strstr(text, schemes_sep);
	const char *rest = after_scheme(text);

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

/* The length of the host with its brackets, or 0 if it is not valid. */
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
		/* An IPv6 address has colons, and perhaps a zone ("%eth0", "%25eth0"). */
		if (!literal || !strchr(":%", s[i]))
			return 0;
	}
	return literal ? 0 : len;
}

/* The port in @s (":4317"), @none if @s is empty, or 0 if it is not valid. */
static unsigned int port_number(const char *s, size_t len, unsigned int none)
{
	unsigned int port = 0;
	size_t i;

	if (!len)
		return none;
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

/* The rules of a protocol for the start of an endpoint. */
struct protocol {
	bool needs_scheme;
	const char *scheme_rule;
	unsigned int port;
	unsigned int tls_port;
};

/* Parse TLS, host and port, which come before any path; *@ret_path is that path. */
static int parse_target(const char *text, const struct protocol *p, bool insecure,
			const char *what, struct op_log *log, struct op_endpoint *e,
			const char **ret_path)
{
	const char *authority = after_scheme(text);
	size_t len = strcspn(authority, "/?#");
	int shown = (int)(authority + len - text);
	const char *rest;
	unsigned int port;
	size_t host;

	if (strnlen(text, ENDPOINT_BYTES_MAX) == ENDPOINT_BYTES_MAX)
		return op_fail(log, -EINVAL, "%s: it is longer than %d bytes", what,
			       ENDPOINT_BYTES_MAX - 1);
	/* A password or a key may be before '@', in the path and after it, so they are
	 * not quoted. */
	if (memchr(authority, '@', len))
		return op_fail(
			log, -EINVAL,
			"%s: a user name in an endpoint is not supported; use headers",
			what);
	rest = skip_scheme(text, insecure, &e->tls);
	if (!rest || (p->needs_scheme && rest == text))
		return op_fail(log, -EINVAL, "%s: \"%.*s\" %s http:// or https://", what,
			       shown, text, p->scheme_rule);
	*ret_path = rest + len;
	host = host_length(rest, len);
	if (!host)
		return op_fail(
			log, -EINVAL,
			"%s: \"%.*s\" has no valid host (an IPv6 address goes in [])",
			what, shown, text);
	port = port_number(rest + host, len - host, e->tls ? p->tls_port : p->port);
	if (!port)
		return op_fail(log, -EINVAL,
			       "%s: \"%.*s\" has no valid port (an IPv6 address "
			       "goes in [])",
			       what, shown, text);
	if (asprintf(&e->target, "%.*s:%u", (int)host, rest, port) < 0) {
		e->target = NULL;
		return -ENOMEM;
	}
	return 0;
}

int op_endpoint_parse(const char *text, bool insecure, const char *what,
		      struct op_log *log, struct op_endpoint *ret)
{
	static const struct protocol grpc = { .scheme_rule = "is not",
					      .port = OP_ENDPOINT_PORT,
					      .tls_port = OP_ENDPOINT_PORT };
	struct op_endpoint e = { 0 };
	const char *path;
	int r;

	if (is_unix(text)) {
		r = parse_unix(text, "grpc", what, log, &e);
		if (r < 0)
			op_endpoint_deinit(&e);
		else
			*ret = e;
		return r;
	}
	r = parse_target(text, &grpc, insecure, what, log, &e, &path);
	if (r < 0)
		return r;
	e.has_path = *path && strcmp(path, "/") != 0;
	if (asprintf(&e.id, "grpc://%s", e.target) < 0) {
		e.id = NULL;
		op_endpoint_deinit(&e);
		return -ENOMEM;
	}
	*ret = e;
	return 0;
}

/* Is it printable ASCII, without characters that end a path or are not allowed in
 * a URL? */
static bool path_ok(const char *path)
{
	for (; *path; path++) {
		if (*path <= ' ' || *path > '~' || strchr("#\"<>\\^`{|}", *path))
			return false;
	}
	return true;
}

static bool has_suffix(const char *s, size_t len, const char *suffix)
{
	size_t n = strlen(suffix);

	return len >= n && !memcmp(s + len - n, suffix, n);
}

/* Make the URL and the id from the target and the path in the text. */
static int make_url(struct op_endpoint *e, const char *path, bool whole)
{
	const char *more = whole ? "" : profiles_path;
	size_t len = strlen(path);

	while (!whole && len && path[len - 1] == '/')
		len--;
	if (!whole && has_suffix(path, len, profiles_path))
		more = "";
	/* A URL without a path gets the root's. */
	if (whole && !len)
		more = "/";
	if (asprintf(&e->url, "%s://%s%.*s%s", e->tls ? "https" : "http", e->target,
		     (int)len, path, more) < 0) {
		e->url = NULL;
		return -ENOMEM;
	}
	/* The id begins with "http" even if the URL has "https". */
	if (asprintf(&e->id, "http%s", strchr(e->url, ':')) < 0) {
		e->id = NULL;
		return -ENOMEM;
	}
	return 0;
}

int op_endpoint_parse_http(const char *text, bool whole, const char *what,
			   struct op_log *log, struct op_endpoint *ret)
{
	static const struct protocol http = { .needs_scheme = true,
					      .scheme_rule = "does not begin with",
					      .port = HTTP_PORT,
					      .tls_port = HTTPS_PORT };
	struct op_endpoint e = { 0 };
	const char *path;
	int r;

	if (is_unix(text)) {
		r = parse_unix(text, "http", what, log, &e);
		if (r == 0 && asprintf(&e.url, "http://localhost%s", profiles_path) < 0) {
			e.url = NULL;
			r = -ENOMEM;
		}
		if (r < 0)
			op_endpoint_deinit(&e);
		else
			*ret = e;
		return r;
	}
	r = parse_target(text, &http, false, what, log, &e, &path);
	if (r < 0)
		return r;
	if (!path_ok(path) || (!whole && strchr(path, '?')))
		r = op_fail(log, -EINVAL,
			    "%s: \"%.*s\" has a path that is not valid in a URL", what,
			    (int)(path - text), text);
	else
		r = make_url(&e, path, whole);
	if (r < 0) {
		op_endpoint_deinit(&e);
		return r;
	}
	*ret = e;
	return 0;
}

void op_endpoint_deinit(struct op_endpoint *e)
{
	op_freep(&e->target);
	op_freep(&e->url);
	op_freep(&e->socket);
	op_freep(&e->id);
}
