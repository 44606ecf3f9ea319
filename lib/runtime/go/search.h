/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds the variables of the memory profile in a program without symbols. Go's own
 * table of functions, which strip cannot remove, names the functions of the runtime.
 * Each variable is the only one that certain functions all load. Its value is checked
 * when it is read (buckets.h).
 */
#ifndef OP_RUNTIME_GO_SEARCH_H
#define OP_RUNTIME_GO_SEARCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/allowance.h"
#include "code/decode/loads.h"
#include "runtime/go/buckets.h"

struct op_elf;
struct op_gopclntab;

enum {
	OP_GO_SEARCH_SINCE = 21,	/* Go 1.x, the first whose functions are known */
	OP_GO_SEARCHED_MAX = 1 << 20,	/* functions of a program that are searched */
	OP_GO_CODE_BYTES_MAX = 4 << 10, /* bytes of each wanted function */
	OP_GO_VARIABLES = 3,
};

/* The variables that some functions have in common. */
struct op_go_common {
	uint32_t functions; /* number of these functions */
	struct op_decode_loads loads;
};

/* All zero at the beginning. */
struct op_go_search {
	uint64_t next; /* number of the function at which the search continues */
	uint32_t seen; /* bit i: the wanted function i was found */
	struct op_go_common common[OP_GO_VARIABLES];
};

/*
 * Continue the search in @elf, a program of Go 1.@minor, and its @table, until
 * @allowance is over. Returns 1 and ELF addresses in @ret; 0 if they are not all found;
 * -EINPROGRESS; -E2BIG if it has more than OP_GO_SEARCHED_MAX functions; or -errno.
 */
int op_go_search(struct op_go_search *s, struct op_elf *elf, struct op_gopclntab *table,
		 uint32_t minor, struct op_allowance *allowance,
		 struct op_go_buckets_at *ret);

#endif
