/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "export/sink.h"
#include "otelprof/error.h"

int op_sink_new_grpc(const struct op_sink *base,
		     const struct otelprof_grpc_config *config, struct op_sink **ret)
{
	return op_fail(base->log, -OTELPROF_E_MODULE, "gRPC exporter: not built");
}
