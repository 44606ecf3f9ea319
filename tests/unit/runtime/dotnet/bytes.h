/* SPDX-License-Identifier: Apache-2.0 */
/* The memory of a .NET process or file, of bytes that a test appends. */
#ifndef TEST_DOTNET_BYTES_H
#define TEST_DOTNET_BYTES_H

#include <errno.h>
#include <stdint.h>
#include <string.h>

#include "base/macros.h"
#include "base/memory.h"

#include "test.h"

enum {
	BASE = 0x10000, /* of memory; files begin at 0 */
};

struct bytes {
	struct op_memory memory;
	uint64_t base;
	uint8_t bytes[1024];
	size_t len;
};

static inline int read_bytes(const struct op_memory *m, uint64_t addr, void *buf,
			     size_t len)
{
	const struct bytes *b = op_container_of(m, struct bytes, memory);

	if (addr < b->base || addr - b->base > b->len || len > b->len - (addr - b->base))
		return -EFAULT;
	memcpy(buf, b->bytes + (addr - b->base), len);
	return 0;
}

static inline void put(struct bytes *b, const void *from, size_t len)
{
	CHECK(b->len + len <= sizeof(b->bytes));
	memcpy(b->bytes + b->len, from, len);
	b->len += len;
}

static inline void put_u32(struct bytes *b, uint32_t n)
{
	put(b, &n, 4);
}

#endif
