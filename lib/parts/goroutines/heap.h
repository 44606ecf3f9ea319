/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The heap of a Go process, from the memory profile that its runtime keeps: samples of
 * the kinds heap and heap_live. The allocations of a window are the difference to the
 * previous snapshot, whose numbers are kept for each bucket.
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
	uint64_t remembered; /* buckets of all processes, to be set before a snapshot */
	/* The process that is being read: */
	struct op_golang_process *process;
	struct op_record record;
	struct op_window *window;
	struct op_go_profile profile;
	struct op_readahead ahead;
};

/*
 * Read the memory profile of @process, and remember buckets that are not known yet.
 * @whole: the process began after the previous snapshot, so all that it has allocated
 * is new. Returns 0; -ENOENT if the process keeps no profile; -EAGAIN if the profile
 * changed during each try; -ETIME if it is too large or takes until @until_ns; -errno.
 */
int op_golang_heap_read(struct op_golang_heap *h, struct op_golang_process *process,
			const struct op_proc *proc, bool whole, uint64_t until_ns,
			struct op_part_taken *taken);
/*
 * Add what was read, and what was allocated since the previous snapshot, to @window.
 * Stops at @until_ns. The rest then counts as dropped, and the next snapshot begins
 * there and reports it. Returns 0, or -EINPROGRESS if it stopped.
 */
int op_golang_heap_take(struct op_golang_heap *h, const struct op_record *record,
			struct op_window *window, uint64_t until_ns,
			struct op_part_taken *taken);
void op_golang_heap_deinit(struct op_golang_heap *h);

#endif
