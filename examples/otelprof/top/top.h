/* SPDX-License-Identifier: Apache-2.0 */
/* otelprof top: the functions that take the CPUs. */
#ifndef OTELPROF_TOP_H
#define OTELPROF_TOP_H

#include "common.h"
#include "top/functions.h"

enum {
	TOP_WINDOW_BYTES = 64 << 20, /* requests kept of one table; more are left out */
};
#define TOP_WINDOW_S 5.0 /* a handle's window; memory is bounded by it, not by -d */

/* The requests of one table, so that it can be summed again for another owner. */
struct top_window {
	struct {
		void *data;
		size_t len;
	} * requests;
	size_t len;
	size_t cap;
	size_t bytes;
	bool full;
	double seconds; /* that it covers */
};

struct top {
	struct options o;
	struct function_sums sums;
	struct top_window window; /* of what was exported since it was cleared */
	enum function_order order;
	long long rows; /* 0: as many as fit */
	bool json;
	bool live;
	double measured; /* seconds that the sums cover */
};

double top_percent(const struct top *t, uint64_t n);
void top_window_clear(struct top_window *w);
/* Make the sums anew, of @w, by their owner and in @t's order. */
void top_sum(struct top *t, const struct top_window *w);

/*
 * The full-screen view, until a key or a signal ends it. Returns 0; STATUS_FAILED, said; or
 * -ENOTSUP where the terminal cannot do it or the program was built without curses, before
 * anything was shown.
 */
int top_screen(struct top *t, struct otelprof *p);

#endif
