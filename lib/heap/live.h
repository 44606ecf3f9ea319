/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What of the sampled allocations is in use. The kernel's map says which (op_heap_lives); here
 * stand the stacks and resources they were allocated by, in a window of its own, because what is
 * in use outlives the windows of samples. An entry is found by the time and thread of its sample.
 */
#ifndef OP_HEAP_LIVE_H
#define OP_HEAP_LIVE_H

#include "base/hash.h"
#include "base/vec.h"
#include "capture/capture.h"
#include "heap/heap.h"
#include "profile/window.h"

enum {
	/* Samples that are kept; before there are more those are forgotten that were freed. */
	OP_LIVE_KEPT_MAX = 2 * OP_HEAP_LIVE_MAX,
	OP_LIVE_STORE_BYTES = 32 << 20, /* of their stacks */
};

/* A sample, by numbers of the store. */
struct op_live_entry {
	uint64_t time_ns;
	uint32_t tid;
	uint32_t resource;
	uint32_t stack;
	bool in_use; /* as the kernel's map said last */
};

struct op_live {
	struct op_processes *processes;
	struct op_window *store;
	OP_VEC(struct op_live_entry) entries;
	struct op_map64 by_sample; /* to the index in entries */
	struct op_map64 stacks;	   /* of the window with `epoch`: to the store's */
	uint32_t epoch;
	uint64_t unknown; /* in use, by a sample that is not kept */
	uint64_t count;	  /* in use at the last snapshot */
};

int op_live_init(struct op_live *l, struct op_processes *processes);
void op_live_deinit(struct op_live *l);
/* Nothing is in use. */
void op_live_reset(struct op_live *l);
/* Keep the sample of @record, which @window has taken as @sample. */
void op_live_keep(struct op_live *l, const struct op_capture_heap *maps,
		  const struct op_record *record, const struct op_window *window,
		  const struct op_window_sample *sample);
/* Put what is in use by the kernel's @maps into @window. 0 or -errno. */
int op_live_snapshot(struct op_live *l, const struct op_capture_heap *maps,
		     struct op_window *window, struct op_heap_taken *ret);

#endif
