/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A snapshot of threads: each thread that the filter includes, with its state, its kernel
 * stack and its user stack. A BPF iterator lists all threads (bpf/event/snapshot/threads.bpf.c).
 * Their stacks are read and walked here. Then a second iterator tells which threads ran
 * meanwhile: their stacks are unknown.
 */
#ifndef OP_PARTS_THREADS_THREADS_H
#define OP_PARTS_THREADS_THREADS_H

#include <stdint.h>

struct op_capture;
struct op_sampler;
struct op_window;

/* The result of a snapshot. */
struct op_threads_taken {
	uint64_t taken;
	uint64_t dropped_window; /* beyond the window's limit or OP_THREADS_MAX */
	uint64_t dropped_memory;
	uint64_t dropped_record;
};

enum {
	OP_THREADS_MAX = 131072, /* threads of a snapshot */
};

/* Add all threads to @window if the kind is on; adds to *@ret. Returns 0 or -errno. */
int op_threads_snapshot(struct op_capture *capture, struct op_sampler *sampler,
			struct op_window *window, struct op_threads_taken *ret);

#endif
