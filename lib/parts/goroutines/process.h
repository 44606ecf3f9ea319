/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process that runs Go: where its runtime has its variables, and what was learnt of it. It is
 * learnt once, and kept from snapshot to snapshot.
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
	OP_GOLANG_ENTRIES_MAX = 4096, /* pcs that are known to begin a function, or not */
};

struct op_golang_process {
	/* Of its program: another one has that pid later. */
	uint32_t pid;
	uint64_t since_ns;
	uint64_t born_ns;
	uint32_t round; /* the last snapshot that it is in */
	uint32_t minor; /* its version: Go 1.minor */
	bool searched;	/* for goroutines, at searched_ns (CLOCK_MONOTONIC) */
	uint64_t searched_ns;
	const struct op_go_layout *layout;
	struct op_go_places places;
	struct op_go_reasons reasons;
	struct op_go_search heap_search; /* for places.buckets */
	bool heap_searched;		 /* it is over */
	struct op_map64 entries;	 /* pc -> 1 if a function begins there, or 0 */
	/* Its file, open during a snapshot if it was needed; NULL: not open. */
	struct op_elf *elf;
	struct op_gopclntab *table;
	uint64_t bias;	     /* process address - ELF address */
	bool no_table;	     /* it could not be opened in this snapshot */
	bool waits;	     /* its waits are looked at */
	unsigned int visits; /* under way (visit.h), which refer to it between polls */
	uint64_t parked_pc;  /* where goroutines that wait go on; 0: none was seen */
	/* Its heap as the last snapshot found it (heap.h). */
	uint32_t heap_round;   /* that snapshot; 0: none */
	bool heap_known;       /* what is not remembered is new */
	bool heap_whole;       /* all of it is new, until it is known */
	bool heap_old;	       /* it was forgotten: what it had may have been reported */
	uint64_t heap_stacks;  /* that it reported */
	uint64_t heap_stopped; /* the bucket that it had no time for; 0: none */
	struct op_map64 heap_allocs; /* address of a bucket -> its allocations */
};

/*
 * Learn the process @proc, which is alive. *@ret is NULL if it does not run Go. Its layout is
 * NULL if its version is not known; its places are what its symbols tell. Returns 0 or -ENOMEM.
 */
int op_golang_process_new(struct op_processes *p, const struct op_proc *proc,
			  struct op_golang_process **ret);
struct op_golang_process *op_golang_process_free(struct op_golang_process *g);
OP_DEFINE_CLEANUP(struct op_golang_process *, op_golang_process_free)

/* Search its goroutines, in its variables if it has no symbols. If they are not found,
 * places.allgs is 0. */
void op_golang_process_search(struct op_golang_process *g, struct op_processes *p,
			      const struct op_proc *proc);
/* Search its heap in its code if it has no symbols, until @until_ns (op_allowance_now()). Returns 0
 * if that is over: where it is not found, places.buckets stays 0; -EINPROGRESS; or -errno. */
int op_golang_process_search_heap(struct op_golang_process *g, struct op_processes *p,
				  const struct op_proc *proc, uint64_t until_ns);
/* Is it still the program that was learnt? */
bool op_golang_process_is(const struct op_golang_process *g, const struct op_proc *proc);
/* Does a function begin at process address @pc? False if that is not known. */
bool op_golang_process_begins(struct op_golang_process *g, struct op_processes *p,
			      const struct op_proc *proc, uint64_t pc);
/* Does @o wait for something, or for a thread behind such a wait? Goroutines of the runtime
 * itself that wait for work do not count. */
bool op_golang_process_waits(struct op_golang_process *g, const struct op_goroutine *o);
/* Forget its heap: all of it is old at the next snapshot. */
void op_golang_process_forget_heap(struct op_golang_process *g);
/* The snapshot is over: close the file, and forget what was read of it. */
void op_golang_process_rest(struct op_golang_process *g);

#endif
