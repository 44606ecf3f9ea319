/* SPDX-License-Identifier: Apache-2.0 */
#include "golang/buckets/ahead.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/checked.h"
#include "base/io.h"
#include "base/macros.h"

enum {
	/* of a piece, behind the address that is asked for: lists grow at their front, so
	 * what is next is most often below */
	BEHIND_BYTES = 1024,
	BELOW_BYTES = OP_GOLANG_AHEAD_BYTES - BEHIND_BYTES,
	/* what a read takes besides its bytes: out of a piece, and out of the memory */
	COPY_PRICE = 64,
	CALL_PRICE = 1024,
};

static bool spend(struct op_golang_ahead *a, uint64_t price)
{
	bool enough = price <= a->left;

	a->left = enough ? a->left - price : 0;
	return enough;
}

static int read_through(struct op_golang_ahead *a, uint64_t addr, void *buf, size_t len)
{
	int r;

	/* Pages may have to come from a disk, or from a process that makes them slowly. */
	if (!spend(a, CALL_PRICE + len) || op_clock_monotonic_ns() >= a->until_ns)
		return -ETIME;
	r = op_memory_read(a->of, addr, buf, len);
	/* -EAGAIN is for numbers that change */
	return r == -EAGAIN ? -ETIMEDOUT : r;
}

/* The piece that has all of it, or NULL. */
static const struct op_golang_piece *find(const struct op_golang_ahead *a, uint64_t addr,
					  size_t len)
{
	size_t i;

	for (i = 0; i < OP_GOLANG_AHEAD_PIECES; i++) {
		const struct op_golang_piece *p = &a->piece[i];

		if (addr >= p->at && op_range_ok(addr - p->at, len, p->len))
			return p;
	}
	return NULL;
}

static int ahead_read(const struct op_memory *memory, uint64_t addr, void *buf,
		      size_t len)
{
	/* The cast drops const: the pieces are kept in @a. */
	struct op_golang_ahead *a = op_container_of((struct op_memory *)(uintptr_t)memory,
						    struct op_golang_ahead, memory);
	const struct op_golang_piece *known = find(a, addr, len);
	struct op_golang_piece *p;
	int r;

	if (!known && (len > BEHIND_BYTES || addr < BELOW_BYTES))
		return read_through(a, addr, buf, len);
	if (!known) {
		p = &a->piece[a->next++ % OP_GOLANG_AHEAD_PIECES];
		p->len = 0;
		p->at = addr - BELOW_BYTES;
		r = read_through(a, p->at, p->bytes, sizeof(p->bytes));
		/* a page around it may not be there */
		if (r < 0)
			return r == -ETIME ? r : read_through(a, addr, buf, len);
		p->len = sizeof(p->bytes);
		known = p;
	}
	if (!spend(a, COPY_PRICE + len))
		return -ETIME;
	memcpy(buf, known->bytes + (addr - known->at), len);
	return 0;
}

void op_golang_ahead_forget(struct op_golang_ahead *a)
{
	size_t i;

	for (i = 0; i < OP_GOLANG_AHEAD_PIECES; i++)
		a->piece[i].len = 0;
}

void op_golang_ahead_init(struct op_golang_ahead *a, const struct op_memory *of,
			  uint64_t limit, uint64_t until_ns)
{
	a->memory.read = ahead_read;
	a->of = of;
	a->left = limit;
	a->until_ns = until_ns;
	a->next = 0;
	op_golang_ahead_forget(a);
}
