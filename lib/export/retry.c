/* SPDX-License-Identifier: Apache-2.0 */
#include "export/retry.h"

#include <string.h>

#include "base/hash.h"
#include "base/macros.h"

enum {
	/* The factor and the jitter (half up, half down) of the Collector's exporters. */
	FACTOR_PERCENT = 150,
	JITTER_PERCENT = 50,
	/* A server's wish gets this much more at most, so that clients do not come at once. */
	SERVER_JITTER_PERCENT = 10,
	/* No server may silence us for longer. */
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
		/* Only where the server says that it will recover. */
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

const char *op_retry_hint(int status, const char *message)
{
	switch (status) {
	case OP_GRPC_UNIMPLEMENTED:
		return "it takes no profiles: a Collector needs a profiles pipeline and "
		       "--feature-gates=service.profilesSupport";
	case OP_GRPC_INTERNAL:
		/* Before 0.148 the fields of Sample had other numbers (OTLP 1.9). */
		if (strstr(message, "unmarshal"))
			return "it does not understand OTLP 1.10: a Collector older than "
			       "0.148 must be updated";
		return NULL;
	case OP_GRPC_RESOURCE_EXHAUSTED:
		return "the request may be larger than it takes: see max_request_bytes";
	case OP_GRPC_UNAUTHENTICATED:
	case OP_GRPC_PERMISSION_DENIED:
		return "see headers and client_cert_file";
	default:
		return NULL;
	}
}

/* A number in [0, @limit). */
static uint64_t random_below(struct op_backoff *b, uint64_t limit)
{
	b->random = op_hash_u64(b->random + UINT64_C(0x9e3779b97f4a7c15));
	return limit ? b->random % limit : 0;
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
