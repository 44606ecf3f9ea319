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
	OP_GOLANG_CHUNK = 256, /* pointers that are read at once */
};

struct op_golang_visit {
	struct op_processes *processes;	   /* borrowed */
	struct op_sampler *sampler;	   /* borrowed */
	struct op_golang_process *process; /* borrowed; NULL: none is visited */
	struct op_record record;	   /* the process, as in the kernel's record */
	struct op_go_slice slice;
	uint64_t index; /* in slice: the next one */
	uint64_t chunk[OP_GOLANG_CHUNK];
	uint64_t chunk_index; /* index in slice of chunk[0] */
	size_t chunk_len;
	uint32_t failures;   /* in a row */
	size_t window_bytes; /* of the window when it began */
	/* 0: a snapshot of all. Otherwise of those that wait: what each stands for */
	uint64_t waits_ns;
	uint8_t stack[OP_GO_STACK_BYTES];
};

/* Begin with @process, unless its list cannot be read. */
void op_golang_visit_begin(struct op_golang_visit *v, struct op_golang_process *process,
			   const struct op_record *record, const struct op_memory *memory,
			   const struct op_window *window, struct op_part_taken *taken);
/* Take the next one into @window; after the last one the visit is over. Returns 0, or
 * -EINPROGRESS: no time is left. */
int op_golang_visit_go_on(struct op_golang_visit *v, struct op_window *window,
			  struct op_part_taken *taken);
/* End the visit. */
void op_golang_visit_end(struct op_golang_visit *v);

#endif
