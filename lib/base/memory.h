/* SPDX-License-Identifier: Apache-2.0 */
/* The interface to foreign memory: a live process, a copied stack, or a core file in a
 * test. Readers trust nothing in it. */
#ifndef OP_BASE_MEMORY_H
#define OP_BASE_MEMORY_H

#include <stddef.h>
#include <stdint.h>

struct op_memory {
	/* Read @len bytes at @addr, all or nothing. Returns 0 or -errno. */
	int (*read)(const struct op_memory *m, uint64_t addr, void *buf, size_t len);
};

static inline int op_memory_read(const struct op_memory *m, uint64_t addr, void *buf,
				 size_t len)
{
	return m->read(m, addr, buf, len);
}

#endif
