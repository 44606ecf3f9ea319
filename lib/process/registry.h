/* SPDX-License-Identifier: Apache-2.0 */
/* The table of processes: adds, changes and ends them. */
#ifndef OP_PROCESS_REGISTRY_H
#define OP_PROCESS_REGISTRY_H

#include <stdbool.h>
#include <stdint.h>

#include "op_user_types.h"
#include "process/processes.h"

struct op_mappings;
struct op_proc;
struct op_processes;

/* The newest process with that pid, alive or ended; or NULL. */
struct op_proc *op_registry_find(const struct op_processes *p, uint32_t pid);
/* The process with that pid that is alive; or NULL. */
struct op_proc *op_registry_find_alive(const struct op_processes *p, uint32_t pid);
/* Add a process. A living one with that pid ends. Returns 0, -ENOMEM, or -ENOSPC at
 * max_processes. */
int op_registry_add(struct op_processes *p, uint32_t pid, uint64_t born_ns,
		    struct op_proc **ret);
/* The process ended at @time_ns (0: at an unknown time). It is kept for late records. */
void op_registry_end(struct op_processes *p, struct op_proc *proc, uint64_t time_ns);
/* Stop tracking a living process. Its next record or event adds it again. */
void op_registry_forget(struct op_processes *p, struct op_proc *proc);
/* @proc is in use, even without records: do not forget it as idle. */
void op_registry_use(struct op_processes *p, struct op_proc *proc);
/* Free ended processes that were kept long enough. */
void op_registry_expire(struct op_processes *p);
/* Free all processes. */
void op_registry_clear(struct op_processes *p);

/* Add a mapping to @proc. Returns 0, 1 if nothing changed, or -errno. */
int op_registry_map(struct op_processes *p, struct op_proc *proc,
		    const struct op_mmap_event *e);

/* Read a slice of the maps of @proc in /proc. The last slice replaces the mappings of @proc.
 * Returns 0, -EINPROGRESS if op_sweep_settle() continues, or -errno. */
int op_registry_rescan(struct op_processes *p, struct op_proc *proc);
/* Drop an unfinished reading of the maps of @proc. */
void op_registry_stop_reading(struct op_processes *p, struct op_proc *proc);
/* Read the maps of @proc from their beginning. Returns like op_registry_rescan(). */
int op_registry_restart(struct op_processes *p, struct op_proc *proc);
/* Is the first reading of the maps of @proc unfinished? */
bool op_registry_is_unread(const struct op_proc *proc);
/* Evidence of a sample against the known mappings of its process. */
struct op_look {
	uint64_t time_ns;    /* of the sample; 0: now */
	uint16_t code_pages; /* at that time, low bits; 0: unknown */
	uint64_t pc;	     /* in no known mapping; 0: none */
};

/* A sample contradicts the known mappings of @proc: read its maps again. A reading that
 * finds no new file and does not explain the sample makes the next pause longer. Returns
 * 1 if the maps were read after the sample, 0 if not, -EINPROGRESS if they may be read
 * soon. */
int op_registry_look_again(struct op_processes *p, struct op_proc *proc,
			   const struct op_look *look);
/* Were events lost that @proc's maps do not make up for yet? */
bool op_registry_missed(const struct op_processes *p, const struct op_proc *proc);
/* At @time_ns another file than the known one was at @pc. The maps were read since, or cannot be
 * read now. */
void op_registry_was_other(struct op_processes *p, struct op_proc *proc, uint64_t pc,
			   uint64_t time_ns);
/* Does a sample of @time_ns with @code_pages pages of code (low bits, 0: unknown) show other
 * mappings than @mappings? */
bool op_registry_differs(const struct op_mappings *mappings, uint16_t code_pages,
			 uint64_t time_ns);
/* A sample shows that the known mappings were right at @time_ns. */
void op_registry_matched(struct op_proc *proc, uint64_t time_ns);
/*
 * The same of mappings that were read after @time_ns, because the sample showed others than
 * the published ones. The number of code pages changes without an event only by removals.
 * So those had happened, and so had what came to their places.
 */
void op_registry_explained(struct op_proc *proc, uint64_t time_ns);
/* Add a process from /proc. Returns NULL if it is not there. */
struct op_proc *op_registry_learn(struct op_processes *p, uint32_t pid);
/* The process of a record. An unknown one is added from /proc. Returns NULL if that
 * fails. */
struct op_proc *op_registry_of_record(struct op_processes *p,
				      const struct op_record *record);

/* Call @fn for each living process; it must not add or remove any. */
void op_registry_each(struct op_processes *p,
		      void (*fn)(struct op_processes *p, struct op_proc *proc));

#endif
