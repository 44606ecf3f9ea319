/* SPDX-License-Identifier: Apache-2.0 */
/* A memory that is given in pieces, each with its address: the rest of a fuzzer's input. */
#ifndef OP_PIECES_H
#define OP_PIECES_H

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/memory.h"
#include "base/reader.h"

enum {
	PIECES_MAX = 256,
};

struct pieces {
	struct op_memory memory;
	struct {
		uint64_t at;
		const uint8_t *bytes;
		uint32_t len;
	} piece[PIECES_MAX];
	size_t len;
	unsigned int reads;
	unsigned int reads_max; /* more would be unbounded work */
};

static inline int pieces_read(const struct op_memory *m, uint64_t addr, void *buf,
			      size_t len)
{
	struct pieces *in = (struct pieces *)(uintptr_t)m;
	size_t i;

	if (++in->reads > in->reads_max)
		abort();
	for (i = 0; i < in->len; i++) {
		uint64_t at = in->piece[i].at;

		if (addr < at || len > in->piece[i].len ||
		    addr - at > in->piece[i].len - len)
			continue;
		memcpy(buf, in->piece[i].bytes + (addr - at), len);
		return 0;
	}
	return -EFAULT;
}

static inline void pieces_init(struct pieces *in, struct op_reader *r,
			       unsigned int reads_max)
{
	in->memory.read = pieces_read;
	in->len = 0;
	in->reads = 0;
	in->reads_max = reads_max;
	while (op_reader_left(r) && in->len < PIECES_MAX) {
		uint64_t at = op_read_u64(r);
		uint32_t len = op_read_u32(r);
		const uint8_t *bytes = op_read_bytes(r, len);

		if (!bytes)
			break;
		in->piece[in->len].at = at;
		in->piece[in->len].bytes = bytes;
		in->piece[in->len++].len = len;
	}
}

#endif
