/* SPDX-License-Identifier: Apache-2.0 */
/* Making room in a full arena: the tables nobody needed lately are given up. */
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
 * Give up the tables used least recently, but for @keep, as far as one table is likely to
 * need. Their processes are published with lazy mappings first. The memory can be given
 * out again after the arena's grace, so the caller tries again later.
 */
void op_evict_table(struct op_processes *p, const struct op_image *keep);

/*
 * As op_publish_make_table(). Where the arena is full, tables that nobody needed lately go,
 * so that a later try finds space.
 */
int op_evict_make_table(struct op_processes *p, const struct op_program *program,
			const struct op_vma *v);

/* The rule at @pc in @v while the table of its file is made. Returns whether it is known. */
bool op_evict_rule(const struct op_vma *v, uint64_t pc, struct op_rule *ret);
/* Go on with a table that was begun; publish its processes when it is done. */
void op_evict_go_on(struct op_processes *p);

#endif
