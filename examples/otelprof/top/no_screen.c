/* SPDX-License-Identifier: Apache-2.0 */
/* Replaces screen.c if curses was missing at build time. */
#include <errno.h>

#include "top/top.h"

int top_screen(struct top *t, struct otelprof *p)
{
	return -ENOTSUP;
}
