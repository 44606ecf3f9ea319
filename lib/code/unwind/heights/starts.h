/* SPDX-License-Identifier: Apache-2.0 */
/* Where functions begin, from the calls of the code. */
#ifndef OP_CODE_UNWIND_HEIGHTS_STARTS_H
#define OP_CODE_UNWIND_HEIGHTS_STARTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct op_starts {
	/* A bit for each byte of code; in code too large for that, for each aligned one. NULL: there
	 * was no memory. */
	uint8_t *bits;
	size_t step;
	size_t len;   /* of the code */
	size_t phase; /* address of offset 0 modulo the alignment */
};

/* For functions that are aligned to @alignment, if they are. */
void op_starts_init(struct op_starts *s, size_t len, size_t phase, size_t alignment);
void op_starts_deinit(struct op_starts *s);
size_t op_starts_bytes(const struct op_starts *s);

/* Find addresses that the code at @code may call, directly or by an address that is
 * taken. It looks for matching bytes, without knowing where instructions begin. The
 * first byte is at offset @from. */
void op_starts_find(struct op_starts *s, const uint8_t *code, size_t from, size_t len);
bool op_starts_has(const struct op_starts *s, size_t off);

#endif
