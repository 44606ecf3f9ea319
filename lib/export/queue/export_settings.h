/* SPDX-License-Identifier: Apache-2.0 */
/* The settings of an OTLP exporter. The caller's struct takes precedence over the
 * environment, and that over defaults. */
#ifndef OP_EXPORT_QUEUE_EXPORT_SETTINGS_H
#define OP_EXPORT_QUEUE_EXPORT_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/log.h"
#include "export/transport/endpoint.h"
#include "export/transport/headers.h"
#include "export/transport/tls/certs.h"
#include "export/transport/transport.h"
#include "otelprof/export.h"

struct op_export_settings {
	enum op_protocol protocol;
	struct op_endpoint endpoint;
	struct op_headers headers;
	struct op_certs certs;
	char *spill_dir; /* NULL: none */
	uint64_t spill_bytes;
	enum op_compression compression;
	uint32_t timeout_ms;
	uint32_t retry_initial_ms;
	uint32_t retry_max_ms;
	uint32_t retry_elapsed_ms; /* 0: no limit */
	uint64_t queue_bytes;
	uint64_t max_request;
};

/* Returns 0; -EINVAL with a sentence that names the member or variable; the errno of a
 * file; or -ENOMEM. */
int op_export_settings_init(struct op_export_settings *s,
			    const struct otelprof_otlp_config *config,
			    struct op_log *log);
void op_export_settings_deinit(struct op_export_settings *s);

#endif
