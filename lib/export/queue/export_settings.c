/* SPDX-License-Identifier: Apache-2.0 */
/* Reads and checks the settings of an OTLP exporter, one group after the other. */
#include "export/queue/export_settings.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "export/sink/sink.h"
#include "export/spill/spill_file.h"
#include "export/transport/env.h"

/* The defaults that otelprof/export.h names. */
enum {
	DEFAULT_TIMEOUT_MS = 10000,
	DEFAULT_RETRY_INITIAL_MS = 1000,
	DEFAULT_RETRY_MAX_MS = 30000,
	DEFAULT_RETRY_ELAPSED_MS = 300000,
	DEFAULT_QUEUE_BYTES = 16 << 20,
	DEFAULT_SPILL_BYTES = 256 << 20,
};

static const char default_endpoint[] = "http://localhost:4317";
static const char default_http_endpoint[] = "http://localhost:4318";

static int take_insecure(void *data, struct op_env_value v, struct op_log *log)
{
	bool *ret = data;

	*ret = strcasecmp(v.text, "true") == 0;
	if (!*ret && strcasecmp(v.text, "false") != 0)
		return op_fail(log, -EINVAL, "%s: \"%.64s\" is not true or false", v.from,
			       v.text);
	return 0;
}

static int read_insecure(const struct otelprof_otlp_config *config, struct op_log *log,
			 bool *ret)
{
	*ret = config->insecure;
	if (config->insecure > 1)
		return op_fail(log, -EINVAL, "insecure: %u is not 0 or 1",
			       config->insecure);
	return config->insecure ? 0
				: op_env_take(OP_ENV_INSECURE, take_insecure, ret, log);
}

static int take_protocol(void *data, struct op_env_value v, struct op_log *log)
{
	struct op_export_settings *s = data;

	if (strcmp(v.text, "grpc") == 0)
		s->protocol = OP_PROTOCOL_GRPC;
	else if (strcmp(v.text, "http/protobuf") == 0)
		s->protocol = OP_PROTOCOL_HTTP;
	else
		return op_fail(log, -EINVAL, "%s: \"%.64s\" is not grpc or http/protobuf",
			       v.from, v.text);
	return 0;
}

/* Read the protocol. The default is gRPC, because OTLP profiles began with it. */
static int read_protocol(struct op_export_settings *s,
			 const struct otelprof_otlp_config *config, struct op_log *log)
{
	if (config->protocol > OTELPROF_PROTOCOL_HTTP)
		return op_fail(log, -EINVAL, "protocol: %u is unknown", config->protocol);
	s->protocol = config->protocol == OTELPROF_PROTOCOL_HTTP ? OP_PROTOCOL_HTTP
								 : OP_PROTOCOL_GRPC;
	if (config->protocol != OTELPROF_PROTOCOL_DEFAULT)
		return 0;
	return op_env_take(OP_ENV_PROTOCOL, take_protocol, s, log);
}

/* The destination of endpoints that are read. */
struct endpoint_reading {
	struct op_export_settings *s;
	bool insecure;
};

static int take_endpoint(void *data, struct op_env_value v, struct op_log *log)
{
	struct endpoint_reading *e = data;
	struct op_endpoint *to = &e->s->endpoint;

	/* The variable of the profiles signal is a whole URL; any other is a base to which the
	 * path is added. */
	return e->s->protocol == OP_PROTOCOL_HTTP
		       ? op_endpoint_parse_http(v.text, op_env_is_specific(v), v.from,
						log, to)
		       : op_endpoint_parse(v.text, e->insecure, v.from, log, to);
}

static int read_endpoint(struct op_export_settings *s,
			 const struct otelprof_otlp_config *config, struct op_log *log)
{
	bool http = s->protocol == OP_PROTOCOL_HTTP;
	struct endpoint_reading e = { .s = s };
	struct op_env_value v = { config->endpoint, "endpoint" };
	int r = http ? 0 : read_insecure(config, log, &e.insecure);

	if (r == 0 && (!v.text || !*v.text)) {
		v.text = http ? default_http_endpoint : default_endpoint;
		r = op_env_take(OP_ENV_ENDPOINT, take_endpoint, &e, log);
	}
	if (r == 0 && !s->endpoint.target)
		r = take_endpoint(&e, v, log);
	if (r == 0 && !http && s->endpoint.has_path)
		op_log(log, OP_LOG_WARNING,
		       "endpoint: gRPC has no path: what follows %s is ignored",
		       s->endpoint.target);
	return r;
}

static int read_certificates(struct op_export_settings *s,
			     const struct otelprof_otlp_config *config,
			     struct op_log *log)
{
	return op_certs_init(&s->certs, config, s->endpoint.tls, s->endpoint.target, log);
}

static int read_headers(struct op_export_settings *s,
			const struct otelprof_otlp_config *config, struct op_log *log)
{
	struct op_env_value v = config->headers_len ? (struct op_env_value){ 0 }
						    : op_env_get(OP_ENV_HEADERS);
	size_t i;
	int r;

	for (i = 0; i < config->headers_len; i++) {
		r = op_headers_add(&s->headers, config->headers[i].key,
				   config->headers[i].value, "headers", log);
		if (r < 0)
			return r;
	}
	return v.text ? op_headers_parse(&s->headers, v.text, v.from, log) : 0;
}

static int check_compression(const struct op_export_settings *s, const char *from,
			     struct op_log *log)
{
	if (s->compression == OP_COMPRESSION_ZSTD && s->protocol != OP_PROTOCOL_HTTP)
		return op_fail(log, -EINVAL,
			       "%s: gRPC does not support zstd: write gzip, or set "
			       "protocol to http/protobuf",
			       from);
	return 0;
}

static int take_compression(void *data, struct op_env_value v, struct op_log *log)
{
	struct op_export_settings *s = data;
	enum op_compression before = s->compression;
	int r;

	if (strcmp(v.text, "gzip") == 0)
		s->compression = OP_COMPRESSION_GZIP;
	else if (strcmp(v.text, "none") == 0)
		s->compression = OP_COMPRESSION_NONE;
	else if (strcmp(v.text, "zstd") == 0)
		s->compression = OP_COMPRESSION_ZSTD;
	else
		return op_fail(log, -EINVAL, "%s: \"%.64s\" is not gzip, zstd or none",
			       v.from, v.text);
	r = check_compression(s, v.from, log);
	if (r < 0)
		s->compression = before;
	return r;
}

static int read_compression(struct op_export_settings *s,
			    const struct otelprof_otlp_config *config, struct op_log *log)
{
	static const enum op_compression given[] = {
		[OTELPROF_COMPRESSION_DEFAULT] = OP_COMPRESSION_GZIP,
		[OTELPROF_COMPRESSION_NONE] = OP_COMPRESSION_NONE,
		[OTELPROF_COMPRESSION_GZIP] = OP_COMPRESSION_GZIP,
		[OTELPROF_COMPRESSION_ZSTD] = OP_COMPRESSION_ZSTD,
	};

	if (config->compression >= OP_ARRAY_SIZE(given))
		return op_fail(log, -EINVAL, "compression: %u is unknown",
			       config->compression);
	s->compression = given[config->compression];
	if (config->compression != OTELPROF_COMPRESSION_DEFAULT)
		return check_compression(s, "compression", log);
	return op_env_take(OP_ENV_COMPRESSION, take_compression, s, log);
}

static int take_timeout(void *data, struct op_env_value v, struct op_log *log)
{
	struct op_export_settings *s = data;
	char *end = NULL;
	unsigned long n;

	errno = 0;
	n = strtoul(v.text, &end, 10);
	if (errno || *end || v.text[0] < '0' || v.text[0] > '9' || !n || n > INT32_MAX)
		return op_fail(log, -EINVAL,
			       "%s: \"%.64s\" is not a number of milliseconds above 0",
			       v.from, v.text);
	s->timeout_ms = (uint32_t)n;
	return 0;
}

static int read_timeout(struct op_export_settings *s,
			const struct otelprof_otlp_config *config, struct op_log *log)
{
	s->timeout_ms = config->timeout_ms ?: DEFAULT_TIMEOUT_MS;
	return config->timeout_ms ? 0 : op_env_take(OP_ENV_TIMEOUT, take_timeout, s, log);
}

/* A limit of waiting requests, @given or by default, must hold the largest request. If
 * the user set only one of them, the other one follows. */
static int fit_request(struct op_export_settings *s, uint64_t request_given,
		       const char *name, uint64_t given, uint64_t *limit, uint64_t header,
		       struct op_log *log)
{
	if (*limit >= s->max_request + header)
		return 0;
	if (given && (request_given || given < OP_REQUEST_BYTES_MIN + header))
		return op_fail(
			log, -EINVAL,
			"%s: %llu is less than one request may have: %s%llu", name,
			(unsigned long long)given,
			request_given ? "max_request_bytes is " : "at least ",
			(unsigned long long)((request_given ?: OP_REQUEST_BYTES_MIN) +
					     header));
	if (given)
		s->max_request = given - header;
	else
		*limit = s->max_request + header;
	return 0;
}

static int read_sizes(struct op_export_settings *s,
		      const struct otelprof_otlp_config *config, struct op_log *log)
{
	uint64_t request = config->max_request_bytes;
	int r;

	s->queue_bytes = config->queue_bytes ?: DEFAULT_QUEUE_BYTES;
	s->spill_bytes = config->spill_bytes ?: DEFAULT_SPILL_BYTES;
	s->max_request = request ?: OP_REQUEST_BYTES_DEFAULT;
	if (s->max_request > OP_REQUEST_BYTES_MAX)
		return op_fail(log, -EINVAL,
			       "max_request_bytes: the value is above 64 MiB");
	if (s->max_request < OP_REQUEST_BYTES_MIN)
		return op_fail(log, -EINVAL,
			       "max_request_bytes: the value is below 64 KiB");
	r = fit_request(s, request, "queue_bytes", config->queue_bytes, &s->queue_bytes,
			0, log);
	if (r == 0 && s->spill_dir)
		r = fit_request(s, request, "spill_bytes", config->spill_bytes,
				&s->spill_bytes, OP_SPILL_HEADER_BYTES, log);
	return r;
}

static int read_retries(struct op_export_settings *s,
			const struct otelprof_otlp_config *config, struct op_log *log)
{
	s->retry_initial_ms = config->retry_initial_ms ?: DEFAULT_RETRY_INITIAL_MS;
	s->retry_max_ms = config->retry_max_ms ?: DEFAULT_RETRY_MAX_MS;
	s->retry_elapsed_ms = config->retry_elapsed_ms;
	/* With a spill directory requests wait until the directory is full. */
	if (!s->retry_elapsed_ms && !s->spill_dir)
		s->retry_elapsed_ms = DEFAULT_RETRY_ELAPSED_MS;
	if (s->retry_initial_ms > s->retry_max_ms) {
		if (config->retry_initial_ms && config->retry_max_ms)
			return op_fail(log, -EINVAL,
				       "retry_initial_ms: %u is above retry_max_ms %u",
				       s->retry_initial_ms, s->retry_max_ms);
		/* One of the two is a default: the user's value wins. */
		if (config->retry_max_ms)
			s->retry_initial_ms = s->retry_max_ms;
		else
			s->retry_max_ms = s->retry_initial_ms;
	}
	return 0;
}

static int read_spill(struct op_export_settings *s,
		      const struct otelprof_otlp_config *config, struct op_log *log)
{
	(void)log;
	if (!config->spill_dir || !*config->spill_dir)
		return 0;
	s->spill_dir = strdup(config->spill_dir);
	return s->spill_dir ? 0 : -ENOMEM;
}

/* Warn of secrets sent in plain text, which anyone on the way can read. Traffic within
 * the machine is exempt. */
static void warn_of_headers(const struct op_export_settings *s, struct op_log *log)
{
	static const char *const here[] = { "localhost:", "127.", "[::1]:" };
	size_t i;

	if (!s->headers.len || s->endpoint.tls || s->endpoint.socket)
		return;
	for (i = 0; i < OP_ARRAY_SIZE(here); i++)
		if (!strncmp(s->endpoint.target, here[i], strlen(here[i])))
			return;
	op_log(log, OP_LOG_WARNING,
	       "headers: they are sent to %s without TLS, so anybody on the way can read "
	       "them; use an endpoint with https",
	       s->endpoint.target);
}

int op_export_settings_init(struct op_export_settings *s,
			    const struct otelprof_otlp_config *config, struct op_log *log)
{
	int (*const steps[])(struct op_export_settings *,
			     const struct otelprof_otlp_config *, struct op_log *) = {
		read_protocol, read_endpoint,	 read_certificates,
		read_headers,  read_compression, read_timeout,
		read_spill,    read_sizes,	 read_retries,
	};
	struct op_export_settings made = { 0 };
	size_t i;
	int r;

	for (i = 0; i < OP_ARRAY_SIZE(steps); i++) {
		r = steps[i](&made, config, log);
		if (r < 0) {
			op_export_settings_deinit(&made);
			return r;
		}
	}
	warn_of_headers(&made, log);
	*s = made;
	return 0;
}

void op_export_settings_deinit(struct op_export_settings *s)
{
	op_certs_deinit(&s->certs);
	op_freep(&s->spill_dir);
	op_endpoint_deinit(&s->endpoint);
	op_headers_deinit(&s->headers);
}
