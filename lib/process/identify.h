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
 * Learn what is not known yet about @program, from which @record was taken. @mappings:
 * its mappings then, or NULL. If the program has ended, /proc is not read.
 *
 * A program may execute another one between the sample and the reading, and /proc then
 * describes the new one. So the result counts only if the code address in /proc/PID/stat
 * is in @mappings. Otherwise program->identified stays false, and the next sample tries
 * again.
 */
void op_identify_identify(struct op_processes *p, struct op_program *program,
			  const struct op_record *record,
			  const struct op_mappings *mappings);

/* In a new window: read again what may have changed about an identified program. */
void op_identify_refresh(struct op_processes *p, struct op_program *program,
			 const struct op_record *record,
			 const struct op_mappings *mappings);

/*
 * Keep the threads' contexts up to date: look for the process context when that is due,
 * and read names of attributes that were not known. Cheap if nothing is due.
 */
void op_identify_context(struct op_processes *p, struct op_program *program,
			 const struct op_mappings *mappings);

/* context_search.c */

/*
 * Find the place of the threads' contexts if it is not known: by the process context's
 * schema, or else by the program's files. @mappings: its mappings, or NULL. A later call
 * continues where one call stops.
 */
void op_program_context_find(struct op_processes *p, struct op_program *program,
			     const struct op_mappings *mappings);
/* Publish to the kernel where the program's threads keep their contexts. Form 0:
 * nowhere. */
void op_program_context_publish(struct op_processes *p, struct op_program *program,
				struct op_context_place place);
/* The pause before the next look at a program. @wait_ns: the pause before this look, 0:
 * none. */
uint64_t op_program_context_next_wait_ns(uint64_t wait_ns);

/* same_process.c */

/* Does /proc still show the program's process under its pid? A later process of that pid
 * has a later start time. */
bool op_same_process(const struct op_program *program, const struct op_stat *stat);
/* Is the code that /proc shows inside @mappings? True if either is not known. */
bool op_same_program(const struct op_stat *stat, const struct op_mappings *mappings);
/* Find the mapping of the program's own code by the code's end in /proc. NULL: none. */
const struct op_mapping *op_same_code(const struct op_stat *stat,
				      const struct op_mappings *mappings);
/* Does the program still run in its process? If so, *@ret describes it. @ret may be
 * NULL. */
bool op_same_runs(struct op_processes *p, const struct op_program *program,
		  const struct op_mappings *mappings, struct op_stat *ret);
/* Has no other program been executed since @before was read? */
bool op_same_exec(struct op_processes *p, const struct op_program *program,
		  const struct op_stat *before);

#endif
