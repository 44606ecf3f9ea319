/* SPDX-License-Identifier: Apache-2.0 */
/* A memory whose bytes from one address on are a fuzzer's input. */
#ifndef OP_FUZZ_INPUT_H
#define OP_FUZZ_INPUT_H

#include <errno.h>
#include <string.h>

#include "base/macros.h"
#include "base/memory.h"

struct input {
	struct op_memory memory;
	const uint8_t *bytes;
	size_t len;
	uint64_t base; /* the address of the first byte */
};

static inline int read_input(const struct op_memory *memory, uint64_t addr, void *buf,
			     size_t len)
{
	const struct input *in = op_container_of(memory, struct input, memory);

	if (addr < in->base || addr - in->base > in->len ||
	    len > in->len - (addr - in->base))
		return -EFAULT;
	memcpy(buf, in->bytes + (addr - in->base), len);
	return 0;
}

#endif
