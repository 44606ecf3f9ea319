/* SPDX-License-Identifier: Apache-2.0 */
/* One gRPC call: all objects that it needs, and its result. */
#ifndef OP_EXPORT_TRANSPORT_GRPC_EXCHANGE_H
#define OP_EXPORT_TRANSPORT_GRPC_EXCHANGE_H

#include <grpc/grpc.h>
#include <stdbool.h>
#include <stddef.h>

#include "export/transport/transport.h"

struct op_exchange {
	grpc_completion_queue *queue;
	grpc_call *call;
	grpc_byte_buffer *request;
	grpc_byte_buffer *response;
	grpc_metadata_array initial;
	grpc_metadata_array trailing;
	grpc_status_code status;
	grpc_slice details;
	const char *error;
};

/* @gzip: the channel sends compressed requests. */
void op_exchange_init(struct op_exchange *x, grpc_channel *channel,
		      grpc_completion_queue *queue, gpr_timespec deadline,
		      const void *request, size_t len, bool gzip);
void op_exchange_deinit(struct op_exchange *x);

/* Make the call and wait for its end. Returns 0 or -errno. */
int op_exchange_run(struct op_exchange *x, grpc_metadata *headers, size_t headers_len);

/* The result of a call that has ended. */
void op_exchange_read(const struct op_exchange *x, struct op_transport_result *ret);

#endif
