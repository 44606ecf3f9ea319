/* SPDX-License-Identifier: Apache-2.0 */
/* The memory of a process, of bytes that a test puts there. */
#ifndef TEST_FAKE_MEMORY_H
#define TEST_FAKE_MEMORY_H

#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base/macros.h"
#include "base/memory.h"

#include "test.h"

enum {
	BASE = 0x10000, /* of what is there */
	BYTES = 65536,
};

struct fake {
	struct op_memory memory;
	uint8_t bytes[BYTES];
	int reads;
	bool gone; /* the process has ended */
};

static struct fake fake;

static inline int read_fake(const struct op_memory *m, uint64_t addr, void *buf,
			    size_t len)
{
	struct fake *f = &fake;

	(void)m;
	f->reads++;
	if (f->gone)
		return -ESRCH;
	if (addr < BASE || addr > BASE + BYTES || len > BASE + BYTES - addr)
		return -EFAULT;
	memcpy(buf, f->bytes + (addr - BASE), len);
	return 0;
}

/* Begin anew, with nothing but zeros. */
static inline void fake_begin(void)
{
	memset(&fake, 0, sizeof(fake));
	fake.memory.read = read_fake;
}

static inline void put(uint64_t addr, const void *bytes, size_t len)
{
	CHECK(addr >= BASE && addr + len <= BASE + BYTES);
	memcpy(fake.bytes + (addr - BASE), bytes, len);
}

static inline void put_u64(uint64_t addr, uint64_t v)
{
	put(addr, &v, sizeof(v));
}

static inline void put_u32(uint64_t addr, uint32_t v)
{
	put(addr, &v, sizeof(v));
}

#endif
