/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The work of a running profiler, and its order. Each poll continues the work of the
 * parts. Then it drains the side-bands, so that processes are known, and then the ring,
 * whose records become samples of the open window. Each gets a share of the poll's time.
 * The rest waits for a later poll, and the session sets the timer for it.
 *
 *   sideband.c   events of the side-bands: processes and their mappings
 *   records.c    records of the ring, and those that were postponed
 *   postponed.c  records that wait for a table or for names
 *   ends.c       when a process ends
 *   window.c     the end of a window
 */
#ifndef OP_SESSION_SESSION_H
#define OP_SESSION_SESSION_H

#include <stdbool.h>
#include <stdint.h>

#include "base/allowance.h"
#include "base/cleanup.h"
#include "base/rows/drops.h"
#include "parts/parts.h"

struct op_arena;
struct op_capture;
struct op_kernel_symbols;
struct op_log;
struct op_parts;
struct op_processes;
struct op_sampler;
struct op_session;
struct op_window;

/* All pointers are borrowed until op_session_free(). */
struct op_session_config {
	struct op_log *log;
	const char *procfs_root;
	uint32_t poll_ms; /* the time of a poll; 0: the default */
	struct op_allowance *allowance;
	struct op_capture *capture;
	struct op_arena *arena;
	struct op_kernel_symbols *kernel;
	struct op_processes *processes;
	struct op_sampler *sampler;
	struct op_window *window;
	struct op_parts *parts;
};

/* Counters since the session was made. */
struct op_session_counts {
	uint64_t records; /* samples read from the ring */
	uint64_t dropped[OP_DROPS];
	uint64_t lost[OP_EVENT_MAX]; /* the same, by kind */
};

/* The result of a poll. */
struct op_session_work {
	bool idle;    /* nothing is waiting */
	bool drained; /* no sample is waiting */
};

int op_session_new(const struct op_session_config *config, struct op_session **ret);
struct op_session *op_session_free(struct op_session *s);
OP_DEFINE_CLEANUP(struct op_session *, op_session_free)

/* Do a bounded amount of work. Begins the poll of the allowance. The caller ends that
 * poll, and may do more work in it. Returns 0 or -errno. */
int op_session_poll(struct op_session *s, struct op_session_work *ret);
/* Poll until nothing is waiting, for about @limit_ns. */
int op_session_drain(struct op_session *s, uint64_t limit_ns);
/* Sampling begins. @limited: there is a budget of CPU time. */
void op_session_begin(struct op_session *s, bool limited);
/* Drain at the end of sampling: do the work that waits for CPU time, too. What is left
 * after @limit_ns, and what later polls find in the ring, is taken without missing
 * tables and names. */
int op_session_drain_all(struct op_session *s, uint64_t limit_ns);
/* Take all postponed records, without missing tables and names. */
void op_session_take_postponed(struct op_session *s);

/* Poll early enough for what the parts have in progress. */
void op_session_wake(struct op_session *s);

/* The end of a window. */
struct op_window_end {
	bool running;	      /* sampling goes on */
	enum op_part_end why; /* EXPORT, RATE or BUDGET */
	uint64_t period_ns;   /* of the next window */
	/* All samples are in the window: emit them, until @end_ns (Unix time). Returns
	 * 0 or -errno. */
	int (*emit)(void *ctx);
	void *ctx;
};
/* End the window and begin the next. Returns what emit() returned. */
int op_session_end_window(struct op_session *s, const struct op_window_end *end);

const struct op_session_counts *op_session_counts(const struct op_session *s);
/* Bytes of records that wait. */
uint64_t op_session_bytes(const struct op_session *s);

#endif
