/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unwind rules of x86-64 code that has no unwind data, read from its instructions: what is
 * pushed, popped and reserved from a function's first instruction on tells at each pc where
 * the return address stands. Functions begin where flow cannot come to and nothing jumps
 * to. Where it cannot be told, because sp was moved by a register or what was pushed is not
 * popped at a return, there is no rule.
 *
 * Such a rule is right or plainly wrong, so the walk checks it (OP_SAVE_CHECK): what it
 * takes for a return address must stand behind a call.
 */
#ifndef OP_UNWIND_CODE_HEIGHTS_H
#define OP_UNWIND_CODE_HEIGHTS_H

#include <stddef.h>
#include <stdint.h>

#include "base/slice.h"
#include "op_user_types.h"

enum {
	OP_HEIGHTS_FUNCTION_MAX = 1 << 18, /* bytes of a function */
	OP_HEIGHTS_STARTS_MAX = 1 << 16,   /* that calls tell of */
	/* Instructions that are read, the same one several times: as many as the code has
	 * bytes, and these. One in four bytes is common, and most are read once or twice. */
	OP_HEIGHTS_STEPS_MIN = 4096,
};

/* @rule holds from @off on. A negative number ends it and is returned. */
typedef int (*op_heights_fn)(void *data, size_t off, struct op_rule rule);

/*
 * Give @fn the rules of @code[@len], which stands at ELF address @addr, in ascending order
 * from off 0 on; @none where there is none. Between two functions there is what holds before. 0, -ENOMEM, or what @fn returned.
 */
int op_heights_read(const uint8_t *code, size_t len, uint64_t addr, struct op_rule none,
		    op_heights_fn fn, void *data);

/* The same in slices. */
struct op_heights;

/* @code is borrowed. 0 or -ENOMEM. */
int op_heights_new(const uint8_t *code, size_t len, uint64_t addr, struct op_rule none,
		   struct op_heights **ret);
struct op_heights *op_heights_free(struct op_heights *h);
/* Go on to give the rules. 0 at the end, -EINPROGRESS when @slice is over, -ENOMEM, or what
 * @fn returned. */
int op_heights_on(struct op_heights *h, struct op_slice *slice, op_heights_fn fn,
		  void *data);

#endif
