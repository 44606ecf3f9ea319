/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which variables a function loads, by its machine code: by addresses that are in the code
 * itself. Every load is found that a compiler of Go makes in one or two instructions. What is
 * no instruction may be taken for one, so what is told is to be checked.
 */
#ifndef OP_RUNTIME_GO_LOADS_H
#define OP_RUNTIME_GO_LOADS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	OP_GO_LOADS_MAX = 32, /* variables of one function */
};

struct op_go_loads {
	size_t len;
	bool full;		      /* there are more */
	uint64_t at[OP_GO_LOADS_MAX]; /* addresses, each once */
};

/* Add the variables that the @len bytes of @code at address @pc load @width bytes of, 4 or 8. */
void op_go_loads_x86_64(const uint8_t *code, size_t len, uint64_t pc, unsigned int width,
			struct op_go_loads *add);
void op_go_loads_aarch64(const uint8_t *code, size_t len, uint64_t pc, unsigned int width,
			 struct op_go_loads *add);

#endif
