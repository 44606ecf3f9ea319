/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the sink of each kind of exporter. */
#ifndef OP_EXPORT_SINKS_H
#define OP_EXPORT_SINKS_H

#include "export/sink/sink.h"
#include "otelprof/export.h"

/* Each copies what it needs of @config, and copies @base into its own struct. */
int op_sink_new_callback(const struct op_sink *base,
			 const struct otelprof_callback_config *config,
			 struct op_sink **ret);
int op_sink_new_file(const struct op_sink *base,
		     const struct otelprof_file_config *config, struct op_sink **ret);
int op_sink_new_otlp(const struct op_sink *base,
		     const struct otelprof_otlp_config *config, struct op_sink **ret);

#endif
