/* SPDX-License-Identifier: Apache-2.0 */
/* Objects that name functions, copied by the kernel: OP_RECORD_OBJECT. */
#ifndef OP_SAMPLE_KEPT_OBJECTS_H
#define OP_SAMPLE_KEPT_OBJECTS_H

#include <stddef.h>

#include "base/memory.h"
#include "op_user_types.h"

struct op_processes;

/* The pieces of memory of a record. */
struct op_copied_object {
	struct op_memory memory; /* a read outside of the copy: -EFAULT */
	struct op_object_record record;
	struct {
		uint64_t at;
		const uint8_t *bytes; /* borrowed from the record */
		size_t len;
	} piece[OP_OBJECT_STEPS];
	size_t len;
};

/* Parse the @len bytes of a record. Returns 0, or -EBADMSG if the lengths in it are
 * wrong. */
int op_copied_object_read(const void *bytes, size_t len, struct op_copied_object *ret);

/* Pass the object of a record to its runtime, if that is known. Returns 0; -EBADMSG;
 * -ENOMEM. */
int op_copied_object_keep(struct op_processes *processes, const void *bytes, size_t len);

#endif
