/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The context of a sample's thread: a link to trace and span, and labels. Labels are
 * announced once a window and referred to by a hash, like stacks. Those of this window
 * and of the one before are kept, with their form in the open window.
 */
#ifndef OP_SAMPLE_TRACE_CONTEXTS_H
#define OP_SAMPLE_TRACE_CONTEXTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/vec.h"
#include "profile/window.h"
#include "sample/kept/announced.h"

struct op_program;

enum {
	/* Different sets of labels of one program in a window. A program with a new set
	 * for each sample would fill the window with them. */
	OP_PROGRAM_LABELS_MAX = 4096,
};

/* Labels as they are in a window. */
struct op_trace_context {
	struct op_hash hash;
	struct op_link link; /* if the labels have one */
	bool has_link;
	struct op_attribute_set labels;
};

struct op_trace_contexts {
	struct op_announced announced;
	struct op_map64 by_hash; /* first word of the hash to the index in contexts */
	OP_VEC(struct op_trace_context) contexts;
	uint32_t epoch; /* of contexts */
	uint64_t lost;	/* samples without their context: not announced, or no memory */
	/* labels past OP_LABELS_MAX of one sample, OP_PROGRAM_LABELS_MAX of a program */
	uint64_t cut;
};

/* The context of @len bytes at @bytes, of which @left are there; all zero if @len is 0.
 * Returns 0 or -EBADMSG. */
int op_trace_contexts_read(const uint8_t *bytes, size_t left, size_t len,
			   struct op_thread_context *ret);

/* Keep a record of OP_RECORD_LABELS. 0, -EBADMSG, -ENOSPC or -ENOMEM. */
int op_trace_contexts_announce(struct op_trace_contexts *c, const void *record,
			       size_t len);

/*
 * Put @context into @sample: its link, and its labels after those that the sample has.
 * @program is that of the thread, and may be NULL. Labels that do not fit into the
 * window are left out. Returns false if its labels were not announced, and must be
 * announced again.
 */
bool op_trace_contexts_apply(struct op_trace_contexts *c, struct op_program *program,
			     const struct op_thread_context *context,
			     struct op_window *window, struct op_window_sample *sample);

/* A window ended. */
void op_trace_contexts_turn(struct op_trace_contexts *c);
void op_trace_contexts_deinit(struct op_trace_contexts *c);

#endif
