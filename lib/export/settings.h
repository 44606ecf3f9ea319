/* SPDX-License-Identifier: Apache-2.0 */
/* What a gRPC exporter runs with: the caller's struct over the environment over defaults. */
#ifndef OP_EXPORT_SETTINGS_H
#define OP_EXPORT_SETTINGS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/log.h"
#include "export/endpoint.h"
#include "export/headers.h"
#include "otelprof/export.h"

struct op_settings {
	struct op_endpoint endpoint;
	struct op_headers headers;
	char *ca_pem;	       /* contents, or NULL: the system's roots */
	char *client_cert_pem; /* both or none */
	char *client_key_pem;
	bool gzip;
	uint32_t timeout_ms;
	uint32_t retry_initial_ms;
	uint32_t retry_max_ms;
	uint32_t retry_elapsed_ms;
	uint64_t queue_bytes;
	uint64_t max_request;
};

/* Returns 0; -EINVAL, with the field or variable named; the errno of a file; -ENOMEM. */
int op_settings_init(struct op_settings *s, const struct otelprof_grpc_config *config,
		     struct op_log *log);
void op_settings_deinit(struct op_settings *s);

#endif
