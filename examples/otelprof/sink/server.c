/* SPDX-License-Identifier: Apache-2.0 */
/* A server with gRPC core's API. Each call is a small state machine whose address is
 * the tag of its operation. One call always waits for a client. */
#include "sink/server.h"

#include <errno.h>
#include <grpc/byte_buffer_reader.h>
#include <grpc/grpc.h>
#include <grpc/grpc_security.h>
#include <grpc/support/alloc.h>
#include <grpc/support/time.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/macros.h"
#include "common.h"
#include "recording/read/requests.h"

enum {
	MESSAGE_MAX_BYTES = 64 << 20, /* the specification's limit for clients */
	WAIT_MS = 100,
	OPS_MAX = 4,
};

static const char export_method[] =
	"/opentelemetry.proto.collector.profiles.v1development.ProfilesService/Export";

enum rpc_state {
	RPC_WAITING,
	RPC_RECEIVING,
	RPC_ANSWERING
};

struct server {
	const struct server_config *config;
	grpc_completion_queue *queue;
	grpc_server *server;
	bool ending;
	char shutdown_tag;
};

struct rpc {
	struct server *server;
	enum rpc_state state;
	grpc_call *call;
	grpc_call_details details;
	grpc_metadata_array metadata;
	grpc_byte_buffer *message;
	grpc_byte_buffer *response;
	grpc_slice error;
	int cancelled;
};

static void rpc_free(struct rpc *rpc)
{
	grpc_call_details_destroy(&rpc->details);
	grpc_metadata_array_destroy(&rpc->metadata);
	if (rpc->message)
		grpc_byte_buffer_destroy(rpc->message);
	if (rpc->response)
		grpc_byte_buffer_destroy(rpc->response);
	grpc_slice_unref(rpc->error);
	if (rpc->call)
		grpc_call_unref(rpc->call);
	free(rpc);
}

/* Wait for the next client. */
static int rpc_wait(struct server *s)
{
	struct rpc *rpc = calloc(1, sizeof(*rpc));

	if (!rpc)
		return -ENOMEM;
	rpc->server = s;
	rpc->error = grpc_empty_slice();
	grpc_call_details_init(&rpc->details);
	grpc_metadata_array_init(&rpc->metadata);
	if (grpc_server_request_call(s->server, &rpc->call, &rpc->details, &rpc->metadata,
				     s->queue, s->queue, rpc) != GRPC_CALL_OK) {
		rpc_free(rpc);
		return -EIO;
	}
	return 0;
}

static void rpc_receive(struct rpc *rpc)
{
	grpc_op ops[2] = {
		{ .op = GRPC_OP_SEND_INITIAL_METADATA },
		{ .op = GRPC_OP_RECV_MESSAGE },
	};

	ops[1].data.recv_message.recv_message = &rpc->message;
	rpc->state = RPC_RECEIVING;
	if (grpc_call_start_batch(rpc->call, ops, 2, rpc, NULL) != GRPC_CALL_OK)
		rpc_free(rpc);
}

static bool method_known(const struct rpc *rpc)
{
	return grpc_slice_str_cmp(rpc->details.method, export_method) == 0;
}

static struct server_answer take(const struct server_config *config, grpc_slice message,
				 bool packed)
{
	struct server_answer answer = { GRPC_STATUS_INTERNAL, "out of memory" };
	_cleanup_free_ void *bytes = NULL;
	size_t len = 0;
	int r;

	if (!packed)
		return config->on_request(config->data, GRPC_SLICE_START_PTR(message),
					  GRPC_SLICE_LENGTH(message));
	r = recording_unpack(GRPC_SLICE_START_PTR(message), GRPC_SLICE_LENGTH(message),
			     &bytes, &len);
	if (r == 0)
		return config->on_request(config->data, bytes, len);
	if (r == -EFBIG)
		answer = (struct server_answer){ GRPC_STATUS_RESOURCE_EXHAUSTED,
						 "a request has more than 64 MiB" };
	else if (r == -EBADMSG)
		answer = (struct server_answer){ GRPC_STATUS_INVALID_ARGUMENT,
						 "the message cannot be unpacked" };
	note("a request was refused: %s", answer.error);
	return answer;
}

static struct server_answer handle(struct rpc *rpc)
{
	struct server_answer answer = { GRPC_STATUS_INTERNAL, "no message came" };
	grpc_byte_buffer_reader reader;
	grpc_slice all;

	if (!method_known(rpc))
		return (struct server_answer){ GRPC_STATUS_UNIMPLEMENTED,
					       "only profiles are taken here" };
	if (!rpc->message || !grpc_byte_buffer_reader_init(&reader, rpc->message))
		return answer;
	all = grpc_byte_buffer_reader_readall(&reader);
	answer = take(rpc->server->config, all,
		      rpc->message->data.raw.compression != GRPC_COMPRESS_NONE);
	grpc_slice_unref(all);
	grpc_byte_buffer_reader_destroy(&reader);
	return answer;
}

static void rpc_answer(struct rpc *rpc)
{
	struct server_answer answer = handle(rpc);
	grpc_slice empty = grpc_empty_slice();
	grpc_op ops[OPS_MAX] = { { .op = GRPC_OP_RECV_CLOSE_ON_SERVER } };
	size_t len = 1;

	ops[0].data.recv_close_on_server.cancelled = &rpc->cancelled;
	if (answer.grpc_status == GRPC_STATUS_OK) {
		/* An empty message means full success. */
		rpc->response = grpc_raw_byte_buffer_create(&empty, 1);
		ops[len].op = GRPC_OP_SEND_MESSAGE;
		ops[len++].data.send_message.send_message = rpc->response;
	} else {
		rpc->error = grpc_slice_from_copied_string(answer.error);
	}
	ops[len].op = GRPC_OP_SEND_STATUS_FROM_SERVER;
	ops[len].data.send_status_from_server.status =
		(grpc_status_code)answer.grpc_status;
	ops[len++].data.send_status_from_server.status_details = &rpc->error;
	rpc->state = RPC_ANSWERING;
	if (grpc_call_start_batch(rpc->call, ops, len, rpc, NULL) != GRPC_CALL_OK)
		rpc_free(rpc);
}

static void on_event(struct server *s, const grpc_event *event)
{
	struct rpc *rpc = event->tag;

	if (event->tag == &s->shutdown_tag)
		return;
	if (rpc->state == RPC_WAITING && event->success && !s->ending) {
		(void)rpc_wait(s);
		rpc_receive(rpc);
	} else if (rpc->state == RPC_RECEIVING && event->success) {
		rpc_answer(rpc);
	} else {
		rpc_free(rpc);
	}
}

static gpr_timespec soon(void)
{
	return gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
			    gpr_time_from_millis(WAIT_MS, GPR_TIMESPAN));
}

static void serve(struct server *s)
{
	grpc_event event;

	while (!s->config->done(s->config->data)) {
		event = grpc_completion_queue_next(s->queue, soon(), NULL);
		if (event.type == GRPC_OP_COMPLETE)
			on_event(s, &event);
	}
}

/* Let the running calls end, then destroy the queue. */
static void end(struct server *s)
{
	grpc_event event;
	bool down = false;

	s->ending = true;
	grpc_server_shutdown_and_notify(s->server, s->queue, &s->shutdown_tag);
	while (!down) {
		event = grpc_completion_queue_next(s->queue, soon(), NULL);
		if (event.type == GRPC_QUEUE_TIMEOUT)
			grpc_server_cancel_all_calls(s->server);
		if (event.type != GRPC_OP_COMPLETE)
			continue;
		down = event.tag == &s->shutdown_tag;
		on_event(s, &event);
	}
	grpc_server_destroy(s->server);
	grpc_completion_queue_shutdown(s->queue);
	while ((event = grpc_completion_queue_next(
			s->queue, gpr_inf_future(GPR_CLOCK_MONOTONIC), NULL))
		       .type == GRPC_OP_COMPLETE)
		on_event(s, &event);
}

int server_run(const struct server_config *config)
{
	grpc_arg arg = { .type = GRPC_ARG_INTEGER,
			 .key = (char *)GRPC_ARG_MAX_RECEIVE_MESSAGE_LENGTH,
			 .value.integer = MESSAGE_MAX_BYTES };
	grpc_arg reuse = { .type = GRPC_ARG_INTEGER,
			   .key = (char *)GRPC_ARG_ALLOW_REUSEPORT,
			   .value.integer = 0 };
	/* gRPC would unpack a message whatever its size. */
	grpc_arg packed = { .type = GRPC_ARG_INTEGER,
			    .key = (char *)GRPC_ARG_ENABLE_PER_MESSAGE_DECOMPRESSION,
			    .value.integer = 0 };
	grpc_arg all[] = { arg, reuse, packed };
	grpc_channel_args args = { .num_args = OP_ARRAY_SIZE(all), .args = all };
	struct server s = { .config = config };
	grpc_server_credentials *creds;
	int port;

	grpc_init();
	s.queue = grpc_completion_queue_create_for_next(NULL);
	s.server = grpc_server_create(&args, NULL);
	grpc_server_register_completion_queue(s.server, s.queue, NULL);
	creds = grpc_insecure_server_credentials_create();
	port = grpc_server_add_http2_port(s.server, config->listen, creds);
	grpc_server_credentials_release(creds);
	grpc_server_start(s.server);
	if (port) {
		config->on_listening(config->data, port);
		if (rpc_wait(&s) == 0)
			serve(&s);
	}
	end(&s);
	grpc_completion_queue_destroy(s.queue);
	grpc_shutdown();
	return port ? 0 : -EADDRINUSE;
}
