/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Is what /proc tells still of the program that a sample was taken from? It may have executed
 * another one, or ended, and its pid may have been given to another process.
 */
#ifndef OP_PROCESS_MAPPINGS_SAME_PROCESS_H
#define OP_PROCESS_MAPPINGS_SAME_PROCESS_H

#include <stdbool.h>

struct op_mappings;
struct op_processes;
struct op_program;
struct op_stat;
struct op_mapping;

/* Is what /proc has under the program's pid still the same process? Another one of that pid
 * began later. */
bool op_same_process(const struct op_program *program, const struct op_stat *stat);

/* Does the code that /proc tells of lie in what the program had mapped? True where that
 * cannot be told. */
bool op_same_program(const struct op_stat *stat, const struct op_mappings *mappings);

/* Find the mapping of the program's own code, as /proc tells where it ends, or NULL. */
const struct op_mapping *op_same_code(const struct op_stat *stat,
				      const struct op_mappings *mappings);

/* Does the program still run in its process? *@ret, which may be NULL, is of what does, if it
 * is true. */
bool op_same_runs(struct op_processes *p, const struct op_program *program,
		  const struct op_mappings *mappings, struct op_stat *ret);

/* Has no other program been executed since @before was read? */
bool op_same_exec(struct op_processes *p, const struct op_program *program,
		  const struct op_stat *before);

#endif
