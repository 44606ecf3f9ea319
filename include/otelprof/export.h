/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where profiles go. Each call adds one exporter to a handle; each exporter has its own
 * bounded queue, so a slow one does not hold the others.
 */
#ifndef OTELPROF_EXPORT_H
#define OTELPROF_EXPORT_H

#include <stddef.h>
#include <stdint.h>

#include <otelprof/config.h>
#include <otelprof/macros.h>

OTELPROF_BEGIN_DECLS

struct otelprof;

/* otelprof_otlp_config.protocol */
#define OTELPROF_PROTOCOL_DEFAULT 0 /* OTEL_EXPORTER_OTLP_PROTOCOL, else gRPC */
#define OTELPROF_PROTOCOL_GRPC	  1
#define OTELPROF_PROTOCOL_HTTP	  2 /* HTTP/1.1 or HTTP/2, encoded as protobuf */

/* otelprof_otlp_config.compression */
#define OTELPROF_COMPRESSION_DEFAULT 0 /* OTEL_EXPORTER_OTLP_COMPRESSION, else gzip */
#define OTELPROF_COMPRESSION_NONE    1
#define OTELPROF_COMPRESSION_GZIP    2

/**
 * OTLP to a server. A field left at zero takes the value of the environment variable
 * OTEL_EXPORTER_OTLP_PROFILES_* or OTEL_EXPORTER_OTLP_*, then the default named here.
 * The library copies the struct and its strings.
 */
struct otelprof_otlp_config {
	size_t size;
	/* gRPC: "http://host:port", "https://…"; http://localhost:4317. HTTP:
	 * "https://host:port/base"; http://localhost:4318. "/v1development/profiles" is appended
	 * to it, but not to OTEL_EXPORTER_OTLP_PROFILES_ENDPOINT. */
	const char *endpoint;
	const char *ca_file;	      /* PEM; NULL: the system's roots */
	const char *client_cert_file; /* PEM, with client_key_file: mutual TLS */
	const char *client_key_file;
	const struct otelprof_attribute *headers; /* keys lower case */
	size_t headers_len;
	const char *spill_dir; /* keep what waits in files there, for the next run too */
	uint64_t spill_bytes;  /* of such files; 256 MiB; oldest dropped first */
	uint64_t queue_bytes; /* encoded requests waiting; 16 MiB; oldest dropped first */
	uint64_t max_request_bytes; /* before compression; 4,000,000 */
	uint32_t protocol;	    /* OTELPROF_PROTOCOL_* */
	uint32_t insecure;	    /* gRPC, 1: no TLS for an endpoint without a scheme */
	uint32_t compression;	    /* OTELPROF_COMPRESSION_* */
	uint32_t timeout_ms;	    /* one export, all its tries apart; 10,000 */
	uint32_t retry_initial_ms;  /* first back-off; 1,000 */
	uint32_t retry_max_ms;	    /* longest back-off; 30,000 */
	uint32_t retry_elapsed_ms;  /* give one request up after; 300,000, no end with a
				       spill_dir */
	uint32_t reserved0;
};

/** Set every field to its default. Any thread. Since 0.1. */
OTELPROF_API void otelprof_otlp_config_init(struct otelprof_otlp_config *config,
					    size_t size);

/* otelprof_file_config.format */
#define OTELPROF_FORMAT_OTLP   0 /* requests, each after its length: 4 bytes, big endian */
#define OTELPROF_FORMAT_PPROF  1 /* one gzip'ed pprof profile, by otelprof_flush() */
#define OTELPROF_FORMAT_FOLDED 2 /* "root;child;leaf count" lines, by otelprof_flush() */
#define OTELPROF_FORMAT_HTML   3 /* one page with a flame graph, by otelprof_flush() */

/* Profiles into a file, written under a temporary name and renamed when whole. */
struct otelprof_file_config {
	size_t size;
	const char *path;
	uint32_t format; /* OTELPROF_FORMAT_* */
	uint32_t reserved0;
};

/** Set every field to its default. Any thread. Since 0.1. */
OTELPROF_API void otelprof_file_config_init(struct otelprof_file_config *config,
					    size_t size);

/**
 * Takes one encoded ExportProfilesServiceRequest of @len bytes and @samples samples.
 * @request is valid during the call. Called inside otelprof_export() or
 * otelprof_set_rate().
 * Returns 0, or a negative errno: the samples are then counted as dropped.
 */
typedef int (*otelprof_request_fn)(void *userdata, const void *request, size_t len,
				   uint64_t samples);

struct otelprof_callback_config {
	size_t size;
	otelprof_request_fn fn;
	void *userdata;
	uint64_t max_request_bytes; /* 4,000,000 */
};

/** Set every field to its default. Any thread. Since 0.1. */
OTELPROF_API void otelprof_callback_config_init(struct otelprof_callback_config *config,
						size_t size);

/**
 * Add an exporter. Before or after otelprof_start(); it stays until
 * otelprof_exporter_remove() or otelprof_free().
 *
 * Return the exporter's number, 1 or more, which no other exporter of @p gets;
 * -EINVAL for a field out of its range (otelprof_last_error() names it);
 * -ENOMEM; -E2BIG for a field this library does not know; otelprof_exporter_otlp():
 * -OTELPROF_E_MODULE where the transport cannot be loaded, -EBUSY where another exporter uses
 * the spill_dir for this destination, the errno of making it; otelprof_exporter_file(): the
 * errno of creating the file. Any thread. Since 0.1.
 */
OTELPROF_API OTELPROF_MUST_CHECK int
otelprof_exporter_otlp(struct otelprof *p, const struct otelprof_otlp_config *config);
OTELPROF_API OTELPROF_MUST_CHECK int
otelprof_exporter_file(struct otelprof *p, const struct otelprof_file_config *config);
OTELPROF_API OTELPROF_MUST_CHECK int
otelprof_exporter_callback(struct otelprof *p,
			   const struct otelprof_callback_config *config);

/**
 * Take an exporter away, whose number @exporter is. Waits at most @timeout_ms (-1: without end)
 * until it delivered what it has; the rest is given up, or left in its spill_dir.
 *
 * Returns 0; -ETIMEDOUT where there was such a rest, and the errno of a file that could not be
 * completed: the exporter is gone then, too; -ENOENT where there is none of this number. Any
 * thread. Since 0.1.
 */
OTELPROF_API int otelprof_exporter_remove(struct otelprof *p, int exporter,
					  int timeout_ms);

/* What one exporter did. A sample that it dropped may have been taken by another one. */
struct otelprof_exporter_stats {
	size_t size;
	uint64_t samples_exported; /* its destination took them */
	uint64_t samples_pending;  /* in its queue or file */
	uint64_t samples_dropped;
	uint64_t samples_restored; /* of earlier runs, from its spill_dir */
	uint64_t samples_spilled;  /* left there for the next run */
	uint64_t requests_sent;
	uint64_t bytes_sent; /* before compression */
};

/** Zero it and set its size. Any thread. Since 0.1. */
OTELPROF_API void otelprof_exporter_stats_init(struct otelprof_exporter_stats *stats,
					       size_t size);

/**
 * Fill @ret up to ret->size for the exporter of number @exporter. Returns 0; -ENOENT where there
 * is none; -EINVAL for a NULL or short struct. Any thread. Since 0.1.
 */
OTELPROF_API int otelprof_get_exporter_stats(struct otelprof *p, int exporter,
					     struct otelprof_exporter_stats *ret);

OTELPROF_END_DECLS

#endif
