/* SPDX-License-Identifier: Apache-2.0 */
/* Checked arithmetic for foreign numbers. A function returns true if the result
 * overflowed. */
#ifndef OP_BASE_CHECKED_H
#define OP_BASE_CHECKED_H

#include <stdbool.h>
#include <stdint.h>

#define op_add_overflow(a, b, ret) __builtin_add_overflow(a, b, ret)
#define op_sub_overflow(a, b, ret) __builtin_sub_overflow(a, b, ret)
#define op_mul_overflow(a, b, ret) __builtin_mul_overflow(a, b, ret)

/* Is [@off, @off + @len) inside [0, @size)? */
static inline bool op_range_ok(uint64_t off, uint64_t len, uint64_t size)
{
	return off <= size && len <= size - off;
}

#endif
