/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Identifies a program from /proc at its first sample: executable, container, what the
 * program publishes about itself, and what the configuration asks for. It is identified
 * again when that may have changed: a process context may be published at any time.
 */
#ifndef OP_PROCESS_IDENTIFY_H
#define OP_PROCESS_IDENTIFY_H

#include <stdbool.h>

#include "op_user_types.h"
#include "process/context/place.h"

struct op_mapping;
struct op_mappings;
struct op_processes;
struct op_program;
struct op_stat;

/*
 * Learn what is not known yet of @program, from which @record was taken; @mappings is what
 * it had mapped then, or NULL. For a program that has ended, /proc is not read.
 *
 * A program may execute another one between the sample and the reading, and /proc then
 * describes the new one. So what was read counts only if the code address in
 * /proc/PID/stat is in @mappings; otherwise program->identified stays false and the next
 * sample tries again.
 */
void op_identify_identify(struct op_processes *p, struct op_program *program,
			  const struct op_record *record,
			  const struct op_mappings *mappings);

/* For a program that is identified: learn in a new window what may have changed since. */
void op_identify_refresh(struct op_processes *p, struct op_program *program,
			 const struct op_record *record,
			 const struct op_mappings *mappings);

/*
 * The contexts of its threads: look for its process context where it is time for that, and for
 * names of attributes that were not known. Cheap where there is nothing to do.
 */
void op_identify_context(struct op_processes *p, struct op_program *program,
			 const struct op_mappings *mappings);

/* context_search.c */

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

/* Is what /proc has under the program's pid still the same process? Another one of that pid
 * began later. */
bool op_same_process(const struct op_program *program, const struct op_stat *stat);
/* Is the code that /proc shows in what the program had mapped? True if that is not
 * known. */
bool op_same_program(const struct op_stat *stat, const struct op_mappings *mappings);
/* Find the mapping of the program's own code, as /proc tells where it ends, or NULL. */
const struct op_mapping *op_same_code(const struct op_stat *stat,
				      const struct op_mappings *mappings);
/* Does the program still run in its process? If so, *@ret, which may be NULL, describes
 * it. */
bool op_same_runs(struct op_processes *p, const struct op_program *program,
		  const struct op_mappings *mappings, struct op_stat *ret);
/* Has no other program been executed since @before was read? */
bool op_same_exec(struct op_processes *p, const struct op_program *program,
		  const struct op_stat *before);

#endif
