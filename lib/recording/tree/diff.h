/* SPDX-License-Identifier: Apache-2.0 */
/* What grew and what shrank from one recording to another. */
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
	/* What it is, of one side; of functions with one name these tell them apart. */
	struct otlp_text key, module_key, type, file;
	uint32_t start_line;
	bool both; /* its row of the other side is found */
	double self[DIFF_SIDES];
	double total[DIFF_SIDES];
	int64_t self_value[DIFF_SIDES]; /* in units of each side's kind */
	int64_t total_value[DIFF_SIDES];
};

struct diff {
	char *const *files;
	struct recording_request read; /* of both; its detail is set by diff_make() */
	bool by_total;
	double min_percent; /* of the changes that are shown */
	size_t limit;	    /* of rows */
	struct recording recordings[DIFF_SIDES];
	struct view views[DIFF_SIDES];
	struct change *changes; /* the largest first */
	size_t len;
};

/* Read both of @d->files and compare what @request chooses of them. Returns 0, or STATUS_FAILED
 * after a message; the caller calls diff_clear() in both cases. */
int diff_make(struct diff *d, const struct view_request *request);
void diff_clear(struct diff *d);

/* Let the modules and programs of @after have the names of those of @before that they are versions
 * of, with a note for each. Returns 0 or -ENOMEM. */
int diff_join_names(struct op_collect *before, struct op_collect *after);

/* How many changes have the least that is shown, and how many are shown. */
size_t diff_large(const struct diff *d);
size_t diff_rows(const struct diff *d);

/* Write the page with both as one flame graph to the file @path, open as @fd. Returns 0, or
 * STATUS_FAILED after a message. */
int diff_page(struct diff *d, const char *path, int fd);

#endif
