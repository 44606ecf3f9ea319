/* SPDX-License-Identifier: Apache-2.0 */
/* Finds and loads a transport module. */
#ifndef OP_EXPORT_TRANSPORT_MODULE_H
#define OP_EXPORT_TRANSPORT_MODULE_H

#include "base/log.h"
#include "export/transport/transport.h"

/*
 * Load a module; @name is "grpc" for libotelprof-grpc.so. Looks in $OTELPROF_MODULE_DIR,
 * beside the library itself, and in the directory that the library was configured for. A
 * loaded module stays until the end of the process, because its threads and exit handlers
 * cannot be unmapped. It is done in a thread that is waited for as op_sink_thread_call() does.
 * Returns 0, -OTELPROF_E_MODULE, -ETIMEDOUT, -ENOMEM or -EAGAIN.
 */
int op_module_load(const char *name, struct op_log *log,
		   const struct op_transport_ops **ret);

#endif
