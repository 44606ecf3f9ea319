/* SPDX-License-Identifier: Apache-2.0 */
/* Trace ids and span ids from labels: trace_id and span_id, in hex. */
#ifndef OP_PROCESS_CONTEXT_IDS_H
#define OP_PROCESS_CONTEXT_IDS_H

#include <stdbool.h>

#include "process/context/labels.h"

/* Does @labels have both ids? If so, move them to @ret and remove them from @labels. */
bool op_context_ids_of_labels(struct op_context_labels *labels,
			      struct op_thread_context *ret);

/* Does @context have both ids? One alone is no link. */
bool op_context_has_ids(const struct op_thread_context *context);

#endif
