/* SPDX-License-Identifier: Apache-2.0 */
/* Collects a response while it arrives, and maps its status. */
#include "export/transport/http/response.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/macros.h"
#include "export/transport/reply.h"
#include "export/transport/retry.h"

static int64_t read_retry_after(const char *text)
{
	char *end = NULL;
	long long s = strtoll(text, &end, 10);
	time_t at;

	if (end != text)
		return s >= 0 && s < INT64_MAX / OP_MS_PER_S ? s * OP_MS_PER_S : -1;
	at = curl_getdate(text, NULL);
	if (at < 0)
		return -1;
	s = (long long)at - time(NULL);
	return s > 0 ? s * OP_MS_PER_S : 0;
}

/* If the header @line has the name @name, copy its value to @ret, trimmed. */
static bool header_value(const char *line, size_t len, const char *name, char *ret,
			 size_t cap)
{
	size_t n = strlen(name);

	if (len <= n || strncasecmp(line, name, n) != 0 || line[n] != ':')
		return false;
	line += n + 1;
	len -= n + 1;
	while (len && (*line == ' ' || *line == '\t')) {
		line++;
		len--;
	}
	while (len && strchr("\r\n \t", line[len - 1]))
		len--;
	op_reply_copy_text(line, len, ret, cap);
	return true;
}

size_t op_response_header(char *line, size_t size, size_t n, void *response)
{
	struct op_response *r = response;
	char value[64];

	/* A new status line: the headers before belong to an interim response (100). */
	if (n > 5 && !strncmp(line, "HTTP/", 5)) {
		r->retry_after_ms = -1;
		r->location[0] = 0;
	} else if (header_value(line, n, "retry-after", value, sizeof(value))) {
		r->retry_after_ms = read_retry_after(value);
	} else {
		(void)header_value(line, n, "location", r->location, sizeof(r->location));
	}
	return size * n;
}

size_t op_response_body(char *bytes, size_t size, size_t n, void *response)
{
	struct op_response *r = response;
	size_t keep = OP_MIN(n, sizeof(r->bytes) - r->len);

	memcpy(r->bytes + r->len, bytes, keep);
	r->len += keep;
	r->total += n;
	return r->total > OP_REPLY_BYTES_MAX ? 0 : size * n;
}

/* The gRPC code that corresponds to an HTTP status, so that both share one set
 * of rules. */
static int map_status(long http)
{
	if (http >= 200 && http < 300)
		return OP_GRPC_OK;
	switch (http) {
	case 429:
	case 502:
	case 503:
	case 504:
		return OP_GRPC_UNAVAILABLE; /* OTLP 1.10 allows a retry only for these */
	case 401:
		return OP_GRPC_UNAUTHENTICATED;
	case 403:
		return OP_GRPC_PERMISSION_DENIED;
	case 404:
		return OP_GRPC_UNIMPLEMENTED;
	case 413:
		return OP_GRPC_RESOURCE_EXHAUSTED;
	default:
		break;
	}
	if (http < 400)
		return OP_GRPC_FAILED_PRECONDITION;
	return http < 500 ? OP_GRPC_INVALID_ARGUMENT : OP_GRPC_INTERNAL;
}

/* Read the message. The body should be a google.rpc.Status, but proxies and wrong ports
 * send pages. */
static void read_refusal(const struct op_response *r, const char *content_type,
			 struct op_transport_result *result)
{
	char words[sizeof(result->message)];

	if (content_type && strstr(content_type, "protobuf"))
		op_reply_status_message(r->bytes, r->len, words, sizeof(words));
	else
		op_reply_copy_text(r->bytes, r->len, words, sizeof(words));
	(void)strlcpy(result->message, words[0] ? words : "no words of explanation",
		      sizeof(result->message));
	if (result->grpc_status == OP_GRPC_FAILED_PRECONDITION && r->location[0])
		(void)snprintf(result->message, sizeof(result->message), "to %s",
			       r->location);
}

void op_response_read(const struct op_response *r, CURL *easy,
		      struct op_transport_result *result)
{
	const char *content_type = NULL;
	long http = 0;

	(void)curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &http);
	(void)curl_easy_getinfo(easy, CURLINFO_CONTENT_TYPE, &content_type);
	result->http_status = (int)http;
	result->grpc_status = map_status(http);
	if (result->grpc_status != OP_GRPC_OK) {
		read_refusal(r, content_type, result);
		if (result->grpc_status == OP_GRPC_UNAVAILABLE)
			result->retry_delay_ms = r->retry_after_ms;
		return;
	}
	op_reply_read(r->bytes, r->len, result);
}

bool op_response_refuses_encoding(const struct op_transport_result *result)
{
	return result->http_status == 415 ||
	       (result->http_status == 400 &&
		strcasestr(result->message, "content-encoding"));
}
