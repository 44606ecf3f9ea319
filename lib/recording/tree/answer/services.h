/* SPDX-License-Identifier: Apache-2.0 */
/* Work that a runtime does for its program, such as garbage collection. It is below
 * none of the program's functions. */
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

/* "garbage collector": the words after "went to the". */
const char *service_name(enum service s);

/* The service that begins with this function. All that it calls belongs to it. */
enum service service_of(const struct op_collect *c, uint32_t function);

#endif
