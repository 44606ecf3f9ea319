/* SPDX-License-Identifier: Apache-2.0 */
/* The gRPC exporter: settings, the transport module, and a delivery thread. */
#include "export/delivery.h"
#include "export/module.h"
#include "export/settings.h"
#include "export/sink.h"
#include "otelprof/version.h"

static const char user_agent[] = "OTel-OTLP-Exporter-C/" OTELPROF_VERSION " (otelprof)";

static int open_with(const struct op_sink *base, const struct op_settings *s,
		     struct op_sink **ret)
{
	struct op_transport_config config = {
		.target = s->endpoint.target,
		.user_agent = user_agent,
		.ca_pem = s->ca_pem,
		.client_cert_pem = s->client_cert_pem,
		.client_key_pem = s->client_key_pem,
		.headers = s->headers.data,
		.headers_len = s->headers.len,
		.tls = s->endpoint.tls,
		.gzip = s->gzip,
	};
	const struct op_transport_ops *ops = NULL;
	void *transport = NULL;
	int err;

	err = op_module_load(base->log, &ops);
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

int op_sink_new_grpc(const struct op_sink *base,
		     const struct otelprof_grpc_config *config, struct op_sink **ret)
{
	struct op_settings settings;
	int err;

	err = op_settings_init(&settings, config, base->log);
	if (err < 0)
		return err;
	err = open_with(base, &settings, ret);
	op_settings_deinit(&settings);
	return err;
}
