/* SPDX-License-Identifier: Apache-2.0 */
/* An OTLP profiles server over gRPC, in the caller's thread. */
#ifndef OTELPROF_SERVER_H
#define OTELPROF_SERVER_H

#include <stdbool.h>
#include <stddef.h>

/* The answer to a request: status 0 accepts it; with any other status @error is sent. */
struct server_answer {
	int grpc_status;
	const char *error;
};

struct server_config {
	const char *listen; /* "host:port"; port 0: any */
	/* Called once, with the port in use. */
	void (*on_listening)(void *data, int port);
	/* Called with one request, uncompressed; @request is valid during the call. */
	struct server_answer (*on_request)(void *data, const void *request, size_t len);
	/* Called between events; returns true to end the server. */
	bool (*done)(void *data);
	void *data;
};

/* Serve until done() returns true. Returns 0, or -EADDRINUSE if it cannot listen. */
int server_run(const struct server_config *config);

#endif
