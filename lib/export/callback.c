/* SPDX-License-Identifier: Apache-2.0 */
/* The exporter that hands each request to a function of the host program. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "export/sinks.h"

struct op_callback {
	struct op_sink sink;
	otelprof_request_fn fn;
	void *userdata;
};

static void callback_submit(struct op_sink *s, struct op_request *request)
{
	struct op_callback *c = op_container_of(s, struct op_callback, sink);
	int r;

	/* @request->bytes stay valid while this exporter is a reader, so no lock is needed. */
	r = c->fn(c->userdata, request->bytes, request->len, request->samples);
	if (r < 0)
		op_log(s->log, OP_LOG_DEBUG, "export: callback: it returned %d", r);
	op_request_settle(&s->account, request,
			  r < 0 ? OP_DROP_EXPORTER : OP_FATE_EXPORTED);
}

static int callback_flush(struct op_sink *s, uint64_t deadline_ns)
{
	return 0;
}

static void callback_free(struct op_sink *s)
{
	free(op_container_of(s, struct op_callback, sink));
}

static const struct op_sink_ops callback_ops = {
	.submit = callback_submit,
	.flush = callback_flush,
	.free = callback_free,
};

int op_sink_new_callback(const struct op_sink *base,
			 const struct otelprof_callback_config *config,
			 struct op_sink **ret)
{
	struct op_callback *c;

	if (!config->fn)
		return op_fail(base->log, -EINVAL, "callback exporter: fn is NULL");
	if (config->max_request_bytes > OP_REQUEST_BYTES_MAX)
		return op_fail(base->log, -EINVAL,
			       "callback exporter: max_request_bytes is above 64 MiB");
	if (config->max_request_bytes && config->max_request_bytes < OP_REQUEST_BYTES_MIN)
		return op_fail(base->log, -EINVAL,
			       "callback exporter: max_request_bytes is below 64 KiB");
	c = calloc(1, sizeof(*c));
	if (!c)
		return -ENOMEM;
	c->sink = *base;
	c->sink.ops = &callback_ops;
	c->sink.max_request = config->max_request_bytes ?: OP_REQUEST_BYTES_DEFAULT;
	c->fn = config->fn;
	c->userdata = config->userdata;
	*ret = &c->sink;
	return 0;
}
