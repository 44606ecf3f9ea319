/* SPDX-License-Identifier: Apache-2.0 */
/* Makes room: tables that no sample needed lately are given up in a full arena; tables, and
 * processes that were not used lately, where all memory together is limited. */
#ifndef OP_PROCESS_EVICT_H
#define OP_PROCESS_EVICT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "op_user_types.h"

struct op_image;
struct op_processes;
struct op_program;
struct op_mapping;

/*
 * Give up the least recently used tables except that of @keep, until their sum is what
 * one table is likely to need. Their processes are published first, with lazy mappings.
 * The memory can be allocated again after the arena's grace period, so the caller must
 * try again later.
 */
void op_evict_table(struct op_processes *p, const struct op_image *keep);

/* Give up tables that no sample needed lately, but none of runtimes, until they have @bytes in the
 * arena. Returns how many bytes they had, which are free after the arena's grace period. */
uint64_t op_evict_tables(struct op_processes *p, uint64_t bytes);
/* Forget processes that were not used lately until they have @bytes, about; it looks at @most at
 * most. What they hold is free after OP_PROCESS_KEEP_NS. */
void op_evict_processes(struct op_processes *p, uint64_t bytes, size_t most);
/* What processes that ended or were forgotten still hold, about. */
uint64_t op_evict_pending_bytes(const struct op_processes *p);
/* Bytes of user memory that processes and executables have, about. */
uint64_t op_evict_bytes(const struct op_processes *p);

/* The same as op_publish_make_table(). If the arena is full, it gives up tables that no
 * sample needed lately, so that a later attempt finds room. */
int op_evict_make_table(struct op_processes *p, const struct op_program *program,
			const struct op_mapping *v);

/* Find the rule for @pc in @v while the table of its file is being made. Returns whether
 * it is known. */
bool op_evict_rule(const struct op_mapping *v, uint64_t pc, struct op_unwind_rule *ret);
/* Publish the page of @pc before the table is complete, if there is time. Returns whether it is
 * there. */
bool op_evict_page(struct op_processes *p, const struct op_mapping *v, uint64_t pc);
/* Does @v wait for its table, in whole or in part? */
bool op_evict_waits(const struct op_mapping *v);
/* Go on with a table that was begun. When it is complete, the processes that map its file
 * are marked for publication. */
void op_evict_go_on(struct op_processes *p);

#endif
