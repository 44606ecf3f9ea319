/* SPDX-License-Identifier: Apache-2.0 */
/* What grew and what shrank between two recordings. */
#ifndef OP_RECORDING_TREE_DIFF_H
#define OP_RECORDING_TREE_DIFF_H

#include <stdbool.h>
#include <stddef.h>

#include "otlp/reader.h"
#include "recording/tree/recording.h"
#include "recording/tree/view.h"

enum {
	DIFF_SIDES = 2, /* before, after */
};

/* A row of one or both sides, with its shares of each side's total. */
struct change {
	char *name;
	char *module;
	/* Properties on one side, which distinguish functions with one name. */
	struct otlp_text key, module_key, type, file;
	uint32_t start_line;
	bool both; /* the row of the other side was found */
	double self[DIFF_SIDES];
	double total[DIFF_SIDES];
	int64_t self_value[DIFF_SIDES]; /* in units of each side's kind */
	int64_t total_value[DIFF_SIDES];
};

struct diff {
	char *const *files;
	struct recording_request read; /* options for both; diff_make() sets the detail */
	bool by_total;
	double min_percent; /* smallest change that is shown */
	size_t limit;	    /* of rows */
	struct recording recordings[DIFF_SIDES];
	struct view views[DIFF_SIDES];
	struct change *changes; /* the largest first */
	size_t len;
};

/* Read both of @d->files and compare what @request chooses of them. Returns 0, or
 * STATUS_FAILED after a message. The caller calls diff_clear() in both cases. */
int diff_make(struct diff *d, const struct view_request *request);
void diff_clear(struct diff *d);

/* Rename modules and programs of @after to those of @before of which they are versions,
 * with a note for each. Returns 0 or -ENOMEM. */
int diff_join_names(struct op_collect *before, struct op_collect *after);

/* How many changes are at least min_percent, and how many are shown. */
size_t diff_large(const struct diff *d);
size_t diff_rows(const struct diff *d);

/* Write the page with both as one flame graph to the file @path, open as @fd. Returns 0, or
 * STATUS_FAILED after a message. */
int diff_page(struct diff *d, const char *path, int fd);

#endif
