/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Streams, each in the order of time, to one: a binary heap of the next record of each. A
 * record costs the logarithm of the streams that have any.
 */
#ifndef OP_CAPTURE_MERGE_H
#define OP_CAPTURE_MERGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

struct op_merge_next {
	uint64_t time_ns;
	uint32_t stream;
};

struct op_merge {
	OP_VEC(struct op_merge_next) heap; /* the oldest first */
};

/* Have room for @streams, so that op_merge_add() cannot fail. 0 or -ENOMEM. */
int op_merge_reserve(struct op_merge *m, size_t streams);
/* The next record of @stream, which is not in it, is of @time_ns. */
void op_merge_add(struct op_merge *m, uint32_t stream, uint64_t time_ns);
/* The stream whose record is the oldest; of several the lowest. False where none is left. */
bool op_merge_oldest(const struct op_merge *m, uint32_t *ret_stream);
/* The oldest one was taken, and the next of its stream is of @time_ns. */
void op_merge_advance(struct op_merge *m, uint64_t time_ns);
/* The oldest one was taken, and was the last of its stream. */
void op_merge_end(struct op_merge *m);
void op_merge_clear(struct op_merge *m);

#endif
