/* SPDX-License-Identifier: Apache-2.0 */
/* The page with a flame graph, and the page that compares two recordings. */
#ifndef OP_EXPORT_FORMAT_HTML_H
#define OP_EXPORT_FORMAT_HTML_H

#include "export/format/collect/collect.h"

/*
 * Write to @fd the page that compares @before and @after, or a flame graph of @after if
 * @before is NULL. Both must be collected with OP_COLLECT_FUNCTIONS. Returns 0 or -errno.
 */
int op_html_compare(const struct op_collect *before, const struct op_collect *after,
		    int fd);

#endif
