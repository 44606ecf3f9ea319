/* SPDX-License-Identifier: Apache-2.0 */
/* The processes of a snapshot, and the known Go processes among them. */
#ifndef OP_PARTS_GOROUTINES_PROCESSES_H
#define OP_PARTS_GOROUTINES_PROCESSES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/log.h"
#include "base/vec.h"
#include "op_user_types.h"
#include "parts/goroutines/process.h"

struct op_golang_processes {
	struct op_processes *processes; /* borrowed */
	OP_VEC(struct op_golang_process *) list;
};

void op_golang_processes_deinit(struct op_golang_processes *k);
/* The index of @proc in the list, or SIZE_MAX. */
size_t op_golang_processes_find(const struct op_golang_processes *k,
				const struct op_proc *proc);
/* As above, but examines a process that is not in the list. SIZE_MAX: it does not run
 * Go. */
size_t op_golang_processes_get(struct op_golang_processes *k, const struct op_proc *proc);
/* Remove entry @i. The last one moves to its place. */
void op_golang_processes_forget(struct op_golang_processes *k, size_t i);
/* Forget processes that have ended, except those with a visit under way. */
void op_golang_processes_sweep(struct op_golang_processes *k);

/* The processes that the filter includes, one after another. */
struct op_golang_queue {
	OP_VEC(struct op_record) records;
	size_t begun; /* index in records of the first process to take */
	size_t at;    /* number of processes taken */
	uint32_t learnt;
	uint32_t first; /* pid of the process with which the next list begins; 0: any */
	bool reported;	/* it was logged that not all could be listed */
};

/* List the processes by the iterator @program (a descriptor). Returns 0, or -errno with
 * the processes listed so far. The first such error goes to @log and names the
 * snapshot, @what. */
int op_golang_queue_list(struct op_golang_queue *w, int program, struct op_log *log,
			 const char *what);
/* The next process, or NULL. */
const struct op_record *op_golang_queue_next(struct op_golang_queue *w);
/* The process of @record. If it was forgotten because it was idle, it is read from
 * /proc, a bounded number of them for each list. NULL: it is not known. */
struct op_proc *op_golang_queue_proc(struct op_golang_queue *w, struct op_processes *p,
				     const struct op_record *record);
void op_golang_queue_clear(struct op_golang_queue *w);

#endif
