/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Go: what its runtime keeps in a process, read from outside. Its stacks need no help (code/elf
 * has its table of functions, code/unwind its rules), so there are no op_runtime_ops.
 *
 *   go.c         the version of a program, and where goroutines have their labels
 *   layout.c     members of runtime.g by version
 *   variables.c       where the runtime has its variables
 *   goroutine.c  reads a goroutine and checks what it reads
 *   buckets.c    reads the runtime's memory profile and checks what it reads
 *   scale.c      from what the runtime sampled to all that there was
 *   search.c     finds the profile's variables in a program without symbols
 *   loads.c      which variables a function loads
 */
#ifndef OP_RUNTIME_GO_GO_H
#define OP_RUNTIME_GO_GO_H

#include <stdint.h>

#include "op_user_types.h"

struct op_elf;

enum {
	/* the first version whose structs nobody has examined */
	OP_GO_MINOR_UNKNOWN = 28,
};

/* The minor version of a Go program, by .go.buildinfo. 0: it is not Go, or older than
 * 1.18. */
uint32_t op_go_minor(struct op_elf *elf);
/* The place of goroutines' labels in a Go program of version 1.@minor. Fills in @ret,
 * except its number and the place of g. Returns 1, or 0 if it is not known. */
int op_go_labels_by_version(uint32_t minor, struct op_context_place *ret);
/* The same for @elf, with the place of g. Returns 1; 0 if it is not Go, or its version
 * is not known; or -errno. */
int op_go_labels(struct op_elf *elf, struct op_context_place *ret);

#endif
