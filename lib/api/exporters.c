/* SPDX-License-Identifier: Apache-2.0 */
/* The public calls that add exporters: copy and check, then lib/export. */
#include <errno.h>

#include "api/config.h"
#include "api/handle.h"

static int check_otlp(struct op_log *log, uint32_t compression, const void *headers,
		      size_t headers_len)
{
	if (compression > OTELPROF_COMPRESSION_GZIP)
		return op_fail(log, -EINVAL, "compression %u is not known", compression);
	if (headers_len && !headers)
		return op_fail(log, -EINVAL, "headers is NULL with headers_len set");
	return 0;
}

int otelprof_exporter_grpc(struct otelprof *p, const struct otelprof_grpc_config *config)
{
	struct otelprof_grpc_config copy;
	struct otelprof_grpc_config defaults;
	int r = op_handle_check(p);

	if (r < 0)
		return r;
	otelprof_grpc_config_init(&defaults);
	r = op_config_copy(
		&copy, sizeof(copy), config ? config : &defaults,
		OP_CONFIG_THROUGH(struct otelprof_grpc_config, max_request_bytes),
		&p->log, "struct otelprof_grpc_config");
	if (r == 0)
		r = check_otlp(&p->log, copy.compression, copy.headers, copy.headers_len);
	return r < 0 ? r : op_exporters_add_grpc(p->exporters, &copy);
}

int otelprof_exporter_http(struct otelprof *p, const struct otelprof_http_config *config)
{
	struct otelprof_http_config copy;
	struct otelprof_http_config defaults;
	int r = op_handle_check(p);

	if (r < 0)
		return r;
	otelprof_http_config_init(&defaults);
	r = op_config_copy(&copy, sizeof(copy), config ? config : &defaults,
			   OP_CONFIG_THROUGH(struct otelprof_http_config, spill_bytes),
			   &p->log, "struct otelprof_http_config");
	if (r == 0 && copy.reserved0)
		r = op_fail(&p->log, -E2BIG,
			    "struct otelprof_http_config: reserved0 must be 0");
	if (r == 0)
		r = check_otlp(&p->log, copy.compression, copy.headers, copy.headers_len);
	return r < 0 ? r : op_exporters_add_http(p->exporters, &copy);
}

int otelprof_exporter_file(struct otelprof *p, const struct otelprof_file_config *config)
{
	struct otelprof_file_config copy;
	int r = op_handle_check(p);

	if (r < 0)
		return r;
	if (!config)
		return op_fail(&p->log, -EINVAL,
			       "otelprof_exporter_file: config is NULL");
	r = op_config_copy(&copy, sizeof(copy), config,
			   OP_CONFIG_THROUGH(struct otelprof_file_config, reserved0),
			   &p->log, "struct otelprof_file_config");
	if (r < 0)
		return r;
	if (!copy.path || !*copy.path)
		return op_fail(&p->log, -EINVAL, "otelprof_exporter_file: path is empty");
	if (copy.format > OTELPROF_FORMAT_HTML)
		return op_fail(&p->log, -EINVAL, "file format %u is not known",
			       copy.format);
	return op_exporters_add_file(p->exporters, &copy);
}

int otelprof_exporter_callback(struct otelprof *p,
			       const struct otelprof_callback_config *config)
{
	struct otelprof_callback_config copy;
	int r = op_handle_check(p);

	if (r < 0)
		return r;
	if (!config)
		return op_fail(&p->log, -EINVAL,
			       "otelprof_exporter_callback: config is NULL");
	r = op_config_copy(
		&copy, sizeof(copy), config,
		OP_CONFIG_THROUGH(struct otelprof_callback_config, max_request_bytes),
		&p->log, "struct otelprof_callback_config");
	if (r < 0)
		return r;
	if (!copy.fn)
		return op_fail(&p->log, -EINVAL,
			       "otelprof_exporter_callback: fn is NULL");
	return op_exporters_add_callback(p->exporters, &copy);
}
