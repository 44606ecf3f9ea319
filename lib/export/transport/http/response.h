/* SPDX-License-Identifier: Apache-2.0 */
/* One HTTP response: the parts that are kept of it, and its result. */
#ifndef OP_EXPORT_TRANSPORT_HTTP_RESPONSE_H
#define OP_EXPORT_TRANSPORT_HTTP_RESPONSE_H

#include <curl/curl.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "export/transport/transport.h"

enum {
	/* Bytes kept of the body; no Status or partial success is larger. */
	OP_RESPONSE_BYTES_KEPT = 64 << 10
};

struct op_response {
	char bytes[OP_RESPONSE_BYTES_KEPT];
	size_t len;
	uint64_t total;
	int64_t retry_after_ms; /* -1: none */
	char location[128];
};

/* For CURLOPT_HEADERFUNCTION and CURLOPT_WRITEFUNCTION; @response is a struct op_response. */
size_t op_response_header(char *line, size_t size, size_t n, void *response);
size_t op_response_body(char *bytes, size_t size, size_t n, void *response);

/* The result of @easy's transfer, which has ended. */
void op_response_read(const struct op_response *r, CURL *easy,
		      struct op_transport_result *result);

/* Did the server refuse a request because of its Content-Encoding? With status 400, as
 * from the Collector, only the message says so. */
bool op_response_refuses_encoding(const struct op_transport_result *result);

#endif
