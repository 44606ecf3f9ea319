/* SPDX-License-Identifier: Apache-2.0 */
/* The threads of processes at one moment: the state of each, its stack, and what it
 * waits for. */
#ifndef OP_RECORDING_TREE_THREADS_THREADS_H
#define OP_RECORDING_TREE_THREADS_THREADS_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "base/vec.h"
#include "export/format/collect/collect.h"
#include "recording/requests/filter.h"

/* The attributes that contain the state. The collection must keep stacks apart by them. */
#define THREADS_LABEL_KEY "thread.state,goroutine.wait_reason,goroutine.state"

enum {
	THREADS_FRAMES_MAX = 4096, /* frames of a stack that are shown */
};

struct thread_frame {
	uint32_t function; /* functions of the collection */
	uint32_t line;
};

struct thread {
	const struct op_collect_stack *stack;
	/* several goroutines in one place, as many as the stack's value; not a thread */
	bool goroutine;
	/* For a running thread: where it was seen most on a CPU just before. NULL: not
	 * seen. */
	const struct op_collect_stack *seen;
	const char *wait; /* NULL: unknown, or it waits for nothing */
	size_t first;	  /* of its frames */
	size_t len;
	size_t kernel_len; /* the first of these are frames of the kernel */
	/* Threads of a process in one place and one state, linked by their numbers in
	 * the list. The first has how many they are, the others 0. Each has the next
	 * one, the last 0. */
	size_t same;
	size_t next;
};

struct threads {
	const struct op_collect *c;
	OP_VEC(struct thread)
	all; /* by process, threads by number, then goroutines, most first */
	OP_VEC(struct thread_frame) frames;
	size_t processes;
};

/*
 * Make the list of the threads in @c, which is borrowed, that pass @owners (NULL: all).
 * Lines of the source must have been added before. Returns 0 or -ENOMEM.
 * threads_clear() must follow in both cases.
 */
int threads_make(const struct op_collect *c, const char *const owners[FILTER_OWNERS],
		 struct threads *ret);
void threads_clear(struct threads *t);

/* Is the frame of a program that a runtime interprets or compiles at run time? */
bool threads_is_managed(const struct threads *t, const struct thread_frame *f);

/* Write them as text. Without @all, frames of the runtime around those of its program
 * are left out. Threads in the same place are written together. */
void threads_text(const struct threads *t, bool all, FILE *f);
void threads_json(const struct threads *t, FILE *f);

#endif
