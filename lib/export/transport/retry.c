/* SPDX-License-Identifier: Apache-2.0 */
/* The retry rules, status names and hints of gRPC and HTTP. */
#include "export/transport/retry.h"

#include <string.h>

#include "base/hash.h"
#include "base/macros.h"

enum {
	/* Factor and jitter (half up, half down) as in the Collector's exporters. */
	FACTOR_PERCENT = 150,
	JITTER_PERCENT = 50,
	/* A delay that a server asks for is extended by up to this, to spread the
	 * clients. */
	SERVER_JITTER_PERCENT = 10,
	/* No server may delay us for longer than this. */
	SERVER_DELAY_MAX_MS = 3600 * 1000,
};

bool op_retry_allowed(int status, int64_t retry_delay_ms)
{
	switch (status) {
	case OP_GRPC_CANCELLED:
	case OP_GRPC_DEADLINE_EXCEEDED:
	case OP_GRPC_ABORTED:
	case OP_GRPC_OUT_OF_RANGE:
	case OP_GRPC_UNAVAILABLE:
	case OP_GRPC_DATA_LOSS:
		return true;
	case OP_GRPC_RESOURCE_EXHAUSTED:
		/* Retry only if the server says that it will recover. */
		return retry_delay_ms >= 0;
	default:
		return false;
	}
}

const char *op_retry_status_name(int status)
{
	static const char *const names[OP_GRPC_STATUS_MAX] = {
		[OP_GRPC_OK] = "OK",
		[OP_GRPC_CANCELLED] = "CANCELLED",
		[OP_GRPC_UNKNOWN] = "UNKNOWN",
		[OP_GRPC_INVALID_ARGUMENT] = "INVALID_ARGUMENT",
		[OP_GRPC_DEADLINE_EXCEEDED] = "DEADLINE_EXCEEDED",
		[OP_GRPC_NOT_FOUND] = "NOT_FOUND",
		[OP_GRPC_ALREADY_EXISTS] = "ALREADY_EXISTS",
		[OP_GRPC_PERMISSION_DENIED] = "PERMISSION_DENIED",
		[OP_GRPC_RESOURCE_EXHAUSTED] = "RESOURCE_EXHAUSTED",
		[OP_GRPC_FAILED_PRECONDITION] = "FAILED_PRECONDITION",
		[OP_GRPC_ABORTED] = "ABORTED",
		[OP_GRPC_OUT_OF_RANGE] = "OUT_OF_RANGE",
		[OP_GRPC_UNIMPLEMENTED] = "UNIMPLEMENTED",
		[OP_GRPC_INTERNAL] = "INTERNAL",
		[OP_GRPC_UNAVAILABLE] = "UNAVAILABLE",
		[OP_GRPC_DATA_LOSS] = "DATA_LOSS",
		[OP_GRPC_UNAUTHENTICATED] = "UNAUTHENTICATED",
	};

	if (status < 0 || status >= OP_GRPC_STATUS_MAX)
		return "?";
	return names[status];
}

const char *op_retry_result_name(const struct op_transport_result *result)
{
	static const struct {
		int status;
		const char *name;
	} names[] = {
#define OP_HTTP(number) { number, "HTTP " #number }
		OP_HTTP(200), OP_HTTP(201), OP_HTTP(202), OP_HTTP(300), OP_HTTP(301),
		OP_HTTP(302), OP_HTTP(303), OP_HTTP(307), OP_HTTP(308), OP_HTTP(400),
		OP_HTTP(401), OP_HTTP(402), OP_HTTP(403), OP_HTTP(404), OP_HTTP(405),
		OP_HTTP(406), OP_HTTP(407), OP_HTTP(408), OP_HTTP(411), OP_HTTP(413),
		OP_HTTP(414), OP_HTTP(415), OP_HTTP(422), OP_HTTP(426), OP_HTTP(429),
		OP_HTTP(431), OP_HTTP(451), OP_HTTP(500), OP_HTTP(501), OP_HTTP(502),
		OP_HTTP(503), OP_HTTP(504), OP_HTTP(505),
#undef OP_HTTP
	};
	size_t i;

	if (!result->http_status)
		return op_retry_status_name(result->grpc_status);
	for (i = 0; i < OP_ARRAY_SIZE(names); i++) {
		if (names[i].status == result->http_status)
			return names[i].name;
	}
	return result->http_status < 500 ? "HTTP 4xx" : "HTTP 5xx";
}

static bool says(const struct op_transport_result *result, const char *words)
{
	return strstr(result->message, words) != NULL;
}

/*
 * Before Collector 0.148 the members of Sample had other numbers (OTLP 1.9). Such a
 * server answers with INTERNAL (gRPC) or 400 (HTTP), and with the message of Go's
 * protobuf.
 */
static bool is_older_collector(const struct op_transport_result *result)
{
	return says(result, "unmarshal") || says(result, "wrong wireType") ||
	       says(result, "illegal wireType") ||
	       says(result, "cannot parse invalid wire");
}

const char *op_retry_hint(const struct op_transport_result *result)
{
	switch (result->grpc_status) {
	case OP_GRPC_UNIMPLEMENTED:
		return "it takes no profiles there: a Collector needs a profiles pipeline "
		       "with this receiver, and --feature-gates=service.profilesSupport";
	case OP_GRPC_INTERNAL:
	case OP_GRPC_INVALID_ARGUMENT:
		if (is_older_collector(result))
			return "it does not understand OTLP 1.10: a Collector older than "
			       "0.148 must be updated";
		return NULL;
	case OP_GRPC_RESOURCE_EXHAUSTED:
		if (says(result, "larger than max") || says(result, "too large") ||
		    result->http_status == 413)
			return "set max_request_bytes below that limit, or raise the "
			       "server's (max_recv_msg_size_mib of a Collector's gRPC "
			       "receiver, max_request_body_size of its HTTP one)";
		return "it lacks a resource (a quota, memory) and does not say when to "
		       "retry";
	case OP_GRPC_UNAUTHENTICATED:
	case OP_GRPC_PERMISSION_DENIED:
		return "see headers and client_cert_file";
	case OP_GRPC_FAILED_PRECONDITION:
		return result->http_status
			       ? "redirects are not followed: set endpoint to where it is"
			       : NULL;
	case OP_GRPC_UNKNOWN:
		return says(result, "not OTLP")
			       ? "is it a receiver of OTLP profiles that listens there?"
			       : NULL;
	case OP_GRPC_UNAVAILABLE:
		if (says(result, "http1.x server"))
			return "it speaks HTTP/1: port 4318 is for OTLP/HTTP, 4317 for gRPC";
		if (says(result, "HTTP/0.9"))
			return "it does not speak HTTP/1: port 4317 is for gRPC, 4318 for "
			       "OTLP/HTTP";
		return NULL;
	default:
		return NULL;
	}
}

/* A number in [0, @limit). */
static uint64_t random_below(struct op_backoff *b, uint64_t limit)
{
	uint64_t random = op_random_next(&b->random);

	return limit ? random % limit : 0;
}

uint64_t op_backoff_next(struct op_backoff *b, int64_t retry_delay_ms)
{
	uint64_t wait;
	uint64_t asked;

	if (b->base_ms)
		b->base_ms = b->base_ms * FACTOR_PERCENT / 100 + 1;
	else
		b->base_ms = b->initial_ms;
	b->base_ms = OP_MIN(b->base_ms, (uint64_t)b->max_ms);
	wait = b->base_ms * (100 - JITTER_PERCENT) / 100 +
	       random_below(b, b->base_ms * 2 * JITTER_PERCENT / 100 + 1);
	wait = OP_MIN(wait, (uint64_t)b->max_ms);
	if (retry_delay_ms < 0)
		return wait;
	asked = OP_MIN((uint64_t)retry_delay_ms, (uint64_t)SERVER_DELAY_MAX_MS);
	b->base_ms = OP_MAX(b->base_ms, OP_MIN(asked, (uint64_t)b->max_ms));
	asked += random_below(b, asked * SERVER_JITTER_PERCENT / 100 + 1);
	return OP_MAX(wait, asked);
}
