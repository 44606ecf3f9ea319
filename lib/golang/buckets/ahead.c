/* SPDX-License-Identifier: Apache-2.0 */
#include "golang/buckets/ahead.h"

#include <string.h>

#include "base/checked.h"
#include "base/macros.h"

enum {
	/* of a piece, behind the address that is asked for: lists grow at their front, so
	 * what is next is most often below */
	BEHIND_BYTES = 2048,
};

static int ahead_read(const struct op_memory *memory, uint64_t addr, void *buf,
		      size_t len)
{
	/* The cast drops const: the piece is kept in @a. */
	struct op_golang_ahead *a = op_container_of((struct op_memory *)(uintptr_t)memory,
						    struct op_golang_ahead, memory);
	uint64_t below = OP_GOLANG_AHEAD_BYTES - BEHIND_BYTES;

	if (addr >= a->at && op_range_ok(addr - a->at, len, a->len)) {
		memcpy(buf, a->bytes + (addr - a->at), len);
		return 0;
	}
	if (len > BEHIND_BYTES || addr < below)
		return op_memory_read(a->of, addr, buf, len);
	a->len = 0;
	/* a page around it may not be there */
	if (op_memory_read(a->of, addr - below, a->bytes, sizeof(a->bytes)) < 0)
		return op_memory_read(a->of, addr, buf, len);
	a->at = addr - below;
	a->len = sizeof(a->bytes);
	memcpy(buf, a->bytes + below, len);
	return 0;
}

void op_golang_ahead_init(struct op_golang_ahead *a, const struct op_memory *of)
{
	a->memory.read = ahead_read;
	a->of = of;
	a->at = 0;
	a->len = 0;
}
