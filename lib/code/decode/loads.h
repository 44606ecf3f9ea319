/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The variables that a function loads, by the addresses in its machine code. The search
 * finds every load that a compiler makes in one or two instructions. It may mistake
 * other bytes for an instruction, so callers check the results.
 */
#ifndef OP_CODE_DECODE_LOADS_H
#define OP_CODE_DECODE_LOADS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	OP_DECODE_LOADS_MAX = 32, /* variables of one function */
};

struct op_decode_loads {
	size_t len;
	bool full;			  /* there are more */
	uint64_t at[OP_DECODE_LOADS_MAX]; /* addresses, each once */
};

/* Add the variables that the @len bytes of @code at address @pc load @width bytes of, 4 or 8. */
void op_decode_loads_x86_64(const uint8_t *code, size_t len, uint64_t pc,
			    unsigned int width, struct op_decode_loads *add);
void op_decode_loads_aarch64(const uint8_t *code, size_t len, uint64_t pc,
			     unsigned int width, struct op_decode_loads *add);

bool op_decode_loads_has(const struct op_decode_loads *l, uint64_t at);

#endif
