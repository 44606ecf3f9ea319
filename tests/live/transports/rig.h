/* SPDX-License-Identifier: Apache-2.0 */
/* The exporters of a handle, for tests against real servers. */
#ifndef TESTS_EXPORT_RIG_H
#define TESTS_EXPORT_RIG_H

#include "test.h"

#include "export/exporter.h"
#include "process.h"

enum {
	LINES_MAX = 64,
	LINE_BYTES = 512,
	QUEUE_BYTES = 1 << 20,
};

/* What the library logged. */
struct lines {
	size_t len;
	char text[LINES_MAX][LINE_BYTES];
};

/* A handle's exporters, and the fields of the next one to add. */
struct rig {
	struct lines lines;
	struct op_log log;
	struct op_exporters *x;
	struct op_exporters_stats stats;
	char endpoint[64];
	struct otelprof_otlp_config config;
};

bool said(const struct rig *g, const char *word);
void rig_init(struct rig *g, const char *scheme, const char *host, int port);
/* Add an exporter with the fields of the rig. */
void rig_add_grpc(struct rig *g);
void rig_add_http(struct rig *g);
void submit(struct rig *g, const char *text, uint64_t samples);
/* Also reads the statistics. */
int flush(struct rig *g, int ms);
void rig_down(struct rig *g);
/* The server with at most four steps. */
struct server start(const char *a, const char *b, const char *c, const char *d);
/* The next line of the server has @word. */
void check_line(struct server *s, const char *word);

#endif
