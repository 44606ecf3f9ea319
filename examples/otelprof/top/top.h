/* SPDX-License-Identifier: Apache-2.0 */
/* otelprof top: prints the functions that use the CPUs, or where other kinds of events are. */
#ifndef OTELPROF_TOP_H
#define OTELPROF_TOP_H

#include "common.h"
#include "recording/read/kinds.h"
#include "recording/requests/filter.h"
#include "recording/tree/answer/answer.h"

enum {
	/* requests kept for one table; further ones are left out */
	TOP_WINDOW_BYTES = 64 << 20,
};
#define TOP_WINDOW_S 5.0 /* the handle's window bounds its memory, whatever -d is */

/* The requests of one table, kept so that it can be summed again for another owner. */
struct top_window {
	struct {
		void *data;
		size_t len;
	} * requests;
	size_t len;
	size_t cap;
	size_t bytes;
	bool full;
	double seconds; /* time that it covers */
};

/* The answer for a table. */
struct top_answer {
	struct op_collect *c;
	struct view v;
	struct answer a; /* of v */
	bool made;
};

struct top {
	struct options o;
	struct kinds kinds;
	struct kind_sums shown;	  /* the name of the kind on the screen */
	struct top_window window; /* requests exported since it was cleared */
	enum function_order order;
	struct filter filter;
	struct filter_run *filtering; /* NULL: everything is shown */
	uint64_t seen;		      /* samples before the filter */
	long long rows;		      /* 0: as many as fit on the terminal */
	bool json;
	bool live;
	double started;	  /* when sampling began */
	double measured;  /* seconds that the sums cover */
	uint32_t rate_hz; /* in force at their end */
	/* Samples taken and lost before them, and the per cent of them that were lost. */
	uint64_t taken, dropped;
	double lost;
};

/* The kind to show, or an empty one. */
const struct kind_sums *top_kind(const struct top *t);
/* The last part of a function's module, else of its source file, because Python has no
 * modules. */
const char *top_module(const struct function_row *row);
/* The share of @value in its kind. */
double top_percent(const struct kind_sums *k, uint64_t value);
/* The headline of a table: what was measured, and how much. */
void top_headline(const struct top *t, const struct kind_sums *k, char *buf, size_t size);
/* Note the end of a table: it took @seconds, at a rate that a budget may have lowered. */
void top_measure(struct top *t, struct otelprof *p, double seconds);
void top_window_clear(struct top_window *w);
/* Make the answer of @w's samples of the shown kind. Without samples it is empty. The
 * caller calls top_answer_clear() in every case. */
void top_answer_make(const struct top *t, const struct top_window *w,
		     struct top_answer *ret);
void top_answer_clear(struct top_answer *a);
/* Print it in lines of @columns. Without @rows as many rows as on a page. */
void top_answer_print(const struct top_answer *a, int columns, size_t rows, bool colour,
		      FILE *f);
/* Sum the requests of @w by @t's owner, in @t's order. */
void top_sum(struct top *t, const struct top_window *w);

/*
 * The full-screen view; a key or a signal ends it. Returns 0; STATUS_FAILED after a
 * message; or, before anything is shown, -ENOTSUP if the terminal cannot do it or the
 * program was built without curses.
 */
int top_screen(struct top *t, struct otelprof *p);

#endif
