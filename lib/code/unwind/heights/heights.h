/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Unwind rules of x86-64 code without unwind data, derived from its instructions.
 * Pushes, pops and reservations from a function's first instruction on determine where
 * the return address is at each pc. A function begins where control cannot come from
 * above, and to which no jump leads. If the address is not known, because sp was
 * changed by a register or pushed words are not popped at a return, there is no rule.
 *
 * Such a rule may be wrong, so the walk checks it (OP_SAVE_CHECK): the return address
 * that it finds must be preceded by a call.
 */
#ifndef OP_CODE_UNWIND_HEIGHTS_HEIGHTS_H
#define OP_CODE_UNWIND_HEIGHTS_HEIGHTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/allowance.h"
#include "base/cleanup.h"
#include "op_user_types.h"

enum {
	OP_HEIGHTS_FUNCTION_MAX = 1 << 18, /* bytes; code beyond that has no rule */
	/* bytes of code in memory at a time, and of the bits that mark where functions
	 * begin */
	OP_HEIGHTS_WINDOW_BYTES = 1 << 19,
	OP_HEIGHTS_STARTS_BYTES = 4 << 20,
	/*
	 * All code is read once. The limit of instructions that are read again, to find a
	 * function's end or where jumps back lead, is three quarters of the number of bytes
	 * of the code, and this. Code of split stacks (gccgo) comes near it, other code
	 * needs less than half of it.
	 */
	OP_HEIGHTS_AGAIN_MIN = 4096,
};

/* Called with a rule that holds from @off on. A negative result stops the reading and is
 * returned. */
typedef int (*op_heights_fn)(void *data, size_t off, struct op_unwind_rule rule);

/* The code to be read. It is read twice, in pieces. */
struct op_heights_code {
	/* Read @len bytes from offset @off on. Returns 0 or -errno. */
	int (*read)(void *data, size_t off, void *buf, size_t len);
	void *data;
	size_t len;
	uint64_t addr; /* ELF address of its first byte */
	bool keep; /* also find the register from which CFAs in mid-stack are computed */
	/* A process made it. Code that does not return may be no function at all, and
	 * gets no rule. */
	bool made;
	bool amid; /* its first byte may be inside a function */
};

struct op_heights;

/* The rules of @code, which is copied; its data is borrowed. @none is for parts without a
 * rule. Returns 0 or -ENOMEM. */
int op_heights_new(const struct op_heights_code *code, struct op_unwind_rule none,
		   struct op_heights **ret);
/* Was there a frame that only that register leads out of, and that makes calls? */
bool op_heights_wants_kept(const struct op_heights *h);
/* The number of instructions that were decoded. */
uint64_t op_heights_decoded(const struct op_heights *h);
/* User memory in use, about. */
size_t op_heights_bytes(const struct op_heights *h);
struct op_heights *op_heights_free(struct op_heights *h);
OP_DEFINE_CLEANUP(struct op_heights *, op_heights_free)
/*
 * Pass the next rules to @fn, in ascending order from offset 0 on. Between two
 * functions the previous rule is valid. Code that cannot be read has none. Returns 0 at
 * the end, -EINPROGRESS when @allowance is used up, -ENOMEM, or what @fn returned.
 */
int op_heights_on(struct op_heights *h, struct op_allowance *allowance, op_heights_fn fn,
		  void *data);

#endif
