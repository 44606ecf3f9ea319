/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The gRPC transport module. This folder is the only one that uses grpc's core API, which
 * changes in small ways from release to release (written against 1.51).
 *
 * grpc starts its threads when the first transport is opened, and ends them when the last
 * is closed. Threads inherit the signal mask of their creator, so every call that may
 * create one blocks all signals around it.
 */
#include <errno.h>
#include <grpc/grpc.h>
#include <grpc/grpc_security.h>
#include <grpc/support/log.h>
#include <grpc/support/time.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/macros.h"
#include "export/transport/grpc/exchange.h"
#include "export/transport/reply.h"
#include "export/transport/tls/explain.h"
#include "export/transport/transport.h"

enum {
	/* Back-off of the connection; requests have their own. */
	RECONNECT_INITIAL_MS = 100,
	RECONNECT_MAX_MS = 2000,
	CONNECT_TIMEOUT_MS = 10000,
	/* A connection that failed may use 1/CONNECT_PART of a request's time to be set
	 * up again. */
	CONNECT_PART = 2,
	CONNECT_SLICE_MS = 100, /* how soon cancel() is noticed during that */
	/* After so many deadlines in a row the connection is replaced. */
	DEADLINES_TO_RECONNECT = 2,
	SHUTDOWN_WAIT_MS = 100,
	ARGS_MAX = 11,
};

/* Prevents that a host name is taken for a scheme. */
static const char target_scheme[] = "dns:///";

struct transport {
	char *target;
	char *user_agent;
	bool gzip;
	grpc_channel_credentials *creds;
	grpc_channel *channel;
	grpc_completion_queue *queue;
	grpc_metadata *headers;
	size_t headers_len;
	unsigned int deadlines; /* deadlines exceeded in a row */
	bool tls;

	pthread_mutex_t lock;
	grpc_call *call; /* the running call, or NULL */
	bool cancelled;	 /* permanently */
};

/* grpc prints its errors to stderr, which a library must not do. We get them
 * as results. */
static void drop_line(gpr_log_func_args *args)
{
}

/*
 * grpc cannot be asked which function it has. So ours is set once in a process, before grpc is
 * used there, and is never taken back: any time later the function may be the host's. This module
 * is not unloaded, so it stays callable.
 */
static atomic_bool log_was_set;

static void start_grpc(void)
{
	/* If the host program uses grpc too, or asked for its log, leave it alone. */
	if (!atomic_exchange(&log_was_set, true) && !grpc_is_initialized() &&
	    !secure_getenv("GRPC_VERBOSITY"))
		gpr_set_log_function(drop_line);
	grpc_init();
}

/*
 * Name resolution may keep grpc's threads busy for a few more milliseconds. If the
 * program exits now, OpenSSL is unloaded while they use it, so wait for them. The wait is
 * short, because another transport or the host program may continue to use grpc.
 */
static void stop_grpc(void)
{
	const struct timespec ms = { .tv_nsec = 1000000 };
	unsigned int i;

	grpc_shutdown();
	for (i = 0; i < SHUTDOWN_WAIT_MS && grpc_is_initialized(); i++)
		(void)nanosleep(&ms, NULL);
}

static grpc_arg int_arg(const char *key, int value)
{
	return (grpc_arg){
		.type = GRPC_ARG_INTEGER,
		.key = (char *)(uintptr_t)key,
		.value.integer = value,
	};
}

static grpc_channel *make_channel(const struct transport *t)
{
	grpc_arg args[ARGS_MAX] = {
		int_arg(GRPC_ARG_ENABLE_RETRIES, 0), /* the delivery thread retries */
		/* The probe's pings measure bandwidth, which one request in seconds does
		 * not need. */
		int_arg(GRPC_ARG_HTTP2_BDP_PROBE, 0),
		int_arg(GRPC_ARG_MAX_SEND_MESSAGE_LENGTH, -1),
		int_arg(GRPC_ARG_MAX_RECEIVE_MESSAGE_LENGTH, OP_REPLY_BYTES_MAX),
		/* gRPC would unpack an answer whatever its size. */
		int_arg(GRPC_ARG_ENABLE_PER_MESSAGE_DECOMPRESSION, 0),
		int_arg(GRPC_ARG_INITIAL_RECONNECT_BACKOFF_MS, RECONNECT_INITIAL_MS),
		int_arg(GRPC_ARG_MIN_RECONNECT_BACKOFF_MS, CONNECT_TIMEOUT_MS),
		int_arg(GRPC_ARG_MAX_RECONNECT_BACKOFF_MS, RECONNECT_MAX_MS),
		/* Connections are not shared, so that a new channel gets a new
		 * connection. */
		int_arg(GRPC_ARG_USE_LOCAL_SUBCHANNEL_POOL, 1),
		int_arg(GRPC_COMPRESSION_CHANNEL_DEFAULT_ALGORITHM,
			t->gzip ? GRPC_COMPRESS_GZIP : GRPC_COMPRESS_NONE),
		{
			.type = GRPC_ARG_STRING,
			.key = (char *)(uintptr_t)GRPC_ARG_PRIMARY_USER_AGENT_STRING,
			.value.string = t->user_agent,
		},
	};
	const grpc_channel_args all = { .num_args = ARGS_MAX, .args = args };

	/* Keepalive stays off: servers close connections with pings more often than every
	 * 5 min. */
	return grpc_channel_create(t->target, t->creds, &all);
}

/* grpc copies the strings. */
static grpc_channel_credentials *make_creds(const struct op_transport_tls *certs)
{
	grpc_ssl_pem_key_cert_pair pair = {
		.private_key = certs->client_key_pem,
		.cert_chain = certs->client_cert_pem,
	};

	return grpc_ssl_credentials_create(
		certs->ca_pem, certs->client_cert_pem ? &pair : NULL, NULL, NULL);
}

static int copy_headers(struct transport *t, const struct op_transport_config *config,
			struct op_log *log)
{
	size_t i;

	t->headers = calloc(config->headers_len + 1, sizeof(*t->headers));
	if (!t->headers)
		return -ENOMEM;
	for (i = 0; i < config->headers_len; i++) {
		grpc_metadata *m = &t->headers[i];

		m->key = grpc_slice_from_copied_string(config->headers[i].key);
		m->value = grpc_slice_from_copied_string(config->headers[i].value);
		t->headers_len++;
		if (!grpc_header_key_is_legal(m->key) ||
		    !grpc_header_nonbin_value_is_legal(m->value))
			return op_fail(log, -EINVAL,
				       "gRPC exporter: header \"%.64s\" is "
				       "not legal",
				       config->headers[i].key);
	}
	return 0;
}

static void drain_queue(grpc_completion_queue *queue)
{
	grpc_completion_queue_shutdown(queue);
	while (grpc_completion_queue_next(queue, gpr_inf_future(GPR_CLOCK_REALTIME), NULL)
		       .type != GRPC_QUEUE_SHUTDOWN)
		;
	grpc_completion_queue_destroy(queue);
}

static void release_grpc(struct transport *t)
{
	size_t i;

	for (i = 0; i < t->headers_len; i++) {
		grpc_slice_unref(t->headers[i].key);
		grpc_slice_unref(t->headers[i].value);
	}
	if (t->channel)
		grpc_channel_destroy(t->channel);
	if (t->queue)
		drain_queue(t->queue);
	if (t->creds)
		grpc_channel_credentials_release(t->creds);
}

static void transport_close(void *transport)
{
	struct transport *t = transport;
	_cleanup_signals_ sigset_t before = op_signals_block();

	release_grpc(t);
	stop_grpc();
	(void)pthread_mutex_destroy(&t->lock);
	free(t->headers);
	free(t->user_agent);
	free(t->target);
	free(t);
}

static bool is_cancelled(struct transport *t)
{
	bool cancelled;

	(void)pthread_mutex_lock(&t->lock);
	cancelled = t->cancelled;
	(void)pthread_mutex_unlock(&t->lock);
	return cancelled;
}

static int open_grpc(struct transport *t, const struct op_transport_config *config,
		     struct op_log *log)
{
	int r;

	r = copy_headers(t, config, log);
	if (r < 0)
		return r;
	t->tls = config->tls;
	t->creds = config->tls ? make_creds(&config->certs)
			       : grpc_insecure_credentials_create();
	if (!t->creds)
		return op_fail(log, -EINVAL,
			       "gRPC exporter: grpc does not accept the certificate");
	t->queue = grpc_completion_queue_create_for_next(NULL);
	t->channel = make_channel(t);
	return t->queue && t->channel ? 0 : -ENOMEM;
}

static int transport_open(const struct op_transport_config *config, struct op_log *log,
			  void **ret)
{
	struct transport *t = calloc(1, sizeof(*t));
	_cleanup_signals_ sigset_t before = op_signals_block();
	int r;

	if (!t)
		return -ENOMEM;
	(void)pthread_mutex_init(&t->lock, NULL);
	start_grpc();
	/* the target of a socket has a scheme of its own */
	if (asprintf(&t->target, "%s%s", config->socket ? "" : target_scheme,
		     config->target) < 0)
		t->target = NULL;
	t->user_agent = strdup(config->user_agent);
	t->gzip = config->compression != OP_COMPRESSION_NONE;
	r = t->target && t->user_agent ? open_grpc(t, config, log) : -ENOMEM;
	if (r < 0) {
		transport_close(t);
		return r;
	}
	*ret = t;
	return 0;
}

static gpr_timespec deadline_in(uint32_t ms)
{
	return gpr_time_add(gpr_now(GPR_CLOCK_MONOTONIC),
			    gpr_time_from_millis(ms, GPR_TIMESPAN));
}

/* Register the call for cancel(). Returns false if the transport was cancelled before. */
static bool begin_call(struct transport *t, grpc_call *call)
{
	bool ok;

	(void)pthread_mutex_lock(&t->lock);
	ok = !t->cancelled;
	if (ok)
		t->call = call;
	(void)pthread_mutex_unlock(&t->lock);
	return ok;
}

static void end_call(struct transport *t)
{
	(void)pthread_mutex_lock(&t->lock);
	t->call = NULL;
	(void)pthread_mutex_unlock(&t->lock);
}

static void transport_cancel(void *transport)
{
	struct transport *t = transport;
	_cleanup_signals_ sigset_t before = op_signals_block();

	(void)pthread_mutex_lock(&t->lock);
	t->cancelled = true;
	if (t->call)
		(void)grpc_call_cancel(t->call, NULL);
	(void)pthread_mutex_unlock(&t->lock);
}

/*
 * After a failure grpc fails every call at once until the channel is connected again, and
 * it only makes progress with that while somebody waits on a completion queue. So wait
 * here. If the channel does not connect, the call that follows gives the reason.
 */
static void await_channel(struct transport *t, uint32_t timeout_ms)
{
	uint32_t left = timeout_ms / CONNECT_PART;

	while (left && !is_cancelled(t)) {
		uint32_t slice = OP_MIN(left, (uint32_t)CONNECT_SLICE_MS);
		grpc_connectivity_state state =
			grpc_channel_check_connectivity_state(t->channel, 1);

		if (state != GRPC_CHANNEL_TRANSIENT_FAILURE)
			return;
		grpc_channel_watch_connectivity_state(t->channel, state,
						      deadline_in(slice), t->queue, t);
		(void)grpc_completion_queue_next(
			t->queue, gpr_inf_future(GPR_CLOCK_REALTIME), NULL);
		left -= slice;
	}
}

/* Replace the channel, and so the connection. Returns 0, or -ENOMEM and keeps the old
 * one. */
static int replace_channel(struct transport *t)
{
	grpc_channel *fresh = make_channel(t);

	if (!fresh)
		return -ENOMEM;
	grpc_channel_destroy(t->channel);
	t->channel = fresh;
	return 0;
}

/* Replace a connection whose peer is silent. The kernel would keep it for 15 minutes. */
static void renew_channel(struct transport *t, int status)
{
	if (status != GRPC_STATUS_DEADLINE_EXCEEDED) {
		t->deadlines = 0;
		return;
	}
	if (++t->deadlines < DEADLINES_TO_RECONNECT)
		return;
	t->deadlines = 0;
	(void)replace_channel(t);
}

static int replace_creds(struct transport *t, const struct op_transport_tls *certs)
{
	grpc_channel_credentials *old = t->creds;
	grpc_channel_credentials *fresh = make_creds(certs);
	int r;

	if (!fresh)
		return -EINVAL;
	t->creds = fresh;
	r = replace_channel(t);
	if (r < 0)
		t->creds = old;
	grpc_channel_credentials_release(r < 0 ? fresh : old);
	return r;
}

static int transport_set_tls(void *transport, const struct op_transport_tls *certs)
{
	_cleanup_signals_ sigset_t before = op_signals_block();

	return replace_creds(transport, certs);
}

/* If the channel is ready, the server has answered, and its message is the right one. */
static void explain_tls(struct transport *t, struct op_transport_result *result)
{
	if (t->tls &&
	    grpc_channel_check_connectivity_state(t->channel, 0) != GRPC_CHANNEL_READY &&
	    result->grpc_status == GRPC_STATUS_UNAVAILABLE)
		op_tls_explain(result->message, sizeof(result->message));
}

static int transport_send(void *transport, const void *request, size_t len,
			  uint32_t timeout_ms, struct op_transport_result *ret)
{
	gpr_timespec deadline = deadline_in(timeout_ms);
	struct transport *t = transport;
	struct op_exchange x;
	int r = 0;

	await_channel(t, timeout_ms);
	op_exchange_init(&x, t->channel, t->queue, deadline, request, len, t->gzip);
	if (begin_call(t, x.call)) {
		r = op_exchange_run(&x, t->headers, t->headers_len);
		end_call(t);
		if (!r) {
			op_exchange_read(&x, ret);
			explain_tls(t, ret);
		}
	} else {
		*ret = (struct op_transport_result){
			.grpc_status = GRPC_STATUS_CANCELLED,
			.retry_delay_ms = -1,
		};
	}
	op_exchange_deinit(&x);
	if (!r)
		renew_channel(t, ret->grpc_status);
	return r;
}

extern const struct op_transport_ops op_transport_module;
__attribute__((visibility("default")))
const struct op_transport_ops op_transport_module = {
	.abi = OP_TRANSPORT_ABI,
	.open = transport_open,
	.send = transport_send,
	.set_tls = transport_set_tls,
	.cancel = transport_cancel,
	.close = transport_close,
};
