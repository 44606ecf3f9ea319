/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where profiles go. Each call adds one exporter to a handle; each exporter has its own
 * bounded queue, so a slow one does not hold the others.
 */
#ifndef OTELPROF_EXPORT_H
#define OTELPROF_EXPORT_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <otelprof/config.h>
#include <otelprof/macros.h>

OTELPROF_BEGIN_DECLS

struct otelprof;

/* otelprof_grpc_config.compression, otelprof_http_config.compression */
#define OTELPROF_COMPRESSION_DEFAULT 0 /* OTEL_EXPORTER_OTLP_COMPRESSION, else gzip */
#define OTELPROF_COMPRESSION_NONE    1
#define OTELPROF_COMPRESSION_GZIP    2

/**
 * OTLP over gRPC. A field left at zero takes the value of the environment variable
 * OTEL_EXPORTER_OTLP_PROFILES_* or OTEL_EXPORTER_OTLP_*, then the default named here.
 * The library copies the struct and its strings.
 */
struct otelprof_grpc_config {
	size_t size;
	const char *endpoint; /* "http://host:port", "https://…"; http://localhost:4317 */
	const char *ca_file;	      /* PEM; NULL: the system's roots */
	const char *client_cert_file; /* PEM, with client_key_file: mutual TLS */
	const char *client_key_file;
	const struct otelprof_attribute *headers; /* sent as metadata; keys lower case */
	size_t headers_len;
	uint32_t insecure;	   /* 1: no TLS for an endpoint without a scheme */
	uint32_t compression;	   /* OTELPROF_COMPRESSION_* */
	uint32_t timeout_ms;	   /* one export, all its tries apart; 10,000 */
	uint32_t retry_initial_ms; /* first back-off; 1,000 */
	uint32_t retry_max_ms;	   /* longest back-off; 30,000 */
	uint32_t retry_elapsed_ms; /* give one request up after; 300,000, no end with a
				      spill_dir */
	uint64_t queue_bytes; /* encoded requests waiting; 16 MiB; oldest dropped first */
	uint64_t max_request_bytes; /* before compression; 4,000,000 */
	const char *spill_dir; /* keep what waits in files there, for the next run too */
	uint64_t spill_bytes;  /* of such files; 256 MiB; oldest dropped first */
};

static inline void otelprof_grpc_config_init(struct otelprof_grpc_config *config)
{
	memset(config, 0, sizeof(*config));
	config->size = sizeof(*config);
}

/**
 * OTLP over HTTP, encoded as protobuf. A field left at zero takes the value of the
 * environment variable OTEL_EXPORTER_OTLP_PROFILES_* or OTEL_EXPORTER_OTLP_*, then the
 * default named here. The library copies the struct and its strings.
 */
struct otelprof_http_config {
	size_t size;
	const char *endpoint; /* "https://host:port/base"; http://localhost:4318. Gets
				 "/v1development/profiles" appended; the variable
				 OTEL_EXPORTER_OTLP_PROFILES_ENDPOINT alone does not */
	const char *ca_file;  /* PEM; NULL: the system's roots */
	const char *client_cert_file; /* PEM, with client_key_file: mutual TLS */
	const char *client_key_file;
	const struct otelprof_attribute *headers;
	size_t headers_len;
	uint32_t compression;	   /* OTELPROF_COMPRESSION_* */
	uint32_t timeout_ms;	   /* one export, all its tries apart; 10,000 */
	uint32_t retry_initial_ms; /* first back-off; 1,000 */
	uint32_t retry_max_ms;	   /* longest back-off; 30,000 */
	uint32_t retry_elapsed_ms; /* as of struct otelprof_grpc_config, like all below */
	uint32_t reserved0;
	uint64_t queue_bytes;
	uint64_t max_request_bytes;
	const char *spill_dir;
	uint64_t spill_bytes;
};

static inline void otelprof_http_config_init(struct otelprof_http_config *config)
{
	memset(config, 0, sizeof(*config));
	config->size = sizeof(*config);
}

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

static inline void otelprof_file_config_init(struct otelprof_file_config *config)
{
	memset(config, 0, sizeof(*config));
	config->size = sizeof(*config);
}

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

static inline void otelprof_callback_config_init(struct otelprof_callback_config *config)
{
	memset(config, 0, sizeof(*config));
	config->size = sizeof(*config);
}

/**
 * Add an exporter. Before or after otelprof_start(); it stays until otelprof_free().
 *
 * Return 0; -EINVAL for a field out of its range (otelprof_last_error() names it);
 * -ENOMEM; -E2BIG for a field this library does not know; otelprof_exporter_grpc() and
 * otelprof_exporter_http(): -OTELPROF_E_MODULE where the transport cannot be loaded, -EBUSY
 * where another exporter uses the spill_dir for this destination, the errno of making it;
 * otelprof_exporter_file(): the errno of creating the file. Same thread as the other calls on @p. Since 0.1.
 */
OTELPROF_API OTELPROF_MUST_CHECK int
otelprof_exporter_grpc(struct otelprof *p, const struct otelprof_grpc_config *config);
OTELPROF_API OTELPROF_MUST_CHECK int
otelprof_exporter_http(struct otelprof *p, const struct otelprof_http_config *config);
OTELPROF_API OTELPROF_MUST_CHECK int
otelprof_exporter_file(struct otelprof *p, const struct otelprof_file_config *config);
OTELPROF_API OTELPROF_MUST_CHECK int
otelprof_exporter_callback(struct otelprof *p,
			   const struct otelprof_callback_config *config);

OTELPROF_END_DECLS

#endif
