/* SPDX-License-Identifier: Apache-2.0 */
/* What the forms of a report share. */
#ifndef OP_RECORDING_WRITE_REPORT_H
#define OP_RECORDING_WRITE_REPORT_H

#include <stdbool.h>
#include <stdio.h>

#include "recording/tree/view.h"

struct report {
	const struct view *v;
	char *const *files;
	size_t files_len;
	size_t limit; /* limit of rows, and of lines of the tree */
	double min_percent;
	bool show_rows;
	bool show_tree;
};

/* The number of rows to show: those with at least the smallest share, up to the limit. */
size_t report_rows(const struct report *r);

/* Called for each node of the tree that is shown, callers before their callees. */
typedef void (*report_node_fn)(void *data, const struct tree_node *n);
/* Visit the largest nodes, at most @limit. Sets node->indent and node->continues,
 * and nothing else: a chain of calls that keeps its time has one indentation. */
void report_tree(const struct report *r, size_t limit, report_node_fn fn, void *data);

enum {
	REPORT_PATH_MAX = 10
};
/*
 * The path on which most of the time is spent, outermost first: rows of functions, with
 * recursion once and without what comes before main(); functions with source lines if others
 * than the C library's have any. Returns how many, at most
 * REPORT_PATH_MAX.
 */
size_t report_path(const struct report *r, const struct view_row *ret[REPORT_PATH_MAX]);

/* Seconds from the start of the first window to the end of the last one. */
double report_duration(const struct report *r);

#endif
