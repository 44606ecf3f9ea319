/* SPDX-License-Identifier: Apache-2.0 */
/* Where a gRPC exporter goes: "https://host:port" and its shorter forms. */
#ifndef OP_EXPORT_ENDPOINT_H
#define OP_EXPORT_ENDPOINT_H

#include <stdbool.h>

#include "base/log.h"

enum {
	OP_ENDPOINT_PORT = 4317
};

struct op_endpoint {
	char *target; /* "host:port", "[::1]:4317" */
	bool tls;
	bool has_path; /* the text had one: it is ignored */
};

/*
 * Read "http://…", "https://…" or "host:port" (TLS unless @insecure). @what names the
 * field or variable in the error. Returns 0, -EINVAL or -ENOMEM. Caller frees target.
 */
int op_endpoint_parse(const char *text, bool insecure, const char *what,
		      struct op_log *log, struct op_endpoint *ret);

#endif
