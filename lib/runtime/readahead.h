/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads memory in pieces, for readers of many small objects that are close together in
 * a few places. The data may be as old as the piece. All work is bounded, because each
 * read has a price.
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
	uint64_t left;		    /* price that reads may still cost, roughly bytes */
	struct op_work_clock clock;
	uint64_t until_ns; /* by that clock; after this nothing is read */
	size_t below;	   /* bytes of a piece before the wanted ones */
	int again;	   /* returned in place of -EAGAIN */
	unsigned int next; /* the piece to be overwritten next */
	struct op_readahead_piece piece[OP_READAHEAD_PIECES];
};

/* Begin to read @of by @a->memory, without a limit, in pieces that begin at the wanted
 * address. Forgets earlier pieces. */
void op_readahead_init(struct op_readahead *a, const struct op_memory *of);
/* From here on reads return -ETIME once they have cost @limit, and from @until_ns on by
 * @clock, which is copied. */
void op_readahead_limit(struct op_readahead *a, uint64_t limit,
			const struct op_work_clock *clock, uint64_t until_ns);
/* Forget all pieces. */
void op_readahead_forget(struct op_readahead *a);

#endif
