/* SPDX-License-Identifier: Apache-2.0 */
#include "rig.h"

static void keep_line(void *userdata, int level, const char *message)
{
	struct lines *l = userdata;

	if (l->len < LINES_MAX)
		(void)snprintf(l->text[l->len++], LINE_BYTES, "%s", message);
}

bool said(const struct rig *g, const char *word)
{
	size_t i;

	for (i = 0; i < g->lines.len; i++) {
		if (strstr(g->lines.text[i], word))
			return true;
	}
	return false;
}

void rig_init(struct rig *g, const char *scheme, const char *host, int port)
{
	memset(g, 0, sizeof(*g));
	g->log = (struct op_log){ .fn = keep_line, .userdata = &g->lines, .level = 6 };
	CHECK_OK(op_exporters_new(&g->log, &g->x));
	otelprof_otlp_config_init(&g->config, sizeof(g->config));
	(void)snprintf(g->endpoint, sizeof(g->endpoint), "%s%s:%d", scheme, host, port);
	g->config.endpoint = g->endpoint;
	g->config.timeout_ms = 5000;
	g->config.retry_initial_ms = 10;
	g->config.retry_max_ms = 100;
	g->config.retry_elapsed_ms = 10000;
	g->config.queue_bytes = QUEUE_BYTES;
}

void rig_add_grpc(struct rig *g)
{
	g->config.protocol = OTELPROF_PROTOCOL_GRPC;
	CHECK_OK(op_exporters_add_otlp(g->x, &g->config));
}

void rig_add_http(struct rig *g)
{
	g->config.protocol = OTELPROF_PROTOCOL_HTTP;
	CHECK_OK(op_exporters_add_otlp(g->x, &g->config));
}

void submit(struct rig *g, const char *text, uint64_t samples)
{
	char *bytes = strdup(text);

	CHECK(bytes);
	CHECK_OK(op_exporters_submit(g->x, bytes, strlen(text), samples));
}

int flush(struct rig *g, int ms)
{
	int err = op_exporters_flush(g->x, 0, ms);

	op_exporters_get_stats(g->x, &g->stats);
	return err;
}

void rig_down(struct rig *g)
{
	g->x = op_exporters_free(g->x);
	op_log_deinit(&g->log);
}

struct server start(const char *a, const char *b, const char *c, const char *d)
{
	const char *const steps[] = { a, b, c, d, NULL };

	return server_start(0, NULL, steps);
}

void check_line(struct server *s, const char *word)
{
	const char *line = server_line(s);

	if (!line || !strstr(line, word))
		TEST_FAIL("the server said \"%s\", not %s", line ? line : "(nothing)",
			  word);
}
