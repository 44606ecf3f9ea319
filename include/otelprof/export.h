/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Destinations of profiles. Each exporter has its own bounded queue, so a slow one does
 * not delay the others.
 */
#ifndef OTELPROF_EXPORT_H
#define OTELPROF_EXPORT_H

#include <otelprof/config.h>

OTELPROF_BEGIN_DECLS

/* Values of otelprof_otlp_config.protocol. */
#define OTELPROF_PROTOCOL_DEFAULT 0 /* OTEL_EXPORTER_OTLP_PROTOCOL, else gRPC */
#define OTELPROF_PROTOCOL_GRPC	  1 /* gRPC */
#define OTELPROF_PROTOCOL_HTTP	  2 /* HTTP/1.1 or HTTP/2, encoded as protobuf */

/* Values of otelprof_otlp_config.compression. */
#define OTELPROF_COMPRESSION_DEFAULT 0 /* OTEL_EXPORTER_OTLP_COMPRESSION, else gzip */
#define OTELPROF_COMPRESSION_NONE    1 /* none */
#define OTELPROF_COMPRESSION_GZIP    2 /* gzip */
#define OTELPROF_COMPRESSION_ZSTD    3 /* zstd, HTTP only */

/* An OTLP server. A member of zero takes the value of OTEL_EXPORTER_OTLP_PROFILES_* or
 * OTEL_EXPORTER_OTLP_* in the environment, then the default in parentheses. */
struct otelprof_otlp_config {
	size_t size;
	/* "http://host:port", "https://host:port" or "unix:///path". For HTTP a path may
	 * follow. "/v1development/profiles" is appended, except to
	 * OTEL_EXPORTER_OTLP_PROFILES_ENDPOINT. (localhost, port 4317, HTTP: 4318) */
	const char *endpoint;
	const char *ca_file;	      /* PEM (the system's roots) */
	const char *client_cert_file; /* PEM, both for mutual TLS (none) */
	const char *client_key_file;
	const struct otelprof_attribute *headers; /* keys in lower case (none) */
	size_t headers_len;
	const char *spill_dir;	    /* keep waiting requests in files there (none) */
	uint64_t spill_bytes;	    /* limit of these files: the oldest go (256 MiB) */
	uint64_t queue_bytes;	    /* limit of the queue: the oldest go (16 MiB) */
	uint64_t max_request_bytes; /* before compression (4,000,000) */
	uint32_t protocol;	    /* OTELPROF_PROTOCOL_* */
	uint32_t insecure;	    /* 1: no TLS for a gRPC endpoint without a scheme */
	uint32_t compression;	    /* OTELPROF_COMPRESSION_* */
	uint32_t timeout_ms;	    /* of each try of an export (10,000) */
	uint32_t retry_initial_ms;  /* first back-off (1,000) */
	uint32_t retry_max_ms;	    /* longest back-off (30,000) */
	/* give a request up after this time (300,000, no limit with a spill_dir) */
	uint32_t retry_elapsed_ms;
	uint32_t reserved0;
};

OTELPROF_API void otelprof_otlp_config_init(struct otelprof_otlp_config *config,
					    size_t size);

/* Values of otelprof_file_config.format. */
#define OTELPROF_FORMAT_OTLP   0 /* requests, each after its length: 4 bytes, big endian */
#define OTELPROF_FORMAT_PPROF  1 /* one gzip'ed pprof profile */
#define OTELPROF_FORMAT_FOLDED 2 /* a line "root;child;leaf count" for each stack */
#define OTELPROF_FORMAT_HTML   3 /* one page with a flame graph */

/* A file. A thread writes it under a temporary name, syncs it and renames it.
 * otelprof_flush() completes it. Past 16 MiB that wait for the thread, the oldest are
 * dropped. The user of sudo (SUDO_UID, SUDO_GID) owns the file. A link, pipe or device
 * must belong to root, the process's user or the user of sudo (-EPERM). */
struct otelprof_file_config {
	size_t size;
	const char *path; /* "-": standard output */
	uint32_t format;  /* OTELPROF_FORMAT_* */
	uint32_t reserved0;
};

OTELPROF_API void otelprof_file_config_init(struct otelprof_file_config *config,
					    size_t size);

/** Receives one encoded ExportProfilesServiceRequest of @len bytes with @samples samples.
 * It runs in the thread that closes a window: in otelprof_export(), otelprof_set_rate(),
 * or with a cpu_budget_permille in otelprof_poll() or the library's thread. Returns 0; or
 * a negative errno, and the samples are dropped. */
typedef int (*otelprof_request_fn)(void *userdata, const void *request, size_t len,
				   uint64_t samples);

struct otelprof_callback_config {
	size_t size;
	otelprof_request_fn fn;	    /* gets the requests */
	void *userdata;		    /* its first argument */
	uint64_t max_request_bytes; /* before compression (4,000,000) */
};

OTELPROF_API void otelprof_callback_config_init(struct otelprof_callback_config *config,
						size_t size);

/** Add an exporter, before or after otelprof_start(). Returns its number, 1 or more,
 * which no other exporter of @p gets; -EINVAL for a member out of range
 * (otelprof_last_error() names it); -ENOMEM; -OTELPROF_E_MODULE if the transport cannot
 * be loaded; -EBUSY if another exporter uses the spill_dir for this destination; the
 * errno of making the spill_dir or the file; -ETIMEDOUT if a disk does not answer or
 * nobody reads the FIFO. */
OTELPROF_API OTELPROF_MUST_CHECK int
otelprof_exporter_otlp(struct otelprof *p, const struct otelprof_otlp_config *config);
OTELPROF_API OTELPROF_MUST_CHECK int
otelprof_exporter_file(struct otelprof *p, const struct otelprof_file_config *config);
OTELPROF_API OTELPROF_MUST_CHECK int
otelprof_exporter_callback(struct otelprof *p,
			   const struct otelprof_callback_config *config);

/** Remove an exporter. Waits at most @timeout_ms (-1: no limit) for its queue. The rest
 * is given up, or stays in its spill_dir. Returns 0; -ENOENT for an unknown number; or,
 * removed too, -ETIMEDOUT if there was a rest, or the errno of its file. */
OTELPROF_API int otelprof_exporter_remove(struct otelprof *p, int exporter,
					  int timeout_ms);

/* What one exporter did. Another one may have delivered what this one dropped. */
struct otelprof_exporter_stats {
	size_t size;
	uint64_t samples_exported; /* accepted by its destination */
	uint64_t samples_pending;  /* in its queue or file */
	uint64_t samples_dropped;  /* by it */
	uint64_t samples_restored; /* from earlier runs, out of its spill_dir */
	uint64_t samples_spilled;  /* left there for the next run */
	uint64_t requests_sent;	   /* accepted by its destination */
	uint64_t bytes_sent;	   /* before compression */
};

OTELPROF_API void otelprof_exporter_stats_init(struct otelprof_exporter_stats *stats,
					       size_t size);

/** Fill @ret up to ret->size. Returns 0; -ENOENT for an unknown number; -EINVAL. */
OTELPROF_API int otelprof_get_exporter_stats(struct otelprof *p, int exporter,
					     struct otelprof_exporter_stats *ret);

OTELPROF_END_DECLS
#endif
