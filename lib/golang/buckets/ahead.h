/* SPDX-License-Identifier: Apache-2.0 */
/* Reads memory in pieces of 16 KiB, for a reader of many small things that lie close to
 * each other. What it gives may be as old as the piece. */
#ifndef OP_GOLANG_AHEAD_H
#define OP_GOLANG_AHEAD_H

#include <stddef.h>
#include <stdint.h>

#include "base/memory.h"

enum {
	OP_GOLANG_AHEAD_BYTES = 16384,
};

struct op_golang_ahead {
	struct op_memory memory;
	const struct op_memory *of; /* borrowed */
	uint64_t at;
	size_t len; /* 0: nothing was read */
	uint8_t bytes[OP_GOLANG_AHEAD_BYTES];
};

/* Begin to read @of by @a->memory: what was read before is forgotten. */
void op_golang_ahead_init(struct op_golang_ahead *a, const struct op_memory *of);

#endif
