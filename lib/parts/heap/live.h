/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sampled allocations that are in use. The kernel's map (op_heap_lives) lists them.
 * Their stacks and resources are kept here, in a window of their own, because
 * allocations outlive the windows of samples. Time and thread of a sample identify its
 * entry.
 */
#ifndef OP_PARTS_HEAP_LIVE_H
#define OP_PARTS_HEAP_LIVE_H

#include "base/hash.h"
#include "base/vec.h"
#include "kernel/capture.h"
#include "parts/parts.h"
#include "profile/window.h"

enum {
	/* Samples kept. When so many are reached, those of freed memory are removed. */
	OP_LIVE_KEPT_MAX = 2 * OP_HEAP_LIVE_MAX,
	OP_LIVE_STORE_BYTES = 32 << 20, /* memory for their stacks */
};

/* A sample. Its stack and resource are indices in the store. */
struct op_live_entry {
	uint64_t time_ns;
	uint32_t tid;
	uint32_t resource;
	uint32_t stack;
	bool in_use; /* according to the last read of the kernel's map */
};

struct op_live {
	struct op_processes *processes;
	struct op_window *store;
	OP_VEC(struct op_live_entry) entries;
	struct op_map64 by_sample; /* key of time and thread -> index in entries */
	/* stack number in the window with `epoch` -> number in the store */
	struct op_map64 stacks;
	uint32_t epoch;
	uint64_t random;  /* state of random numbers */
	uint64_t count;	  /* in use at the last snapshot */
	uint64_t unknown; /* those of them without a sample */
};

int op_live_init(struct op_live *l, struct op_processes *processes);
void op_live_deinit(struct op_live *l);
/* Forget everything. Nothing counts as in use. */
void op_live_reset(struct op_live *l);
/* Store the sample of @record, which @window holds as @sample. */
void op_live_keep(struct op_live *l, const struct op_capture_heap *maps,
		  const struct op_record *record, const struct op_window *window,
		  const struct op_window_sample *sample);
/* Add to @window what is in use according to the kernel's @maps. Returns 0 or -errno. */
int op_live_snapshot(struct op_live *l, const struct op_capture_heap *maps,
		     struct op_window *window, struct op_part_taken *ret);

#endif
