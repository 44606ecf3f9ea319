/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Merges streams of records, each sorted by time, into one. It is a binary heap with the
 * next record of each stream: a record costs the logarithm of the number of streams that
 * have any.
 */
#ifndef OP_KERNEL_SIDEBAND_MERGE_H
#define OP_KERNEL_SIDEBAND_MERGE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/vec.h"

struct op_merge_next {
	uint64_t time_ns;
	uint32_t stream;
};

struct op_merge {
	OP_VEC(struct op_merge_next) heap; /* the oldest is element 0 */
};

/* Allocate for @streams streams, so that op_merge_add() cannot fail. Returns 0 or
 * -ENOMEM. */
int op_merge_reserve(struct op_merge *m, size_t streams);
/* Add @stream, which must not be in the heap; @time_ns is the time of its next record. */
void op_merge_add(struct op_merge *m, uint32_t stream, uint64_t time_ns);
/* The stream with the oldest record, the lowest number among equals. Returns false if no
 * stream is left. */
bool op_merge_oldest(const struct op_merge *m, uint32_t *ret_stream);
/* The oldest record was taken, and the next one of its stream has @time_ns. */
void op_merge_advance(struct op_merge *m, uint64_t time_ns);
/* The oldest record was taken, and its stream has no other. */
void op_merge_end(struct op_merge *m);
void op_merge_clear(struct op_merge *m);

#endif
