/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>

#include "top/top.h"

int top_screen(struct top *t, struct otelprof *p)
{
	(void)t;
	(void)p;
	return -ENOTSUP;
}
