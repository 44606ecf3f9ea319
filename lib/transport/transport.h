/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A transport: carries one encoded request to one destination. Each is a module of its own
 * (libotelprof-grpc.so, libotelprof-http.so), loaded by dlopen(3) when the first exporter of
 * its kind is made, so that a host which takes the bytes by callback never maps grpc or
 * curl. A module exports one symbol, `op_transport_module`, a struct op_transport_ops.
 */
#ifndef OP_TRANSPORT_TRANSPORT_H
#define OP_TRANSPORT_TRANSPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/log.h"

enum {
	OP_TRANSPORT_ABI = 2
};

struct op_transport_header {
	const char *key; /* lower case */
	const char *value;
};

/* Contents of PEM files. */
struct op_transport_tls {
	const char *ca_pem; /* NULL: the system's roots */
	const char *client_cert_pem;
	const char *client_key_pem;
	const char *ca_file; /* for messages; NULL as above */
};

/* Everything a transport needs, after environment and defaults were applied. */
struct op_transport_config {
	const char *target; /* "host:port" */
	const char *url;    /* whole, with the path where the protocol has one */
	const char *user_agent;
	struct op_transport_tls certs;
	const struct op_transport_header *headers;
	size_t headers_len;
	bool tls;
	bool gzip;
};

/* What became of one request. */
struct op_transport_result {
	int grpc_status;	/* 0: OK; of HTTP: the one that means the same */
	int http_status;	/* of a response that HTTP brought; else 0 */
	uint64_t rejected;	/* partial success: profiles refused */
	int64_t retry_delay_ms; /* RetryInfo; -1: none */
	char message[512];	/* the server's or the transport's words */
};

struct op_transport_ops {
	uint32_t abi; /* OP_TRANSPORT_ABI */
	int (*open)(const struct op_transport_config *config, struct op_log *log,
		    void **ret);
	/* Send and wait, at most @timeout_ms. Returns 0 where a result was made (see its
	 * status), or -errno. Called from the exporter's delivery thread. */
	int (*send)(void *transport, const void *request, size_t len, uint32_t timeout_ms,
		    struct op_transport_result *ret);
	/* Other certificates for connections to come. Between sends; 0 or -errno, and then
	 * those it had are used on. */
	int (*set_tls)(void *transport, const struct op_transport_tls *tls);
	/* Make a send() that is waiting return soon, status CANCELLED. Any thread. */
	void (*cancel)(void *transport);
	void (*close)(void *transport);
};

#endif
