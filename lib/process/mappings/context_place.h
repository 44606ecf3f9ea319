/* SPDX-License-Identifier: Apache-2.0 */
/* Finds where the threads of a program have their trace contexts, and tells the kernel. */
#ifndef OP_PROCESS_MAPPINGS_CONTEXT_PLACE_H
#define OP_PROCESS_MAPPINGS_CONTEXT_PLACE_H

#include <stdint.h>

#include "process/context/place.h"

struct op_mappings;
struct op_processes;
struct op_program;

/*
 * Look for the place if it is not known, by what the program's own context says (its schema)
 * or else by its files; @mappings is what it has mapped, or NULL. What one call leaves, a later
 * one goes on with.
 */
void op_program_context_find(struct op_processes *p, struct op_program *program,
			     const struct op_mappings *mappings);

/* Tell the kernel where the program's threads have their contexts; form 0: nowhere. */
void op_program_context_publish(struct op_processes *p, struct op_program *program,
				struct op_context_place place);

/* How long to wait before the next look at a program, after one of @wait_ns (0: none). */
uint64_t op_program_context_next_wait_ns(uint64_t wait_ns);

#endif
