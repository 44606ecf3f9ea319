/* SPDX-License-Identifier: Apache-2.0 */
/* The goroutines of one process, a few at a time. */
#ifndef OP_PARTS_GOROUTINES_VISIT_H
#define OP_PARTS_GOROUTINES_VISIT_H

#include <stddef.h>
#include <stdint.h>

#include "op_user_types.h"
#include "parts/goroutines/process.h"
#include "parts/parts.h"
#include "runtime/go/goroutine.h"

enum {
	OP_GOLANG_CHUNK = 256, /* pointers read at once */
};

struct op_golang_visit {
	struct op_processes *processes;	   /* borrowed */
	struct op_sampler *sampler;	   /* borrowed */
	struct op_golang_process *process; /* borrowed; NULL: none is visited */
	struct op_record record;	   /* the process, from the kernel's record */
	struct op_go_slice slice;
	uint64_t index; /* index in slice of the next one */
	uint64_t chunk[OP_GOLANG_CHUNK];
	uint64_t chunk_index; /* index in slice of chunk[0] */
	size_t chunk_len;
	uint32_t failures;   /* in a row */
	size_t window_bytes; /* size of the window when the visit began */
	/* 0: a snapshot of all goroutines. Otherwise only those that wait, and the time
	 * that each stands for. */
	uint64_t waits_ns;
	uint8_t stack[OP_GO_STACK_BYTES];
};

/* Begin with @process, unless its list cannot be read. */
void op_golang_visit_begin(struct op_golang_visit *v, struct op_golang_process *process,
			   const struct op_record *record, const struct op_memory *memory,
			   const struct op_window *window, struct op_part_taken *taken);
/* Add the next goroutine to @window. After the last one the visit is over. Returns 0,
 * or -EINPROGRESS if the time is over. */
int op_golang_visit_go_on(struct op_golang_visit *v, struct op_window *window,
			  struct op_part_taken *taken);
/* End the visit. */
void op_golang_visit_end(struct op_golang_visit *v);

#endif
