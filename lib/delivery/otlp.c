/* SPDX-License-Identifier: Apache-2.0 */
/* The OTLP exporters, gRPC and HTTP: settings, a transport module, a delivery thread. */
#include "delivery/delivery.h"
#include "delivery/settings.h"
#include "export/sink.h"
#include "otelprof/version.h"
#include "transport/module.h"

static const char user_agent[] = "OTel-OTLP-Exporter-C/" OTELPROF_VERSION " (otelprof)";

static int open_with(const struct op_sink *base, const char *module,
		     struct op_settings *s, struct op_sink **ret)
{
	struct op_transport_config config = {
		.target = s->endpoint.target,
		.url = s->endpoint.url,
		.user_agent = user_agent,
		.certs = op_certs_get(&s->certs),
		.headers = s->headers.data,
		.headers_len = s->headers.len,
		.tls = s->endpoint.tls,
		.gzip = s->gzip,
	};
	const struct op_transport_ops *ops = NULL;
	void *transport = NULL;
	int err;

	err = op_module_load(module, base->log, &ops);
	if (err < 0)
		return err;
	err = ops->open(&config, base->log, &transport);
	if (err < 0)
		return err;
	err = op_delivery_new(base, s, ops, transport, ret);
	if (err < 0)
		ops->close(transport);
	return err;
}

static int new_sink(const struct op_sink *base, enum op_protocol protocol,
		    const struct otelprof_grpc_config *config, struct op_sink **ret)
{
	struct op_settings settings;
	int err;

	err = op_settings_init(&settings, protocol, config, base->log);
	if (err < 0)
		return err;
	err = open_with(base, protocol == OP_PROTOCOL_HTTP ? "http" : "grpc", &settings,
			ret);
	op_settings_deinit(&settings);
	return err;
}

int op_sink_new_grpc(const struct op_sink *base,
		     const struct otelprof_grpc_config *config, struct op_sink **ret)
{
	return new_sink(base, OP_PROTOCOL_GRPC, config, ret);
}

int op_sink_new_http(const struct op_sink *base,
		     const struct otelprof_http_config *config, struct op_sink **ret)
{
	const struct otelprof_grpc_config common = {
		.size = sizeof(common),
		.endpoint = config->endpoint,
		.ca_file = config->ca_file,
		.client_cert_file = config->client_cert_file,
		.client_key_file = config->client_key_file,
		.headers = config->headers,
		.headers_len = config->headers_len,
		.compression = config->compression,
		.timeout_ms = config->timeout_ms,
		.retry_initial_ms = config->retry_initial_ms,
		.retry_max_ms = config->retry_max_ms,
		.retry_elapsed_ms = config->retry_elapsed_ms,
		.queue_bytes = config->queue_bytes,
		.max_request_bytes = config->max_request_bytes,
		.spill_dir = config->spill_dir,
		.spill_bytes = config->spill_bytes,
	};

	return new_sink(base, OP_PROTOCOL_HTTP, &common, ret);
}
