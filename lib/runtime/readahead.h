/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads memory in pieces, for a reader of many small things that lie close to each other in a
 * few places. What it gives may be as old as the piece. All it does is bounded, whatever is
 * read: each read has a price.
 */
#ifndef OP_RUNTIME_READAHEAD_H
#define OP_RUNTIME_READAHEAD_H

#include <stddef.h>
#include <stdint.h>

#include "base/io.h"
#include "base/memory.h"

enum {
	OP_READAHEAD_BYTES = 4096, /* of a piece */
	OP_READAHEAD_PIECES = 16,
};

struct op_readahead_piece {
	uint64_t at;
	size_t len; /* 0: nothing was read */
	uint8_t bytes[OP_READAHEAD_BYTES];
};

struct op_readahead {
	struct op_memory memory;
	const struct op_memory *of; /* borrowed */
	uint64_t left;		    /* that reads may cost still, about in bytes */
	struct op_work_clock clock;
	uint64_t until_ns; /* by that clock; nothing is read from then on */
	size_t below;	   /* bytes of a piece before what is asked for */
	int again;	   /* given in place of -EAGAIN */
	unsigned int next; /* the piece that is read over next */
	struct op_readahead_piece piece[OP_READAHEAD_PIECES];
};

/* Begin to read @of by @a->memory, without a limit, in pieces from what is asked for on. What was
 * read before is forgotten. */
void op_readahead_init(struct op_readahead *a, const struct op_memory *of);
/* From now on it gives -ETIME once reads have cost @limit, and from @until_ns by @clock, which is
 * copied. */
void op_readahead_limit(struct op_readahead *a, uint64_t limit,
			const struct op_work_clock *clock, uint64_t until_ns);
/* Forget what was read. */
void op_readahead_forget(struct op_readahead *a);

#endif
