/* SPDX-License-Identifier: Apache-2.0 */
/* The ids of a trace and a span, where labels carry them: trace_id and span_id, in hex. */
#ifndef OP_PROCESS_CONTEXT_IDS_H
#define OP_PROCESS_CONTEXT_IDS_H

#include <stdbool.h>

#include "process/context/labels.h"

/* Does @labels have both? Fills @ret, and leaves labels.len without them. */
bool op_context_ids_of_labels(struct op_context_labels *labels,
			      struct op_thread_context *ret);

/* Are both ids there? None, or one alone, is no link. */
bool op_context_has_ids(const struct op_thread_context *context);

#endif
