/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unwind rules of x86-64 code without unwind data, derived from its instructions: pushes,
 * pops and reservations from a function's first instruction on tell at each pc where the
 * return address is. A function begins where control cannot come from above and no jump
 * leads to. If the address is not known, because sp was changed by a register or pushed
 * words are not popped at a return, there is no rule.
 *
 * Such a rule may be wrong, so the walk checks it (OP_SAVE_CHECK): the return address
 * that it finds must be preceded by a call.
 */
#ifndef OP_CODE_UNWIND_HEIGHTS_HEIGHTS_H
#define OP_CODE_UNWIND_HEIGHTS_HEIGHTS_H

#include <stddef.h>
#include <stdint.h>

#include "base/allowance.h"
#include "op_user_types.h"

enum {
	OP_HEIGHTS_FUNCTION_MAX = 1 << 18, /* bytes of a function */
	OP_HEIGHTS_STARTS_MAX = 1 << 16,   /* starts of functions that calls tell */
	/*
	 * The limit of instructions that are read, counting repeated ones, is the number
	 * of bytes of the code and this. One instruction in four bytes is common, and
	 * most are read once or twice.
	 */
	OP_HEIGHTS_STEPS_MIN = 4096,
};

/* Called with a rule that holds from @off on. A negative result stops the reading and is
 * returned. */
typedef int (*op_heights_fn)(void *data, size_t off, struct op_unwind_rule rule);

struct op_heights;

/* The rules of @code[@len], which is borrowed and at ELF address @addr. @none is for
 * parts without a rule. Returns 0 or -ENOMEM. */
int op_heights_new(const uint8_t *code, size_t len, uint64_t addr,
		   struct op_unwind_rule none, struct op_heights **ret);
struct op_heights *op_heights_free(struct op_heights *h);
/*
 * Give @fn the next rules, in ascending order from offset 0 on. Between two functions the
 * rule before holds. Returns 0 at the end, -EINPROGRESS when @allowance is used up,
 * -ENOMEM, or what @fn returned.
 */
int op_heights_on(struct op_heights *h, struct op_allowance *allowance, op_heights_fn fn,
		  void *data);

#endif
