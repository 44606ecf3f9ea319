/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A bounds-checked reader over bytes in memory. All foreign bytes (files, other
 * processes' memory, the wire) are read through it.
 *
 * A read past the end returns zero, sets `failed` and does not advance; after that every
 * read returns zero. So a parser may read a whole struct and check `failed` once. Numbers
 * are in host byte order (only little-endian hosts are supported).
 */
#ifndef OP_BASE_READER_H
#define OP_BASE_READER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

struct op_reader {
	const uint8_t *start;
	const uint8_t *pos;
	const uint8_t *end;
	bool failed;
};

static inline struct op_reader op_reader_init(const void *bytes, size_t len)
{
	const uint8_t *start = bytes;

	return (struct op_reader){ .start = start, .pos = start, .end = start + len };
}

static inline size_t op_reader_left(const struct op_reader *r)
{
	return (size_t)(r->end - r->pos);
}

static inline size_t op_reader_pos(const struct op_reader *r)
{
	return (size_t)(r->pos - r->start);
}

/* The next @len bytes, or NULL past the end. */
static inline const uint8_t *op_read_bytes(struct op_reader *r, uint64_t len)
{
	const uint8_t *p = r->pos;

	if (r->failed || len > op_reader_left(r)) {
		r->failed = true;
		return NULL;
	}
	r->pos += len;
	return p;
}

static inline void op_read_skip(struct op_reader *r, uint64_t len)
{
	(void)op_read_bytes(r, len);
}

#define OP_DEFINE_READ(type, name)                                                       \
	static inline type op_read_##name(struct op_reader *r)                           \
	{                                                                                \
		type v = 0;                                                              \
		const uint8_t *p = op_read_bytes(r, sizeof(v));                          \
		if (p)                                                                   \
			memcpy(&v, p, sizeof(v));                                        \
		return v;                                                                \
	}
OP_DEFINE_READ(uint8_t, u8)
OP_DEFINE_READ(uint16_t, u16)
OP_DEFINE_READ(uint32_t, u32)
OP_DEFINE_READ(uint64_t, u64)
OP_DEFINE_READ(int8_t, s8)
OP_DEFINE_READ(int16_t, s16)
OP_DEFINE_READ(int32_t, s32)
OP_DEFINE_READ(int64_t, s64)
#undef OP_DEFINE_READ

/* LEB128; bits past the 64th are dropped. */
uint64_t op_read_uleb(struct op_reader *r);
int64_t op_read_sleb(struct op_reader *r);

/* A NUL-terminated string inside the buffer, or NULL if no NUL follows. Borrowed. */
const char *op_read_cstr(struct op_reader *r);

/*
 * A reader of [@off, @off + @len) of the same bytes; `failed` if the range is not inside.
 */
struct op_reader op_reader_sub(const struct op_reader *r, uint64_t off, uint64_t len);

/* Move to @off from the start; fails if that is past the end. */
void op_reader_seek(struct op_reader *r, uint64_t off);

#endif
