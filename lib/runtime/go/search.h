/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the variables of the memory profile in a program without symbols. Go's own table of
 * functions, which no strip can remove, names the functions of the runtime. Each of the variables
 * is the only one that certain functions have in common: their code loads it. What they hold is
 * checked when it is read (buckets.h).
 */
#ifndef OP_RUNTIME_GO_SEARCH_H
#define OP_RUNTIME_GO_SEARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/allowance.h"
#include "runtime/go/buckets.h"

struct op_elf;
struct op_gopclntab;

/*
 * Which variables a function loads, by the addresses in its machine code. The search
 * finds every load that a compiler of Go makes in one or two instructions. It may take
 * other bytes for an instruction, so callers check what it found.
 */
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

enum {
	OP_GO_SEARCH_SINCE = 21,	/* Go 1.x, the first whose functions are known */
	OP_GO_SEARCHED_MAX = 1 << 20,	/* functions of a program that are looked at */
	OP_GO_CODE_BYTES_MAX = 4 << 10, /* of each of those that are searched for */
	OP_GO_VARIABLES = 3,
};

/* What some functions have in common. */
struct op_go_common {
	uint32_t functions; /* how many there were */
	struct op_go_loads loads;
};

/* All zero at the beginning. */
struct op_go_search {
	uint64_t next; /* number of the function to go on with */
	uint32_t seen; /* bit i: the ith function that is searched for was there */
	struct op_go_common common[OP_GO_VARIABLES];
};

/*
 * Go on with the search in @elf, a program of Go 1.@minor, and its @table, until @allowance is over.
 * Returns 1 and ELF addresses in @ret; 0 if they are not all found; -EINPROGRESS; -E2BIG if it has
 * more than OP_GO_SEARCHED_MAX functions; or -errno.
 */
int op_go_search(struct op_go_search *s, struct op_elf *elf, struct op_gopclntab *table,
		 uint32_t minor, struct op_allowance *allowance,
		 struct op_go_buckets_at *ret);

#endif
