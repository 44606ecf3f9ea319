/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process that runs Go: the addresses of its runtime's variables, and what else is
 * known of it. It is examined once, and kept from snapshot to snapshot.
 */
#ifndef OP_PARTS_GOROUTINES_PROCESS_H
#define OP_PARTS_GOROUTINES_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "runtime/go/goroutine.h"
#include "runtime/go/search.h"
#include "runtime/go/variables.h"

struct op_elf;
struct op_gopclntab;
struct op_proc;
struct op_processes;

enum {
	OP_GOLANG_ENTRIES_MAX = 4096, /* pcs known to begin a function, or known not to */
};

struct op_golang_process {
	/* Time of its program: another program may have this pid later. */
	uint32_t pid;
	uint64_t since_ns;
	uint64_t born_ns;
	uint32_t round; /* the last snapshot that contains it */
	uint32_t minor; /* its version: Go 1.minor */
	/* its goroutines were searched for, at searched_ns (CLOCK_MONOTONIC) */
	bool searched;
	uint64_t searched_ns;
	const struct op_go_layout *layout;
	struct op_go_places places;
	struct op_go_reasons reasons;
	struct op_go_search heap_search; /* that search is over */
	bool heap_searched;		 /* it is over */
	struct op_map64 entries;	 /* pc -> 1 if a function begins there, or 0 */
	/* Its file, which a snapshot opens when it needs it, or NULL. */
	struct op_elf *elf;
	struct op_gopclntab *table;
	uint64_t bias; /* process address - ELF address */
	bool no_table; /* the file could not be opened in this snapshot */
	bool waits;    /* its waits are sampled */
	/* visits under way (visit.h), which refer to it between polls */
	unsigned int visits;
	/* pc at which waiting goroutines continue; 0: none was seen */
	uint64_t parked_pc;
	/* Its heap at the last snapshot (heap.h): */
	uint32_t heap_round; /* number of that snapshot; 0: none */
	bool heap_known;     /* a bucket that is not remembered is new */
	bool heap_whole;     /* until heap_known, all of it is new */
	/* it was forgotten, so buckets that it had may have been reported */
	bool heap_old;
	uint64_t heap_stacks;	     /* stacks that it reported */
	uint64_t heap_stopped;	     /* the bucket at which the time was over; 0: none */
	struct op_map64 heap_allocs; /* address of a bucket -> its allocations */
};

/*
 * Examine the process @proc, which is alive. *@ret is NULL if it does not run Go. Its
 * layout is NULL if its version is not known. Its places are those that its symbols
 * name. Returns 0 or -ENOMEM.
 */
int op_golang_process_new(struct op_processes *p, const struct op_proc *proc,
			  struct op_golang_process **ret);
struct op_golang_process *op_golang_process_free(struct op_golang_process *g);
OP_DEFINE_CLEANUP(struct op_golang_process *, op_golang_process_free)

/* Search for its goroutines, in its variables if it has no symbols. If they are not
 * found, places.allgs stays 0. */
void op_golang_process_search(struct op_golang_process *g, struct op_processes *p,
			      const struct op_proc *proc);
/* Search for its heap, in its code if it has no symbols, until @until_ns
 * (op_allowance_now()). Returns 0 if the search is over (if nothing was found,
 * places.buckets stays 0); -EINPROGRESS; or -errno. */
int op_golang_process_search_heap(struct op_golang_process *g, struct op_processes *p,
				  const struct op_proc *proc, uint64_t until_ns);
/* Does @proc still run the program that was examined? */
bool op_golang_process_is(const struct op_golang_process *g, const struct op_proc *proc);
/* Does a function begin at process address @pc? False also if that is not known. */
bool op_golang_process_begins(struct op_golang_process *g, struct op_processes *p,
			      const struct op_proc *proc, uint64_t pc);
/* Does @o wait for an event, or for a thread after such a wait? Goroutines of the
 * runtime itself that wait for work do not count. */
bool op_golang_process_waits(struct op_golang_process *g, const struct op_goroutine *o);
/* Forget its heap: at the next snapshot all of it counts as old. */
void op_golang_process_forget_heap(struct op_golang_process *g);
/* The snapshot is over: close the file, and free what was read from it. */
void op_golang_process_rest(struct op_golang_process *g);

#endif
