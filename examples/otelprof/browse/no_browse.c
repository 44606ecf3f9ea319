/* SPDX-License-Identifier: Apache-2.0 */
/* Replaces the view if curses was missing at build time. */
#include <errno.h>

#include "browse/browse.h"

int browse(const struct op_collect *c, const struct view_request *request,
	   const char *title)
{
	(void)c;
	(void)request;
	(void)title;
	return -ENOTSUP;
}
