/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the variables of Go's runtime in a process: by the symbol table or, in a
 * stripped program, by their content. runtime.allgs is the slice whose elements are
 * goroutines, and runtime.waitReasonStrings has a known text.
 */
#ifndef OP_RUNTIME_GO_VARIABLES_H
#define OP_RUNTIME_GO_VARIABLES_H

#include <stdint.h>

#include "base/memory.h"
#include "runtime/go/buckets.h"
#include "runtime/go/layout.h"

struct op_elf;

enum {
	/* bytes of a stripped program's variables that are searched */
	OP_GO_SCAN_BYTES = 32 << 20,
	OP_GO_TRIES_MAX = 4096, /* words of them that look like a match */
};

/* Addresses in the process; 0: not found. */
struct op_go_places {
	uint64_t allgs;
	uint64_t reasons; /* runtime.waitReasonStrings */
	/* from symbols, otherwise from code (search.h) */
	struct op_go_buckets_at buckets;
};

/* By symbols. @bias: process address - ELF address. Returns 0 or -errno. */
int op_go_find_symbols(struct op_elf *elf, uint64_t bias, struct op_go_places *ret);
/* By content, in the variables of @elf: sets the missing members of @ret. Returns 0 or
 * -ENOMEM. */
int op_go_find_content(struct op_elf *elf, uint64_t bias, const struct op_memory *memory,
		       const struct op_go_layout *layout, struct op_go_places *ret);
/* The same in the process addresses [@start, @end). */
int op_go_scan(const struct op_memory *memory, const struct op_go_layout *layout,
	       uint64_t start, uint64_t end, struct op_go_places *ret);

#endif
