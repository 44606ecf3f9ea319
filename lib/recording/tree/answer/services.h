/* SPDX-License-Identifier: Apache-2.0 */
/* What a runtime does for its program beside running it, and so below none of its functions. */
#ifndef OP_RECORDING_TREE_ANSWER_SERVICES_H
#define OP_RECORDING_TREE_ANSWER_SERVICES_H

#include <stdint.h>

#include "export/format/collect/collect.h"

enum service {
	SERVICE_NONE,
	SERVICE_GC,
	SERVICE_JIT,
	SERVICES,
};

/* "garbage collector": what follows "went to the". */
const char *service_name(enum service s);

/* The service whose entry the function is: all that it calls belongs to it. */
enum service service_of(const struct op_collect *c, uint32_t function);

#endif
