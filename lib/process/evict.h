/* SPDX-License-Identifier: Apache-2.0 */
/* Frees memory. A full arena frees the tables that no sample needed lately. The limit of
 * all memory also forgets processes that were not used lately. */
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
 * Free the least recently used tables except that of @keep, as many bytes as one table is
 * likely to need. First their processes are published with lazy mappings. The memory can
 * be allocated again after the arena's grace period, so the caller must try again later.
 */
void op_evict_table(struct op_processes *p, const struct op_image *keep);

/* Free tables that no sample needed lately, except those of runtimes, until they add up
 * to @bytes. Returns their bytes, which the arena can use after its grace period. */
uint64_t op_evict_tables(struct op_processes *p, uint64_t bytes);
/* Forget processes that were not used lately, until they add up to about @bytes. It
 * checks @most processes. Their memory is freed after OP_PROCESS_KEEP_NS. */
void op_evict_processes(struct op_processes *p, uint64_t bytes, size_t most);
/* About the bytes that ended and forgotten processes still hold. */
uint64_t op_evict_pending_bytes(const struct op_processes *p);
/* About the bytes of user memory of all processes and executables. */
uint64_t op_evict_bytes(const struct op_processes *p);

/* Calls op_publish_make_table(). If the arena is full, it also frees tables that no
 * sample needed lately, so that a later attempt succeeds. */
int op_evict_make_table(struct op_processes *p, const struct op_program *program,
			const struct op_mapping *v);

/* Find the rule for @pc in @v while the table of its file is being made. Returns whether
 * it is known. */
bool op_evict_rule(const struct op_mapping *v, uint64_t pc, struct op_unwind_rule *ret);
/* If there is time, publish the page of @pc before the table is complete. Returns whether
 * the page is published. */
bool op_evict_page(struct op_processes *p, const struct op_mapping *v, uint64_t pc);
/* Does @v wait for its table, in whole or in part? */
bool op_evict_waits(const struct op_mapping *v);
/* Continue a table. When it is complete, the processes that map its file are marked for
 * publication. It gets one of @parts of a poll's time. */
void op_evict_go_on(struct op_processes *p, uint32_t parts);

#endif
