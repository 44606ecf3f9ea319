/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/readahead.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "base/checked.h"
#include "base/io.h"
#include "base/macros.h"

enum {
	/* price of a read besides its bytes: from a piece, and from the memory */
	COPY_PRICE = 64,
	CALL_PRICE = 1024,
};

static bool spend(struct op_readahead *a, uint64_t price)
{
	bool enough = price <= a->left;

	a->left = enough ? a->left - price : 0;
	return enough;
}

static int read_through(struct op_readahead *a, uint64_t addr, void *buf, size_t len)
{
	int r;

	/* Pages may have to come from a disk, or from a process that makes them slowly. */
	if (!spend(a, CALL_PRICE + len) || op_clock_work_ns(&a->clock) >= a->until_ns)
		return -ETIME;
	r = op_memory_read(a->of, addr, buf, len);
	return r == -EAGAIN ? a->again : r;
}

/* The piece that contains all of it, or NULL. */
static const struct op_readahead_piece *find(const struct op_readahead *a, uint64_t addr,
					     size_t len)
{
	size_t i;

	for (i = 0; i < OP_READAHEAD_PIECES; i++) {
		const struct op_readahead_piece *p = &a->piece[i];

		if (p->len && addr >= p->at && op_range_ok(addr - p->at, len, p->len))
			return p;
	}
	return NULL;
}

static int ahead_read(const struct op_memory *memory, uint64_t addr, void *buf,
		      size_t len)
{
	/* The cast drops const: the pieces are kept in @a. */
	struct op_readahead *a = op_container_of((struct op_memory *)(uintptr_t)memory,
						 struct op_readahead, memory);
	const struct op_readahead_piece *known = find(a, addr, len);
	struct op_readahead_piece *p;
	int r;

	if (!known && (len > OP_READAHEAD_BYTES - a->below || addr < a->below))
		return read_through(a, addr, buf, len);
	if (!known) {
		p = &a->piece[a->next++ % OP_READAHEAD_PIECES];
		p->len = 0;
		p->at = addr - a->below;
		r = read_through(a, p->at, p->bytes, sizeof(p->bytes));
		/* a page around it may be missing */
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

void op_readahead_forget(struct op_readahead *a)
{
	size_t i;

	for (i = 0; i < OP_READAHEAD_PIECES; i++)
		a->piece[i].len = 0;
}

void op_readahead_init(struct op_readahead *a, const struct op_memory *of)
{
	a->memory.read = ahead_read;
	a->of = of;
	a->below = 0;
	a->again = -EAGAIN;
	a->next = 0;
	op_readahead_limit(a, UINT64_MAX, NULL, UINT64_MAX);
	op_readahead_forget(a);
}

void op_readahead_limit(struct op_readahead *a, uint64_t limit,
			const struct op_work_clock *clock, uint64_t until_ns)
{
	a->clock = clock ? *clock : (struct op_work_clock){ 0 };
	a->left = limit;
	a->until_ns = until_ns;
}
