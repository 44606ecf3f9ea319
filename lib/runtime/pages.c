/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/pages.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"

enum {
	PAGE = 4096,
	SLOTS = 64,
};

struct op_pages {
	struct op_memory memory;
	const struct op_memory *under;
	uint64_t number[SLOTS]; /* of the page in each slot */
	bool there[SLOTS];
	uint8_t bytes[SLOTS][PAGE];
};

static int read_part(struct op_pages *p, uint64_t addr, void *buf, size_t len)
{
	uint64_t number = addr / PAGE;
	size_t slot = number % SLOTS;

	if (!p->there[slot] || p->number[slot] != number) {
		p->there[slot] = false;
		/* A part may be there where the page is not. */
		if (op_memory_read(p->under, number * PAGE, p->bytes[slot], PAGE) < 0)
			return op_memory_read(p->under, addr, buf, len);
		p->there[slot] = true;
		p->number[slot] = number;
	}
	memcpy(buf, p->bytes[slot] + addr % PAGE, len);
	return 0;
}

static int pages_read(const struct op_memory *m, uint64_t addr, void *buf, size_t len)
{
	struct op_pages *p = (struct op_pages *)(uintptr_t)m;
	uint8_t *to = buf;

	while (len) {
		size_t part = OP_MIN(len, (size_t)(PAGE - addr % PAGE));
		int r = read_part(p, addr, to, part);

		if (r < 0)
			return r;
		addr += part;
		to += part;
		len -= part;
	}
	return 0;
}

int op_pages_new(const struct op_memory *memory, struct op_pages **ret)
{
	struct op_pages *p = calloc(1, sizeof(*p));

	if (!p)
		return -ENOMEM;
	p->memory.read = pages_read;
	p->under = memory;
	*ret = p;
	return 0;
}

struct op_pages *op_pages_free(struct op_pages *pages)
{
	free(pages);
	return NULL;
}

const struct op_memory *op_pages_memory(struct op_pages *pages)
{
	return &pages->memory;
}
