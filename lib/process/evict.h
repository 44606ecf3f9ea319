/* SPDX-License-Identifier: Apache-2.0 */
/* Makes room in a full arena: tables that no sample needed lately are given up. */
#ifndef OP_PROCESS_EVICT_H
#define OP_PROCESS_EVICT_H

#include <stdbool.h>
#include <stdint.h>

#include "op_user_types.h"

struct op_image;
struct op_processes;
struct op_program;
struct op_vma;

/*
 * Give up the least recently used tables except that of @keep, until their sum is what
 * one table is likely to need. Their processes are published first, with lazy mappings.
 * The memory can be allocated again after the arena's grace period, so the caller must
 * try again later.
 */
void op_evict_table(struct op_processes *p, const struct op_image *keep);

/* The same as op_publish_make_table(). If the arena is full, it gives up tables that no
 * sample needed lately, so that a later attempt finds room. */
int op_evict_make_table(struct op_processes *p, const struct op_program *program,
			const struct op_vma *v);

/* Find the rule for @pc in @v while the table of its file is being made. Returns whether
 * it is known. */
bool op_evict_rule(const struct op_vma *v, uint64_t pc, struct op_rule *ret);
/* Go on with a table that was begun. When it is complete, the processes that map its file
 * are marked for publication. */
void op_evict_go_on(struct op_processes *p);

#endif
