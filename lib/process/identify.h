/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Who a program is, read from /proc at its first sample: executable, container, what it says
 * of itself, and what the configuration asks for. Later it is looked at again where that can
 * have changed: a process context may be published at any time.
 */
#ifndef OP_PROCESS_IDENTIFY_H
#define OP_PROCESS_IDENTIFY_H

#include "op_user_types.h"

struct op_layout;
struct op_processes;
struct op_program;

/*
 * Learn what is not known yet of @program, which @record was taken of; @layout is what it
 * had mapped then, or NULL. Of one that has ended only what needs no /proc.
 *
 * A program may execute another one between the sample and the reading: /proc then tells of
 * the new one. So what is read counts only if the code in /proc/PID/stat lies in @layout;
 * otherwise program->identified stays false and the next sample tries again.
 */
void op_identify_identify(struct op_processes *p, struct op_program *program,
			  const struct op_record *record, const struct op_layout *layout);

/* Of one that is identified, in a new window: what may have changed since. */
void op_identify_refresh(struct op_processes *p, struct op_program *program,
			 const struct op_record *record, const struct op_layout *layout);

#endif
