/* SPDX-License-Identifier: Apache-2.0 */
/* Makes one gRPC call and reads its result. */
#include "export/transport/grpc/exchange.h"

#include <errno.h>
#include <grpc/byte_buffer.h>
#include <grpc/byte_buffer_reader.h>
#include <grpc/support/alloc.h>
#include <grpc/support/time.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "export/transport/compress.h"
#include "export/transport/reply.h"

enum {
	CALL_OPS = 6
};

static const char method[] =
	"/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export";

static void drop_bytes(void *bytes)
{
	free(bytes);
}

/* The message of a call. It is compressed here, because grpc would use zlib. If that
 * gains nothing or there is no memory, the message is not compressed. */
static grpc_byte_buffer *message_of(const void *request, size_t len, bool gzip)
{
	grpc_compression_algorithm algorithm = GRPC_COMPRESS_NONE;
	grpc_byte_buffer *message;
	void *small = NULL;
	grpc_slice body;
	size_t small_len;

	if (gzip && op_gzip(request, len, &small, &small_len) == 0 && small_len < len) {
		body = grpc_slice_new(small, small_len, drop_bytes);
		algorithm = GRPC_COMPRESS_GZIP;
	} else {
		free(small);
		/* Copy, because a cancelled call may hold the bytes longer than the
		 * caller does. */
		body = grpc_slice_from_copied_buffer(request, len);
	}
	message = grpc_raw_compressed_byte_buffer_create(&body, 1, algorithm);
	grpc_slice_unref(body);
	return message;
}

void op_exchange_init(struct op_exchange *x, grpc_channel *channel,
		      grpc_completion_queue *queue, gpr_timespec deadline,
		      const void *request, size_t len, bool gzip)
{
	*x = (struct op_exchange){ .queue = queue };
	grpc_metadata_array_init(&x->initial);
	grpc_metadata_array_init(&x->trailing);
	x->details = grpc_empty_slice();
	x->request = message_of(request, len, gzip);
	x->call = grpc_channel_create_call(channel, NULL, GRPC_PROPAGATE_DEFAULTS, queue,
					   grpc_slice_from_static_string(method), NULL,
					   deadline, NULL);
}

void op_exchange_deinit(struct op_exchange *x)
{
	grpc_byte_buffer_destroy(x->request);
	if (x->response)
		grpc_byte_buffer_destroy(x->response);
	grpc_metadata_array_destroy(&x->initial);
	grpc_metadata_array_destroy(&x->trailing);
	grpc_slice_unref(x->details);
	gpr_free((void *)(uintptr_t)x->error);
	grpc_call_unref(x->call);
}

int op_exchange_run(struct op_exchange *x, grpc_metadata *headers, size_t headers_len)
{
	grpc_op ops[CALL_OPS] = {
		{ .op = GRPC_OP_SEND_INITIAL_METADATA,
		  .data.send_initial_metadata = { .count = headers_len,
						  .metadata = headers } },
		{ .op = GRPC_OP_SEND_MESSAGE, .data.send_message = { x->request } },
		{ .op = GRPC_OP_SEND_CLOSE_FROM_CLIENT },
		{ .op = GRPC_OP_RECV_INITIAL_METADATA,
		  .data.recv_initial_metadata = { &x->initial } },
		{ .op = GRPC_OP_RECV_MESSAGE, .data.recv_message = { &x->response } },
		{ .op = GRPC_OP_RECV_STATUS_ON_CLIENT,
		  .data.recv_status_on_client = { .trailing_metadata = &x->trailing,
						  .status = &x->status,
						  .status_details = &x->details,
						  .error_string = &x->error } },
	};

	if (grpc_call_start_batch(x->call, ops, CALL_OPS, x, NULL) != GRPC_CALL_OK)
		return -EIO;
	/* The wait needs no deadline of its own: the call has one, so the batch always
	 * ends. */
	(void)grpc_completion_queue_next(x->queue, gpr_inf_future(GPR_CLOCK_REALTIME),
					 NULL);
	return 0;
}

static void read_bytes(const void *bytes, size_t len, bool packed,
		       struct op_transport_result *result)
{
	_cleanup_free_ void *unpacked = NULL;
	size_t unpacked_len;

	if (!packed) {
		op_reply_read(bytes, len, result);
	} else if (op_unpack(bytes, len, OP_REPLY_BYTES_MAX, &unpacked, &unpacked_len) ==
		   0) {
		op_reply_read(unpacked, unpacked_len, result);
	} else {
		result->grpc_status = GRPC_STATUS_INTERNAL;
		(void)strlcpy(result->message, "an answer that cannot be unpacked",
			      sizeof(result->message));
	}
}

static void read_response(const struct op_exchange *x, struct op_transport_result *result)
{
	grpc_byte_buffer_reader reader;
	grpc_slice s;

	if (!x->response || !grpc_byte_buffer_reader_init(&reader, x->response))
		return;
	s = grpc_byte_buffer_reader_readall(&reader);
	read_bytes(GRPC_SLICE_START_PTR(s), GRPC_SLICE_LENGTH(s),
		   x->response->data.raw.compression != GRPC_COMPRESS_NONE, result);
	grpc_slice_unref(s);
	grpc_byte_buffer_reader_destroy(&reader);
}

static int64_t find_retry_delay(const grpc_metadata_array *trailing)
{
	size_t i;

	for (i = 0; i < trailing->count; i++) {
		const grpc_metadata *m = &trailing->metadata[i];

		if (!grpc_slice_str_cmp(m->key, "grpc-status-details-bin"))
			return op_reply_retry_delay_ms(GRPC_SLICE_START_PTR(m->value),
						       GRPC_SLICE_LENGTH(m->value));
	}
	return -1;
}

void op_exchange_read(const struct op_exchange *x, struct op_transport_result *ret)
{
	struct op_transport_result result = {
		.grpc_status = (int)x->status,
		.retry_delay_ms = -1,
	};

	if (x->status == GRPC_STATUS_OK) {
		read_response(x, &result);
	} else {
		op_reply_copy_text(GRPC_SLICE_START_PTR(x->details),
				   GRPC_SLICE_LENGTH(x->details), result.message,
				   sizeof(result.message));
		result.retry_delay_ms = find_retry_delay(&x->trailing);
	}
	*ret = result;
}
