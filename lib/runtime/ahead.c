/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/ahead.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/checked.h"
#include "base/io.h"
#include "base/macros.h"

enum {
	/* what a read takes besides its bytes: out of a piece, and out of the memory */
	COPY_PRICE = 64,
	CALL_PRICE = 1024,
};

static bool spend(struct op_ahead *a, uint64_t price)
{
	bool enough = price <= a->left;

	a->left = enough ? a->left - price : 0;
	return enough;
}

static int read_through(struct op_ahead *a, uint64_t addr, void *buf, size_t len)
{
	int r;

	/* Pages may have to come from a disk, or from a process that makes them slowly. */
	if (!spend(a, CALL_PRICE + len) || op_clock_monotonic_ns() >= a->until_ns)
		return -ETIME;
	r = op_memory_read(a->of, addr, buf, len);
	return r == -EAGAIN ? a->again : r;
}

/* The piece that has all of it, or NULL. */
static const struct op_ahead_piece *find(const struct op_ahead *a, uint64_t addr,
					 size_t len)
{
	size_t i;

	for (i = 0; i < OP_AHEAD_PIECES; i++) {
		const struct op_ahead_piece *p = &a->piece[i];

		if (addr >= p->at && op_range_ok(addr - p->at, len, p->len))
			return p;
	}
	return NULL;
}

static int ahead_read(const struct op_memory *memory, uint64_t addr, void *buf,
		      size_t len)
{
	/* The cast drops const: the pieces are kept in @a. */
	struct op_ahead *a = op_container_of((struct op_memory *)(uintptr_t)memory,
					     struct op_ahead, memory);
	const struct op_ahead_piece *known = find(a, addr, len);
	struct op_ahead_piece *p;
	int r;

	if (!known && (len > OP_AHEAD_BYTES - a->below || addr < a->below))
		return read_through(a, addr, buf, len);
	if (!known) {
		p = &a->piece[a->next++ % OP_AHEAD_PIECES];
		p->len = 0;
		p->at = addr - a->below;
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

void op_ahead_forget(struct op_ahead *a)
{
	size_t i;

	for (i = 0; i < OP_AHEAD_PIECES; i++)
		a->piece[i].len = 0;
}

void op_ahead_init(struct op_ahead *a, const struct op_memory *of)
{
	a->memory.read = ahead_read;
	a->of = of;
	a->below = 0;
	a->again = -EAGAIN;
	a->next = 0;
	op_ahead_limit(a, UINT64_MAX, UINT64_MAX);
	op_ahead_forget(a);
}

void op_ahead_limit(struct op_ahead *a, uint64_t limit, uint64_t until_ns)
{
	a->left = limit;
	a->until_ns = until_ns;
}
