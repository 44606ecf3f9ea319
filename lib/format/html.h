/* SPDX-License-Identifier: Apache-2.0 */
/* The page of a flame graph, and of what has changed from one recording to another. */
#ifndef OP_FORMAT_HTML_H
#define OP_FORMAT_HTML_H

#include "format/collect.h"

/* Write the page that compares to @fd; a flame graph of @after where @before is NULL. Both are
 * collected by functions. Returns 0 or a negative errno. */
int op_html_compare(const struct op_collect *before, const struct op_collect *after,
		    int fd);

#endif
