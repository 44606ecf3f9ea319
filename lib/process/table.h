/* SPDX-License-Identifier: Apache-2.0 */
/* The table of processes: their birth, change and end, and what each was at a moment. */
#ifndef OP_PROCESS_TABLE_H
#define OP_PROCESS_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#include "op_user_types.h"
#include "process/processes.h"

struct op_layout;
struct op_proc;
struct op_processes;
struct op_program;

/* The newest process of that pid, alive or ended; or NULL. */
struct op_proc *op_table_find(const struct op_processes *p, uint32_t pid);
/* The one that lives; or NULL. */
struct op_proc *op_table_find_alive(const struct op_processes *p, uint32_t pid);
/* A new one; one alive of that pid ends. 0, -ENOMEM, -ENOSPC at max_processes. */
int op_table_add(struct op_processes *p, uint32_t pid, uint64_t born_ns,
		 struct op_proc **ret);
/* It ended; kept for late records. */
void op_table_end(struct op_processes *p, struct op_proc *proc, uint64_t time_ns);
/* It lives, but is known no more: learnt anew when it is next met. */
void op_table_forget(struct op_processes *p, struct op_proc *proc);
/* Forget the ended ones whose time is over. */
void op_table_expire(struct op_processes *p);
/* Forget all. */
void op_table_clear(struct op_processes *p);

/* Add a mapping to what @proc has. 0, 1 where nothing changed, or -errno. */
int op_table_map(struct op_processes *p, struct op_proc *proc,
		 const struct op_mmap_event *e);

/* Read the process's maps and hold to them. 0 or -errno. */
int op_table_rescan(struct op_processes *p, struct op_proc *proc);
/* A process met for the first time: by /proc. NULL where that does not know it either. */
struct op_proc *op_table_learn(struct op_processes *p, uint32_t pid);
/* The process of a record, learnt where it is new. NULL where it cannot be known. */
struct op_proc *op_table_of_record(struct op_processes *p,
				   const struct op_record *record);

/* Call @fn for each living process; it must not add or remove any. */
void op_table_each(struct op_processes *p,
		   void (*fn)(struct op_processes *p, struct op_proc *proc));

/* A process at one moment: which program it is or was, and what it had mapped. */
struct op_proc_view {
	struct op_program *program;
	struct op_layout *layout;
};

/* As it is now. */
struct op_proc_view op_proc_view_now(const struct op_proc *proc);
/* As it was published under @number. Returns false where that is not kept any more. */
bool op_proc_view_published(const struct op_proc *proc, uint32_t number,
			    struct op_proc_view *ret);
/*
 * As it was at @time_ns, where that is known; else as it is now. *@ret_before: what the
 * program that was executed then had mapped before, or NULL.
 */
struct op_proc_view op_proc_view_at(const struct op_proc *proc, uint64_t time_ns,
				    const struct op_layout **ret_before);
/* Its struct op_process in the arena; 0 where it is not published. */
op_ref op_proc_view_published_now(const struct op_proc *proc);

#endif
