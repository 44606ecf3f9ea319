/* SPDX-License-Identifier: Apache-2.0 */
/* otelprof top: prints the functions that use the CPUs. */
#ifndef OTELPROF_TOP_H
#define OTELPROF_TOP_H

#include "common.h"
#include "top/functions.h"

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

struct top {
	struct options o;
	struct function_sums sums;
	struct top_window window; /* requests exported since it was cleared */
	enum function_order order;
	long long rows; /* 0: as many as fit on the terminal */
	bool json;
	bool live;
	double measured;  /* seconds that the sums cover */
	uint32_t rate_hz; /* in force at their end */
};

double top_percent(const struct top *t, uint64_t ns);
/* A table is at its end: it took @seconds, at a rate that a budget may have lowered. */
void top_measure(struct top *t, struct otelprof *p, double seconds);
void top_window_clear(struct top_window *w);
/* Sum the requests of @w by @t's owner, in @t's order. */
void top_sum(struct top *t, const struct top_window *w);

/*
 * The full-screen view; a key or a signal ends it. Returns 0; STATUS_FAILED after a
 * message; or, before anything is shown, -ENOTSUP if the terminal cannot do it or the
 * program was built without curses.
 */
int top_screen(struct top *t, struct otelprof *p);

#endif
