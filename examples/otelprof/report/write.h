/* SPDX-License-Identifier: Apache-2.0 */
/* The forms of a report, and what they share. */
#ifndef OTELPROF_REPORT_WRITE_H
#define OTELPROF_REPORT_WRITE_H

#include <stdbool.h>
#include <stdio.h>

#include "report/view.h"

struct report {
	const struct view *v;
	char *const *files;
	size_t files_len;
	size_t limit; /* rows, and lines of the tree */
	double min_percent;
	bool show_rows;
	bool show_tree;
};

void report_text(const struct report *r, FILE *f);
void report_markdown(const struct report *r, FILE *f);
void report_json(const struct report *r, FILE *f);

/* Rows to show: those of at least the smallest share, at most the limit. */
size_t report_rows(const struct report *r);

/* Called for each node of the tree that is shown, callers before what they call. */
typedef void (*report_node_fn)(void *data, const struct tree_node *n);
/* Walk the largest nodes, at most @limit. A chain of calls that keeps its time has one
 * indentation (node->indent). Changes nothing but that. */
void report_tree(const struct report *r, size_t limit, report_node_fn fn, void *data);

enum {
	REPORT_PATH_MAX = 10
};
/* The path on which most of the time is spent, outermost first: rows of functions, those with
 * source lines where there are any, recursion once. Returns how many, at most REPORT_PATH_MAX. */
size_t report_path(const struct report *r, const struct view_row *ret[REPORT_PATH_MAX]);

/* Seconds from the first to the last sample's window. */
double report_duration(const struct report *r);

#endif
