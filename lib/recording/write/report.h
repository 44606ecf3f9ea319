/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the forms of a report. */
#ifndef OP_RECORDING_WRITE_REPORT_H
#define OP_RECORDING_WRITE_REPORT_H

#include <stdbool.h>
#include <stdio.h>

#include "recording/tree/answer/answer.h"
#include "recording/tree/view.h"

struct report {
	const struct view *v;
	char *const *files;
	size_t files_len;
	size_t limit;	   /* of rows, and of lines of the tree if that has no limit */
	size_t tree_limit; /* limit for lines of the tree; 0: the same */
	double min_percent;
	bool show_rows;
	bool show_tree;
};

/* The number of rows to show: those with at least the smallest share, up to the limit. */
size_t report_rows(const struct report *r);

/* Called for each shown node of the tree, callers before their callees. */
typedef void (*report_node_fn)(void *data, const struct tree_node *n);
/* Visit the largest nodes, at most @limit. Sets only node->indent and node->continues:
 * all nodes of a chain that keeps its time have one indentation. */
void report_tree(const struct report *r, size_t limit, report_node_fn fn, void *data);

/* The answer with which a report begins. NULL: it does not show where the time went. */
const struct answer *report_answer(const struct report *r, struct answer *buf);

/* Print the answer for a terminal of @columns: the sentence, rows of own code, the hottest path,
 * and what else was recorded. @cpus: of the host; 0: not known. */
struct answer_style {
	int columns;
	const char *bold, *plain; /* the option that switches them on */
	unsigned int cpus;
	size_t rows;
	bool brief; /* without the hottest path */
};
/* The end of a path with at most @columns, if leaving out folders makes it that short.
 * The file and the line are at the end. */
const char *report_short_place(const char *place, int columns, bool *ret_cut);
void report_print_answer(const struct answer *a, const struct answer_style *style,
			 FILE *f);

/* Write "answer": ..., "your_code": [...] of a JSON object. */
void report_json_answer(const struct answer *a, unsigned int cpus, FILE *f);

/* The words of the other kinds with samples that the view chooses: "locks, off_cpu". ""
 * if there are none. Returns @buf. */
enum {
	REPORT_KINDS_BYTES = 256,
};
const char *report_other_kinds(const struct view *v, char buf[static REPORT_KINDS_BYTES]);

/* How to get exact functions of inlined Java code. */
#define REPORT_JAVA_HINT                                                                 \
	"start Java with -XX:+UnlockDiagnosticVMOptions -XX:+DebugNonSafepoints to be exact"

/* How to get names and lines that a recording lacks. */
#define SYMBOLS_HINT                                                                     \
	"names come with a package of debug symbols, --symbols DIR, or DEBUGINFOD_URLS"

/* Seconds from the start of the first window to the end of the last one. */
double report_duration(const struct report *r);

#endif
