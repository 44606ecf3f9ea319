/* SPDX-License-Identifier: Apache-2.0 */
/* Writes call frame information for tests, a record at a time. */
#ifndef OP_TEST_CFI_BYTES_H
#define OP_TEST_CFI_BYTES_H

#include "test.h"

struct bytes {
	uint8_t *data;
	size_t len;
	size_t cap;
	uint64_t addr; /* ELF address of data[0] */
};

static inline void put(struct bytes *b, const void *from, size_t len)
{
	if (b->len + len > b->cap) {
		b->cap = (b->len + len) * 2;
		b->data = realloc(b->data, b->cap);
		CHECK(b->data);
	}
	if (len)
		memcpy(b->data + b->len, from, len);
	b->len += len;
}

static inline void put8(struct bytes *b, uint8_t v)
{
	put(b, &v, sizeof(v));
}

static inline void put32(struct bytes *b, uint32_t v)
{
	put(b, &v, sizeof(v));
}

static inline void put64(struct bytes *b, uint64_t v)
{
	put(b, &v, sizeof(v));
}

/* The length word at @at says how much follows it. */
static inline void end_record(struct bytes *b, size_t at)
{
	uint32_t len;

	while ((b->len - at) % 4 != 0)
		put8(b, 0); /* DW_CFA_nop */
	len = (uint32_t)(b->len - at - 4);
	memcpy(b->data + at, &len, sizeof(len));
}

/* What linkers' CIEs say: code 1, data -8; CFA = rsp + 8, return address at CFA - 8. */
static const uint8_t X86_CIE[] = { 0x0c, 7, 8, 0x90, 1 };
/* code 1, data -8; CFA = sp */
static const uint8_t ARM_CIE[] = { 0x0c, 31, 0 };

/* A CIE of .eh_frame. Returns its offset. */
static inline size_t put_cie(struct bytes *b, const char *letters, uint8_t encoding,
			     uint8_t ra, const uint8_t *program, size_t len)
{
	size_t at = b->len;

	put32(b, 0);
	put32(b, 0);
	put8(b, 1);
	put(b, letters, strlen(letters) + 1);
	put8(b, 1);
	put8(b, 0x78); /* -8 */
	put8(b, ra);
	if (letters[0] == 'z') {
		put8(b, 1);
		put8(b, encoding);
	}
	put(b, program, len);
	end_record(b, at);
	return at;
}

static inline size_t put_x86_cie(struct bytes *b)
{
	return put_cie(b, "zR", 0x1b, 16, X86_CIE, sizeof(X86_CIE));
}

/* An FDE of .eh_frame with pointers pcrel | sdata4. Returns its offset. */
static inline size_t put_fde(struct bytes *b, size_t cie, uint64_t start, uint64_t size,
			     const uint8_t *program, size_t len)
{
	size_t at = b->len;

	put32(b, 0);
	put32(b, (uint32_t)(b->len - cie));
	put32(b, (uint32_t)(start - (b->addr + b->len)));
	put32(b, (uint32_t)size);
	put8(b, 0); /* no augmentation data */
	put(b, program, len);
	end_record(b, at);
	return at;
}

#define PUT_FDE(b, cie, start, size, ...)                                                \
	put_fde(b, cie, start, size, (const uint8_t[]){ __VA_ARGS__ },                   \
		sizeof((const uint8_t[]){ __VA_ARGS__ }))

/* CFA = *(rsp + 160), return address at rsp + 168: what glibc's __restore_rt says. */
#define SIGNAL_FRAME                                                                     \
	0x0f, 4, 0x77, 0xa0, 0x01, 0x06, 0x10, 7, 3, 0x77, 0xa0, 0x01, 0x10, 16, 3,      \
		0x77, 0xa8, 0x01

#endif
