/* SPDX-License-Identifier: Apache-2.0 */
/* A window to be filled, and strings of it. */
#ifndef MAKE_WINDOW_H
#define MAKE_WINDOW_H

#include "profile/window.h"
#include "profile/window_tables.h"
#include "test.h"

static inline struct op_window *make(size_t limit)
{
	const struct op_window_config config = { .period_ns = 50000000,
						 .limit_bytes = limit };
	struct op_window *w = NULL;

	CHECK_OK(op_window_new(&config, &w));
	return w;
}

static inline uint32_t string(struct op_window *w, const char *s)
{
	uint32_t n;

	CHECK_OK(op_window_string(w, s, strlen(s), &n));
	return n;
}

#endif
