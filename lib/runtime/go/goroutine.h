/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Goroutines in the memory of a Go process: runtime.allgs, which lists all goroutines
 * that ever existed, and struct g of each. The process runs meanwhile, and may be
 * hostile. So every number is checked, and each goroutine is read twice.
 */
#ifndef OP_RUNTIME_GO_GOROUTINE_H
#define OP_RUNTIME_GO_GOROUTINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/memory.h"
#include "runtime/go/layout.h"

enum {
	OP_GOROUTINES_MAX = 131072, /* goroutines that are read of one process */
	OP_GO_SLICE_MAX = 1 << 24,  /* elements that a list of goroutines may claim */
	OP_GO_REASONS_MAX = 64,
	OP_GO_REASON_BYTES = 48, /* with the NUL */
	/* bytes of a stack from its innermost frame on that are read at once; deeper
	 * ones are read in parts */
	OP_GO_STACK_BYTES = 8192,
	OP_GO_STACK_BELOW = 256, /* bytes below sp that a walk may read */
};

/* runtime.allgs: a slice. */
struct op_go_slice {
	uint64_t at;
	uint64_t len;
};

/* A goroutine as it was at one moment. */
struct op_goroutine {
	uint64_t address; /* of its struct g */
	uint64_t id;
	uint64_t lo; /* its stack */
	uint64_t hi;
	uint64_t pc; /* where it continues, or entered a system call */
	uint64_t sp;
	uint64_t fp;
	uint64_t lr; /* aarch64: of one that has not run yet */
	uint64_t start_pc;
	uint32_t state;	 /* enum op_goroutine_state; or OP_GOROUTINE_STATES: it moves */
	uint32_t reason; /* index of runtime.waitReasonStrings; 0: none */
};

/* Why goroutines wait, by number; "": not known. */
struct op_go_reasons {
	char text[OP_GO_REASONS_MAX][OP_GO_REASON_BYTES];
};

/* Read the slice at address @allgs. Returns 0; -EBADMSG if it cannot be one; -errno. */
int op_go_read_allgs(const struct op_memory *memory, uint64_t allgs,
		     struct op_go_slice *ret);
/*
 * Read the struct g at @address. Returns 1; 0 if there is no goroutine in it (it is idle or
 * dead); -EBADMSG if it makes no sense; -errno.
 */
int op_goroutine_read(const struct op_memory *memory, const struct op_go_layout *layout,
		      uint64_t address, struct op_goroutine *ret);
/* Does its stack stay unchanged while its state does not change? */
bool op_goroutine_is_parked(const struct op_goroutine *g);
/* Was it at the same place at both moments? */
bool op_goroutine_same(const struct op_goroutine *a, const struct op_goroutine *b);
/*
 * Copy the stack of @g from OP_GO_STACK_BELOW bytes below sp on, or from its lowest
 * address. @buf has OP_GO_STACK_BYTES. *@ret_below: how many bytes of the copy are below
 * sp. Returns 0 or -errno.
 */
int op_goroutine_stack(const struct op_memory *memory, const struct op_goroutine *g,
		       void *buf, size_t *ret_len, size_t *ret_below);
/* Read runtime.waitReasonStrings at address @at. A text that is not valid stays "". */
void op_go_read_reasons(const struct op_memory *memory, uint64_t at,
			struct op_go_reasons *ret);

#endif
