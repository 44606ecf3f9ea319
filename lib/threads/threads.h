/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A snapshot of threads: each that the filter means, with its state, its kernel stack and its
 * user stack. The kernel tells of all threads (bpf/event/threads.bpf.c), their stacks are read
 * and walked here, and then the kernel tells which have run meanwhile: of those the stack is
 * not known.
 */
#ifndef OP_THREADS_THREADS_H
#define OP_THREADS_THREADS_H

#include <stdint.h>

struct op_capture;
struct op_sampler;
struct op_window;

/* What a snapshot came to. */
struct op_threads_taken {
	uint64_t taken;
	uint64_t dropped_window; /* did not fit it, or OP_THREADS_MAX */
	uint64_t dropped_memory;
	uint64_t dropped_record;
};

enum {
	OP_THREADS_MAX = 131072, /* of a snapshot */
};

/* Put all threads into @window, where the kind is on; adds to *@ret. 0 or -errno. */
int op_threads_snapshot(struct op_capture *capture, struct op_sampler *sampler,
			struct op_window *window, struct op_threads_taken *ret);

#endif
