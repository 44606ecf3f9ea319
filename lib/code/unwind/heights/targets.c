/* SPDX-License-Identifier: Apache-2.0 */
#include "code/unwind/heights/targets.h"

#include <errno.h>
#include <stdlib.h>

enum {
	SLOTS = 1024, /* a power of two */
	PROBES = 8,
};

int op_jump_targets_init(struct op_jump_targets *t)
{
	t->slot = calloc(SLOTS, sizeof(*t->slot));
	return t->slot ? 0 : -ENOMEM;
}

void op_jump_targets_deinit(struct op_jump_targets *t)
{
	free(t->slot);
}

size_t op_jump_targets_bytes(void)
{
	return SLOTS * sizeof(struct op_jump_target);
}

struct op_jump_target *op_jump_targets_find(struct op_jump_targets *t, size_t start,
					    size_t off, bool add)
{
	uint32_t hash = (uint32_t)off * 2654435761u;
	uint32_t i;

	for (i = 0; i < PROBES; i++) {
		struct op_jump_target *at = &t->slot[((hash >> 16) + i) & (SLOTS - 1)];

		/* it belongs to an earlier function, or is before this one */
		if (at->function != t->function || at->off < start) {
			if (add)
				return at;
			continue;
		}
		if (at->off == off)
			return at;
	}
	return NULL;
}
