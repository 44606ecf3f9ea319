/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The _init() calls. They are real symbols, so that bindings of any language can call
 * them. The caller gives the size of its struct, which may be shorter or longer than
 * ours.
 */
#include <string.h>

#include "otelprof/config.h"
#include "otelprof/events.h"
#include "otelprof/export.h"
#include "otelprof/stats.h"

static void init(void *s, size_t size)
{
	if (!s || size < sizeof(size))
		return;
	memset(s, 0, size);
	*(size_t *)s = size;
}

void otelprof_config_init(struct otelprof_config *config, size_t size)
{
	init(config, size);
}

void otelprof_otlp_config_init(struct otelprof_otlp_config *config, size_t size)
{
	init(config, size);
}

void otelprof_file_config_init(struct otelprof_file_config *config, size_t size)
{
	init(config, size);
}

void otelprof_callback_config_init(struct otelprof_callback_config *config, size_t size)
{
	init(config, size);
}

void otelprof_events_init(struct otelprof_events *events, size_t size)
{
	init(events, size);
}

void otelprof_rule_init(struct otelprof_rule *rule, size_t size)
{
	init(rule, size);
}

void otelprof_stats_init(struct otelprof_stats *stats, size_t size)
{
	init(stats, size);
}

void otelprof_exporter_stats_init(struct otelprof_exporter_stats *stats, size_t size)
{
	init(stats, size);
}
