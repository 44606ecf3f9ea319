/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The interface of a transport, which carries one encoded request to one destination.
 * Each transport is a module (libotelprof-grpc.so, libotelprof-http.so), loaded with
 * dlopen(3) when the first exporter of its kind is made. So a host that takes the bytes
 * by callback never maps grpc or curl. A module exports one symbol,
 * `op_transport_module`, a struct op_transport_ops.
 */
#ifndef OP_EXPORT_TRANSPORT_TRANSPORT_H
#define OP_EXPORT_TRANSPORT_TRANSPORT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/log.h"

enum {
	OP_TRANSPORT_ABI = 5
};

/* How requests are compressed. If a server refuses one, the one before it is tried. */
enum op_compression {
	OP_COMPRESSION_NONE,
	OP_COMPRESSION_GZIP,
	OP_COMPRESSION_ZSTD, /* HTTP only: grpc lacks it */
};

struct op_transport_header {
	const char *key; /* lower case */
	const char *value;
};

/* The contents of PEM files. */
struct op_transport_tls {
	const char *ca_pem; /* NULL: the system's roots */
	const char *client_cert_pem;
	const char *client_key_pem;
};

/* Everything that a transport needs, after environment and defaults. */
struct op_transport_config {
	const char *target; /* "host:port" or "unix:/path" */
	const char *socket; /* path of a Unix socket; NULL: none */
	const char *url;    /* the whole URL, with a path if the protocol has one */
	const char *user_agent;
	struct op_transport_tls certs;
	const struct op_transport_header *headers;
	size_t headers_len;
	bool tls;
	enum op_compression compression;
};

/* The outcome of one request. */
struct op_transport_result {
	int grpc_status;	/* 0: OK; for HTTP: the equivalent code */
	int http_status;	/* status of an HTTP response; else 0 */
	uint64_t rejected;	/* profiles refused by partial success */
	int64_t retry_delay_ms; /* RetryInfo; -1: none */
	/* times that it was sent again because the server refused its compression */
	uint32_t recompressed;
	/* Then the server accepted it: later requests are compressed like this. */
	enum op_compression compression;
	char message[512]; /* text of the server or the transport */
};

struct op_transport_ops {
	uint32_t abi; /* OP_TRANSPORT_ABI */
	int (*open)(const struct op_transport_config *config, struct op_log *log,
		    void **ret);
	/* Send and wait, at most @timeout_ms. Returns 0 with a result (check its status),
	 * or -errno. Called from the exporter's delivery thread. */
	int (*send)(void *transport, const void *request, size_t len, uint32_t timeout_ms,
		    struct op_transport_result *ret);
	/* Replace the certificates for future connections. Called between sends. Returns
	 * 0, or -errno and keeps the old ones. */
	int (*set_tls)(void *transport, const struct op_transport_tls *tls);
	/* Make a waiting send() return soon with status CANCELLED. Called from any
	 * thread. */
	void (*cancel)(void *transport);
	void (*close)(void *transport);
};

/* Finds and loads a transport module. */

/*
 * Load a module. @name is "grpc" for libotelprof-grpc.so. Looks in
 * $OTELPROF_MODULE_DIR, beside the library itself, and in the directory that the
 * library was configured for. A loaded module stays until the end of the process,
 * because its threads and exit handlers cannot be unmapped. A thread does the work, for
 * which it waits as op_sink_thread_call() does. Returns 0, -OTELPROF_E_MODULE,
 * -ETIMEDOUT, -ENOMEM or -EAGAIN.
 */
int op_module_load(const char *name, struct op_log *log,
		   const struct op_transport_ops **ret);

#endif
