/* SPDX-License-Identifier: Apache-2.0 */
/* When to send a request again, and how long to wait: the rules of the OTLP specification
 * 1.10. */
#ifndef OP_EXPORT_TRANSPORT_RETRY_H
#define OP_EXPORT_TRANSPORT_RETRY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "export/transport/transport.h"

/* Status codes of gRPC (doc/statuscodes.md of grpc). */
enum op_grpc_status {
	OP_GRPC_OK = 0,
	OP_GRPC_CANCELLED = 1,
	OP_GRPC_UNKNOWN = 2,
	OP_GRPC_INVALID_ARGUMENT = 3,
	OP_GRPC_DEADLINE_EXCEEDED = 4,
	OP_GRPC_NOT_FOUND = 5,
	OP_GRPC_ALREADY_EXISTS = 6,
	OP_GRPC_PERMISSION_DENIED = 7,
	OP_GRPC_RESOURCE_EXHAUSTED = 8,
	OP_GRPC_FAILED_PRECONDITION = 9,
	OP_GRPC_ABORTED = 10,
	OP_GRPC_OUT_OF_RANGE = 11,
	OP_GRPC_UNIMPLEMENTED = 12,
	OP_GRPC_INTERNAL = 13,
	OP_GRPC_UNAVAILABLE = 14,
	OP_GRPC_DATA_LOSS = 15,
	OP_GRPC_UNAUTHENTICATED = 16,
	OP_GRPC_STATUS_MAX,
};

/* May a request with this outcome be sent again? @retry_delay_ms: from RetryInfo,
 * or -1. */
bool op_retry_allowed(int status, int64_t retry_delay_ms);

/* "UNAVAILABLE"; "?" for an unknown number. Static. */
const char *op_retry_status_name(int status);

/* The name of a result's status: "UNAVAILABLE", "HTTP 503". Static. */
const char *op_retry_result_name(const struct op_transport_result *result);

/* The most likely meaning of a refusal for the user of a Collector, or NULL. It is
 * guessed from status and message, because the protocol has no version to ask for. */
const char *op_retry_hint(const struct op_transport_result *result);

/* Exponential back-off with jitter, for one destination. */
struct op_backoff {
	uint32_t initial_ms;
	uint32_t max_ms;
	uint64_t base_ms; /* 0: the next failure is the first */
	uint64_t random;
};

/* Call this after a success. */
static inline void op_backoff_reset(struct op_backoff *b)
{
	b->base_ms = 0;
}

/* Milliseconds to wait after another failure; never less than the server's
 * @retry_delay_ms (-1: it gave none). */
uint64_t op_backoff_next(struct op_backoff *b, int64_t retry_delay_ms);

#endif
