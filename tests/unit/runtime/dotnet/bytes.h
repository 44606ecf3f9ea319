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

static inline void put_u16(struct bytes *b, unsigned int n)
{
	uint16_t n16 = (uint16_t)n;

	put(b, &n16, 2);
}

/* A type, and a type in it: <Module>, A.Outer with First(), Inner with Second(). */
static inline void make_metadata(struct bytes *b)
{
	static const char strings[] = "\0<Module>\0Outer\0A\0Inner\0First\0Second";
	const uint64_t valid = 1 << 2 | 1 << 6 | UINT64_C(1) << 0x29;
	const unsigned int type[3][3] = { { 1, 0, 1 }, { 10, 16, 1 }, { 18, 0, 2 } };
	const unsigned int nested_private = 3; /* of the flags of the last one */
	int i;

	b->memory.read = read_bytes;
	b->base = BASE;
	put_u32(b, 0x424a5342);
	put_u32(b, 0x10001);
	put_u32(b, 0);
	put_u32(b, 4);
	put(b, "v4\0", 4);
	put_u16(b, 0);
	put_u16(b, 2);
	put_u32(b, 64); /* the tables */
	put_u32(b, 128);
	put(b, "#~\0", 4);
	put_u32(b, 256);
	put_u32(b, sizeof(strings));
	put(b, "#Strings\0\0\0", 12);
	b->len = 64;
	put(b, "\0\0\0\0\2\0\0\1", 8);
	put(b, &valid, 8);
	put(b, &valid, 8); /* sorted */
	put_u32(b, 3);
	put_u32(b, 2);
	put_u32(b, 1);
	for (i = 0; i < 3; i++) {
		put_u32(b, i == 2 ? nested_private : 0);
		put_u16(b, type[i][0]);
		put_u16(b, type[i][1]);
		put_u16(b, 0);
		put_u16(b, 1);
		put_u16(b, type[i][2]);
	}
	for (i = 0; i < 2; i++) {
		put_u32(b, 0);
		put_u32(b, 0);
		put_u16(b, i ? 30 : 24);
		put_u16(b, 0);
		put_u16(b, 1);
	}
	put_u16(b, 3);
	put_u16(b, 2);
	b->len = 256;
	put(b, strings, sizeof(strings));
}

#endif
