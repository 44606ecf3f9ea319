/* SPDX-License-Identifier: Apache-2.0 */
/* Makes an OTLP exporter, gRPC or HTTP, of settings, a transport and a
 * delivery thread. */
#include "export/queue/delivery.h"
#include "export/queue/export_settings.h"
#include "export/sinks.h"
#include "export/transport/transport.h"
#include "otelprof/version.h"

static const char user_agent[] = "OTel-OTLP-Exporter-C/" OTELPROF_VERSION " (otelprof)";

static int open_with(const struct op_sink *base, const char *module,
		     struct op_export_settings *s, struct op_sink **ret)
{
	struct op_transport_config config = {
		.target = s->endpoint.target,
		.url = s->endpoint.url,
		.socket = s->endpoint.socket,
		.user_agent = user_agent,
		.certs = op_certs_get(&s->certs),
		.headers = s->headers.data,
		.headers_len = s->headers.len,
		.tls = s->endpoint.tls,
		.compression = s->compression,
	};
	const struct op_transport_ops *ops = NULL;
	void *transport = NULL;
	int r;

	r = op_module_load(module, base->log, &ops);
	if (r < 0)
		return r;
	r = ops->open(&config, base->log, &transport);
	if (r < 0)
		return r;
	r = op_delivery_new(base, s, ops, transport, ret);
	if (r < 0)
		ops->close(transport);
	return r;
}

int op_sink_new_otlp(const struct op_sink *base,
		     const struct otelprof_otlp_config *config, struct op_sink **ret)
{
	struct op_export_settings settings;
	int r;

	r = op_export_settings_init(&settings, config, base->log);
	if (r < 0)
		return r;
	r = open_with(base, settings.protocol == OP_PROTOCOL_HTTP ? "http" : "grpc",
		      &settings, ret);
	op_export_settings_deinit(&settings);
	return r;
}
