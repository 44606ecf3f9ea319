/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Generations: what was published of a process, with the program and the mappings it had
 * then. Nothing that was published is changed; what is replaced is kept for
 * OP_PROCESS_KEEP_NS, for records that name it and are still to come.
 */
#ifndef OP_PROCESS_GENERATION_H
#define OP_PROCESS_GENERATION_H

#include <stdbool.h>
#include <stdint.h>

#include "op_user_types.h"

struct op_changes;
struct op_generation;
struct op_mappings;
struct op_proc;
struct op_processes;
struct op_program;

/* Would a new generation of @proc be equal to the current one? */
bool op_generation_is_current(const struct op_processes *p, const struct op_proc *proc);
/* Write @proc as it is now to the arena. Returns 0 or -errno. */
int op_generation_new(struct op_processes *p, struct op_proc *proc,
		      struct op_generation **ret);
/* Of a generation in no list; NULL is allowed. */
void op_generation_free(struct op_processes *p, struct op_generation *g);
/* Give it to the programs, unless they have it. Returns 0 or -errno. */
int op_generation_commit(struct op_processes *p, struct op_proc *proc,
			 struct op_generation *g);
/* A sample was not walked, since what the programs have of @proc led to the tables of another
 * process: @number is what they have. If it is the current one's, they get it once more. */
void op_generation_mend(struct op_processes *p, const struct op_proc *proc,
			uint32_t number);
/* The current one was replaced: keep it for late records. */
void op_generation_retire(struct op_processes *p, struct op_proc *proc);
/* Call this before the program or the mappings of @proc are replaced: records of the old
 * ones are still to come, so they are kept, whether they were published or not. */
void op_generation_keep(struct op_processes *p, struct op_proc *proc);
/* Free those of all processes that were kept long enough. */
void op_generation_expire(struct op_processes *p);
/* Free all of @proc. */
void op_generation_drop(struct op_processes *p, struct op_proc *proc);
/* The one of that number of @proc or of earlier processes with its pid; NULL if it is no
 * longer kept. */
struct op_generation *op_generation_find(const struct op_proc *proc, uint32_t number);

/* What @proc has mapped at [@start, @end) since @time_ns is not what was there before. */
void op_generation_changed(struct op_processes *p, struct op_proc *proc, uint64_t start,
			   uint64_t end, uint64_t time_ns);

/* A process at one time: its program, and the mappings that it had. */
struct op_proc_view {
	struct op_program *program;
	struct op_mappings *mappings;
	const struct op_changes *changes; /* of the process */
	uint32_t change_number;		  /* op_changes.number of the mappings */
};

/* Has @proc put one thing into the place of another, or taken one away? */
bool op_proc_replaces(const struct op_proc *proc);

/* The process as it is now. */
struct op_proc_view op_proc_view_now(const struct op_proc *proc);
/* The process as it was published under @number. Returns false if that is no longer
 * kept. */
bool op_proc_view_published(const struct op_proc *proc, uint32_t number,
			    struct op_proc_view *ret);
/* The process as it was at @time_ns if that is known, otherwise as it is now.
 * *@ret_before: the mappings of the program that ran before that one, or NULL. */
struct op_proc_view op_proc_view_at(const struct op_proc *proc, uint64_t time_ns,
				    const struct op_mappings **ret_before);
/* The struct op_process that is published now, in the arena; 0: none. */
op_ref op_proc_view_published_now(const struct op_proc *proc);

#endif
