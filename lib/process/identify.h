/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Identifies a program from /proc at its first sample: executable, container, what the
 * program publishes about itself, and what the configuration asks for. It is identified
 * again when that may have changed: a process context may be published at any time.
 */
#ifndef OP_PROCESS_IDENTIFY_H
#define OP_PROCESS_IDENTIFY_H

#include "op_user_types.h"

struct op_mappings;
struct op_processes;
struct op_program;

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

#endif
