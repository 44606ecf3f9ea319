/* SPDX-License-Identifier: Apache-2.0 */
/* Parses an exporter's destination: "https://host:port" and its shorter forms. */
#ifndef OP_EXPORT_TRANSPORT_ENDPOINT_H
#define OP_EXPORT_TRANSPORT_ENDPOINT_H

#include <stdbool.h>

#include "base/log.h"

enum {
	OP_ENDPOINT_PORT = 4317
};

enum op_protocol {
	OP_PROTOCOL_GRPC,
	OP_PROTOCOL_HTTP,
};

struct op_endpoint {
	char *target; /* "host:port", "[::1]:4317", "unix:/path" */
	char *url;    /* HTTP: the whole URL */
	char *socket; /* path of a Unix socket; NULL: none */
	char *id;     /* identifies the destination; the same with and without TLS */
	bool tls;
	bool has_path; /* the text had a path, which gRPC ignores */
};

/*
 * Parse "http://…", "https://…", "unix:///path" or "host:port" (TLS unless @insecure). @what names the
 * member or variable in the error. Returns 0, -EINVAL or -ENOMEM. After success the
 * caller calls op_endpoint_deinit().
 */
int op_endpoint_parse(const char *text, bool insecure, const char *what,
		      struct op_log *log, struct op_endpoint *ret);

/*
 * Parse "http://host[:port][/base]", "https://…" or "unix:///path". If @whole, it is the URL to use;
 * otherwise "/v1development/profiles" is appended unless it is there. Without a port the
 * scheme's default is used.
 */
int op_endpoint_parse_http(const char *text, bool whole, const char *what,
			   struct op_log *log, struct op_endpoint *ret);
void op_endpoint_deinit(struct op_endpoint *e);

#endif
