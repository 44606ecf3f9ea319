/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The heap of a Go process, by the memory profile that its runtime keeps: samples of the
 * kinds heap and heap_live. Allocations are reported as the difference to the snapshot
 * before, for which the numbers of each bucket are kept.
 */
#ifndef OP_PARTS_GOROUTINES_HEAP_H
#define OP_PARTS_GOROUTINES_HEAP_H

#include <stdbool.h>
#include <stdint.h>

#include "op_user_types.h"
#include "parts/goroutines/process.h"
#include "parts/parts.h"
#include "runtime/go/buckets.h"
#include "runtime/readahead.h"

enum {
	OP_GOLANG_REMEMBERED_MAX = 262144, /* buckets of all processes */
};

struct op_golang_heap {
	struct op_processes *processes; /* borrowed */
	struct op_sampler *sampler;	/* borrowed */
	uint64_t remembered; /* by all processes, to be set before a snapshot */
	/* Of the process that is read. */
	struct op_golang_process *process;
	struct op_record record;
	struct op_window *window;
	struct op_go_profile profile;
	struct op_readahead ahead;
};

/*
 * Read what @process has on its heap, and note what is not remembered yet. @whole: it began
 * after the snapshot before, so that all it has allocated is new. Returns 0; -ENOENT if the
 * process keeps no profile; -EAGAIN if it changed each time; -ETIME if it is too much, or takes until
 * @until_ns; -errno.
 */
int op_golang_heap_read(struct op_golang_heap *h, struct op_golang_process *process,
			const struct op_proc *proc, bool whole, uint64_t until_ns,
			struct op_part_taken *taken);
/*
 * Take what was read, and what was allocated since the last time, into @window. It stops
 * at @until_ns; then what is left counts as dropped, and the next snapshot, which begins
 * there, reports what was allocated there. Returns 0, or -EINPROGRESS if it stopped.
 */
int op_golang_heap_take(struct op_golang_heap *h, const struct op_record *record,
			struct op_window *window, uint64_t until_ns,
			struct op_part_taken *taken);
void op_golang_heap_deinit(struct op_golang_heap *h);

#endif
