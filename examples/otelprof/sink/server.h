/* SPDX-License-Identifier: Apache-2.0 */
/* An OTLP profiles server over gRPC: one thread, the caller's. */
#ifndef OTELPROF_SERVER_H
#define OTELPROF_SERVER_H

#include <stdbool.h>
#include <stddef.h>

/* What became of a request: status 0 accepts it; @error is sent with another one. */
struct server_answer {
	int grpc_status;
	const char *error;
};

struct server_config {
	const char *listen; /* "host:port"; port 0: any */
	/* Said once, with the port in use. */
	void (*on_listening)(void *data, int port);
	/* One request, uncompressed; @request is valid during the call. */
	struct server_answer (*on_request)(void *data, const void *request, size_t len);
	/* Asked between events: true ends the server. */
	bool (*done)(void *data);
	void *data;
};

/* Serve until done. Returns 0, or -EADDRINUSE where it cannot listen. */
int server_run(const struct server_config *config);

#endif
