/* SPDX-License-Identifier: Apache-2.0 */
/* The headers that a user wants on each request, as gRPC metadata. Values may be secrets,
 * so no message quotes one. */
#ifndef OP_EXPORT_TRANSPORT_HEADERS_H
#define OP_EXPORT_TRANSPORT_HEADERS_H

#include <stddef.h>

#include "base/log.h"
#include "export/transport/transport.h"

enum {
	OP_HEADERS_MAX = 64,
	OP_HEADERS_BYTES_MAX = 8192, /* gRPC's default for all metadata of a call */
};

struct op_headers {
	struct op_transport_header *data; /* each key and value is owned */
	size_t len;
	size_t cap;
};

/* Add a copy of a header; the key becomes lower case. @what names its origin in
 * an error. */
int op_headers_add(struct op_headers *h, const char *key, const char *value,
		   const char *what, struct op_log *log);
/* Parse "key=value,key2=value2"; values are percent-decoded. */
int op_headers_parse(struct op_headers *h, const char *text, const char *what,
		     struct op_log *log);
void op_headers_deinit(struct op_headers *h);

#endif
