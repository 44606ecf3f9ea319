/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A generation is one state of a process: its program and mappings at that time. A
 * published one never changes. After it is replaced it is kept for OP_PROCESS_KEEP_NS,
 * because records that name it may still arrive.
 */
#ifndef OP_PROCESS_GENERATION_H
#define OP_PROCESS_GENERATION_H

#include <stdbool.h>
#include <stdint.h>

#include "op_user_types.h"

struct op_change;
struct op_changes;
struct op_generation;
struct op_mappings;
struct op_proc;
struct op_processes;
struct op_program;

/* Would a new generation of @proc be equal to the current one? */
bool op_generation_is_current(const struct op_processes *p, const struct op_proc *proc);
/* Write the current state of @proc to the arena. Returns 0 or -errno. */
int op_generation_new(struct op_processes *p, struct op_proc *proc,
		      struct op_generation **ret);
/* Free a generation that is in no list. NULL is allowed. */
void op_generation_free(struct op_processes *p, struct op_generation *g);
/* Publish @g to the BPF programs, unless they have it. Returns 0 or -errno. */
int op_generation_commit(struct op_processes *p, struct op_proc *proc,
			 struct op_generation *g);
/* A sample was not walked, because generation @number led the BPF programs to the tables
 * of another process. If @number is the current generation of @proc, publish it again. */
void op_generation_mend(struct op_processes *p, const struct op_proc *proc,
			uint32_t number);
/* The current generation was replaced: keep it for late records. */
void op_generation_retire(struct op_processes *p, struct op_proc *proc);
/* Call this before the program or the mappings of @proc are replaced. Records of the old
 * ones may still arrive, so both are kept, published or not. */
void op_generation_keep(struct op_processes *p, struct op_proc *proc);
/* Free the generations of all processes that were kept long enough. */
void op_generation_expire(struct op_processes *p);
/* Free all generations of @proc. */
void op_generation_drop(struct op_processes *p, struct op_proc *proc);
/* The generation @number of @proc, or of an earlier process with its pid. NULL if it is
 * no longer kept. */
struct op_generation *op_generation_find(const struct op_proc *proc, uint32_t number);

/* Note a change of the mappings of @proc. */
void op_generation_note(struct op_processes *p, struct op_proc *proc,
			const struct op_change *change);
/* From @since_ns to @until_ns the mapping of @proc at [@start, @end) changed to a file with
 * that base, or to memory without a file (0). */
void op_generation_changed(struct op_processes *p, struct op_proc *proc, uint64_t start,
			   uint64_t end, uint64_t base, uint64_t since_ns,
			   uint64_t until_ns);

/* The program and the mappings of a process at one time. */
struct op_proc_view {
	struct op_program *program;
	struct op_mappings *mappings;
	/* the later changes of the process's mappings */
	const struct op_changes *changes;
	uint32_t change_number; /* op_changes.number of the mappings */
	uint32_t generation;	/* the number of the published one; 0: none */
};

/* The process now. */
struct op_proc_view op_proc_view_now(const struct op_proc *proc);
/* The process as published in generation @number. Returns false if that is no longer
 * kept. */
bool op_proc_view_published(const struct op_proc *proc, uint32_t number,
			    struct op_proc_view *ret);
/* The process at @time_ns if that is known, otherwise now. *@ret_before: the mappings of
 * the program that ran before, or NULL. */
struct op_proc_view op_proc_view_at(const struct op_proc *proc, uint64_t time_ns,
				    const struct op_mappings **ret_before);
/* The currently published struct op_process in the arena. 0: none. */
op_ref op_proc_view_published_now(const struct op_proc *proc);

#endif
