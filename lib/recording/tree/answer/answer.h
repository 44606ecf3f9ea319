/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The answer of a recording: what its programs did with their time, the path on which
 * most of it was spent, and how much of it each place in their own code stands for.
 * Every form begins with it.
 */
#ifndef OP_RECORDING_TREE_ANSWER_ANSWER_H
#define OP_RECORDING_TREE_ANSWER_ANSWER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "export/format/collect/classes.h"
#include "export/format/collect/idle.h"
#include "export/format/collect/waits.h"
#include "recording/tree/answer/services.h"
#include "recording/tree/view.h"

enum {
	ANSWER_ROWS_MAX = 8,
	ANSWER_PATH_MAX = 8,
	ANSWER_WAITS_MAX = 3,
	ANSWER_STANDS_MAX = 3,
	ANSWER_PROGRAMS_MAX = 5,
	ANSWER_FEW = 10, /* samples that a row needs */
	ANSWER_SENTENCE_BYTES = 512,
};
#define ANSWER_NO_FUNCTION UINT32_MAX

/* The meaning of a kind's values, for the words around them. */
enum answer_about {
	ABOUT_TIME,  /* on the CPUs */
	ABOUT_WAITS, /* of threads */
	ABOUT_MEMORY,
	ABOUT_COUNTS,
};

/* A place in a program's own code and what is charged to it. */
struct answer_row {
	uint32_t function;
	uint32_t line; /* the line with most of it; 0: unknown */
	/* the callee with most of it; ANSWER_NO_FUNCTION: the function itself */
	uint32_t in;
	uint32_t program; /* string: the name of the processes with most of it */
	enum op_wait wait;
	enum op_frame_class of; /* OP_CLASS_OWN, or the next class that a stack has */
	int64_t value;
	/* threads that did nothing else, if `value` counts threads that stand */
	int64_t whole;
	int64_t idle;	  /* the part of `value` that idle threads have */
	uint64_t samples; /* 0: not known */
	double error;	  /* of its share, in points, at 95 %; 0: not known */
};

/* A frame of the hottest path, with the value of that path. */
struct answer_step {
	uint32_t label; /* as in a tree of the view */
	uint32_t line;
	int64_t value;
};

/* Numbers of threads, in all recorded kinds. */
struct answer_thread_counts {
	size_t waited;
	size_t standing; /* in a wait that is in no value */
	size_t ran;
	size_t idle; /* only waited for work, while others did not */
};

struct answer {
	const struct view *v;
	enum answer_about about;
	bool sampled; /* by a clock: shares have an error */
	bool moment;  /* a state at one moment, not events of a window */
	bool counts;  /* values are threads, not their time */
	struct answer_row rows[ANSWER_ROWS_MAX];
	size_t rows_len;
	size_t rows_more; /* number of further rows */
	/* Places of waits that have not ended, whose values are threads. Or places of
	 * allocations that were not freed, whose values are bytes. */
	struct answer_row stands[ANSWER_STANDS_MAX];
	size_t stands_len;
	/* number of those that come before the rows, because they may be deadlocked */
	size_t stands_first;
	int64_t in_use; /* allocated bytes in use at the end; -1: not known */
	int64_t own;	/* charged to own code and libraries */
	struct answer_step path[ANSWER_PATH_MAX];
	size_t path_len;
	struct {
		enum op_wait wait;
		int64_t value;
	} waits[ANSWER_WAITS_MAX]; /* the largest first */
	size_t waits_len;
	int64_t services[SERVICES]; /* value of the stacks below each service */
	struct {
		uint32_t name; /* string */
		int64_t value;
	} programs[ANSWER_PROGRAMS_MAX]; /* the largest first */
	size_t programs_len;
	size_t programs_more; /* number of further ones */
	struct answer_thread_counts threads;
	int64_t idle;	 /* the part of the values that idle threads have */
	bool idle_waits; /* of locks: `idle` is the part that is for no lock */
	double waited;	 /* share of the others' time in which they waited, in per cent */
	double cpus;	 /* CPUs used; < 0: not recorded */
	double seconds;
};

/* Make the answer of @v, which is borrowed. Returns 0 or -ENOMEM. */
int answer_make(const struct view *v, struct answer *ret);

/* One sentence: what the programs did with their time. @cpus: of the host; 0: not
 * known. It contains no text of the recording. Returns @buf. */
const char *answer_sentence(const struct answer *a, unsigned int cpus,
			    char buf[static ANSWER_SENTENCE_BYTES]);

/* How many rows, at most @limit, are worth showing: those that are not small beside the
 * first. */
size_t answer_rows_shown(const struct answer *a, size_t limit);
/* Are there several programs that a reader must distinguish? */
bool answer_has_programs(const struct answer *a);
/* Do idle threads have most of the row? */
static inline bool answer_row_is_idle(const struct answer_row *row)
{
	return row->idle > row->value / 2;
}
/* How long a row stands, in words: "still at the end". */
const char *answer_stands_words(const struct answer *a, const struct answer_row *row);
/* The name of the rows: "your code", "your code waits in". */
const char *answer_title(const struct answer *a);
/* Parts of answer_make(): */
struct answer_work {
	const struct view *v;
	uint8_t *classes;	   /* of each function */
	uint8_t *services;	   /* the same */
	OP_VEC(uint64_t) standing; /* threads, by op_collect_thread_key(), sorted */
	OP_VEC(uint64_t)
	whole; /* those that did nothing else, if that is known */
	struct op_idle idle;
	struct answer *a;
};
int answer_rows(struct answer_work *w);
/* The same for threads that still wait, if the view shows waits, and for memory in use. */
int answer_stands(struct answer_work *w);
int answer_path(struct answer_work *w);
int answer_threads(struct answer_work *w);

#endif
