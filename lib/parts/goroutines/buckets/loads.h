/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which variables a function loads, by its machine code: by addresses that are in the code
 * itself. Every load is found that a compiler of Go makes in one or two instructions. What is
 * no instruction may be taken for one, so what is told is to be checked.
 */
#ifndef OP_PARTS_GOROUTINES_BUCKETS_LOADS_H
#define OP_PARTS_GOROUTINES_BUCKETS_LOADS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	OP_GOLANG_LOADS_MAX = 32, /* variables of one function */
};

struct op_golang_loads {
	size_t len;
	bool full;			  /* there are more */
	uint64_t at[OP_GOLANG_LOADS_MAX]; /* addresses, each once */
};

/* Add the variables that the @len bytes of @code at address @pc load @width bytes of, 4 or 8. */
void op_golang_loads_x86_64(const uint8_t *code, size_t len, uint64_t pc,
			    unsigned int width, struct op_golang_loads *add);
void op_golang_loads_aarch64(const uint8_t *code, size_t len, uint64_t pc,
			     unsigned int width, struct op_golang_loads *add);

#endif
