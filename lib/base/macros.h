/* SPDX-License-Identifier: Apache-2.0 */
/* Small macros that every folder uses. */
#ifndef OP_BASE_MACROS_H
#define OP_BASE_MACROS_H

#include <stddef.h>
#include <stdint.h>

#define OP_ARRAY_SIZE(a) (sizeof(a) / sizeof((a)[0]))
#define OP_MIN(a, b)	 ((a) < (b) ? (a) : (b))
#define OP_MAX(a, b)	 ((a) > (b) ? (a) : (b))

/* @n is a power of two. */
#define OP_ALIGN_UP(x, n)   (((x) + ((n)-1)) & ~((__typeof__(x))(n)-1))
#define OP_ALIGN_DOWN(x, n) ((x) & ~((__typeof__(x))(n)-1))

/*
 * By bisection, the first number from 0 to @len at which @condition, an expression in @i,
 * is true. It must be false below that number and true from there on.
 */
#define op_first_where(i, len, condition)                                                \
	({                                                                               \
		size_t _low = 0;                                                         \
		size_t _high = (len);                                                    \
                                                                                         \
		while (_low < _high) {                                                   \
			size_t i = _low + (_high - _low) / 2;                            \
                                                                                         \
			if (condition)                                                   \
				_high = i;                                               \
			else                                                             \
				_low = i + 1;                                            \
		}                                                                        \
		_low;                                                                    \
	})

#define op_container_of(ptr, type, member)                                               \
	((type *)((char *)(ptr)-offsetof(type, member)))

#define _op_unused_	      __attribute__((unused))
#define _op_must_check_	      __attribute__((warn_unused_result))
#define _op_printf_(fmt, arg) __attribute__((format(printf, fmt, arg)))

#define op_likely(x)   __builtin_expect(!!(x), 1)
#define op_unlikely(x) __builtin_expect(!!(x), 0)

/* How many small units of time are in a large one. 64 bits, because five seconds of
 * nanoseconds do not fit into 32. */
#define OP_MS_PER_S  INT64_C(1000)
#define OP_NS_PER_US INT64_C(1000)
#define OP_US_PER_S  INT64_C(1000000)
#define OP_NS_PER_MS INT64_C(1000000)
#define OP_NS_PER_S  INT64_C(1000000000)

#endif
