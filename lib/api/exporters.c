/* SPDX-License-Identifier: Apache-2.0 */
/* The public calls about exporters: they copy and check the configuration and call
 * lib/export. */
#include <errno.h>

#include "api/handle.h"
#include "api/settings/config.h"

static int check_otlp(struct op_log *log, const struct otelprof_otlp_config *c)
{
	if (c->reserved0)
		return op_fail(log, -E2BIG,
			       "struct otelprof_otlp_config: reserved0 must be 0");
	if (c->protocol > OTELPROF_PROTOCOL_HTTP)
		return op_fail(log, -E2BIG, "protocol %u is not known", c->protocol);
	if (c->compression > OTELPROF_COMPRESSION_ZSTD)
		return op_fail(log, -E2BIG, "compression %u is not known",
			       c->compression);
	if (c->headers_len && !c->headers)
		return op_fail(log, -EINVAL, "headers is NULL with headers_len set");
	return 0;
}

int otelprof_exporter_otlp(struct otelprof *p, const struct otelprof_otlp_config *config)
{
	_cleanup_leave_ struct otelprof *held = NULL;
	struct otelprof_otlp_config copy;
	struct otelprof_otlp_config defaults;
	int r = op_handle_enter(p, &held);

	if (r < 0)
		return r;
	otelprof_otlp_config_init(&defaults, sizeof(defaults));
	r = op_config_copy(&copy, sizeof(copy), config ? config : &defaults,
			   OP_CONFIG_THROUGH(struct otelprof_otlp_config, reserved0),
			   &p->log, "struct otelprof_otlp_config");
	if (r == 0)
		r = check_otlp(&p->log, &copy);
	return r < 0 ? r : op_exporters_add_otlp(p->exporters, &copy);
}

int otelprof_exporter_file(struct otelprof *p, const struct otelprof_file_config *config)
{
	_cleanup_leave_ struct otelprof *held = NULL;
	struct otelprof_file_config copy;
	int r = op_handle_enter(p, &held);

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
		return op_fail(&p->log, -E2BIG, "file format %u is not known",
			       copy.format);
	if (copy.reserved0)
		return op_fail(&p->log, -E2BIG,
			       "struct otelprof_file_config: reserved0 must be 0");
	return op_exporters_add_file(p->exporters, &copy);
}

int otelprof_exporter_callback(struct otelprof *p,
			       const struct otelprof_callback_config *config)
{
	_cleanup_leave_ struct otelprof *held = NULL;
	struct otelprof_callback_config copy;
	int r = op_handle_enter(p, &held);

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

int otelprof_exporter_remove(struct otelprof *p, int exporter, int timeout_ms)
{
	_cleanup_leave_ struct otelprof *held = NULL;
	int r = op_handle_check(p);
	int flushed;

	if (r < 0)
		return r;
	flushed = exporter > 0 ? op_handle_flush(p, (uint32_t)exporter, timeout_ms)
			       : -ENOENT;
	r = op_handle_enter(p, &held);
	if (r < 0)
		return r;
	if (flushed != -ENOENT)
		r = op_exporters_remove(p->exporters, (uint32_t)exporter);
	if (flushed == -ENOENT || r == -ENOENT)
		return op_fail(&p->log, -ENOENT, "there is no exporter %d", exporter);
	return flushed;
}

int otelprof_get_exporter_stats(struct otelprof *p, int exporter,
				struct otelprof_exporter_stats *ret)
{
	_cleanup_leave_ struct otelprof *held = NULL;
	struct otelprof_exporter_stats s = { 0 };
	struct op_account_stats a;
	int r = op_handle_enter(p, &held);

	if (r < 0)
		return r;
	r = exporter > 0 ? op_exporters_get_one(p->exporters, (uint32_t)exporter, &a)
			 : -ENOENT;
	if (r < 0)
		return op_fail(&p->log, r, "there is no exporter %d", exporter);
	s.samples_exported = a.samples_exported;
	s.samples_pending = a.samples_pending;
	s.samples_dropped = a.samples_dropped;
	s.samples_restored = a.samples_restored;
	s.samples_spilled = a.samples_spilled;
	s.requests_sent = a.requests_sent;
	s.bytes_sent = a.bytes_sent;
	return op_config_give(
		ret, &s, sizeof(s),
		OP_CONFIG_THROUGH(struct otelprof_exporter_stats, bytes_sent));
}
