/* SPDX-License-Identifier: Apache-2.0 */
/* The part of a collection that a report shows: one kind of samples of some processes.
 * It has the functions and their time, the call tree, and the quality of the stacks. */
#ifndef OP_RECORDING_TREE_VIEW_H
#define OP_RECORDING_TREE_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"
#include "base/vec.h"
#include "export/format/collect/collect.h"
#include "recording/requests/filter.h"
#include "recording/tree/tree.h"

/* A label of the tree is a function of the collection. With this bit it is a string of
 * it: the name of a process. */
#define VIEW_PROCESS UINT32_C(0x80000000)

enum view_by {
	VIEW_BY_FUNCTION,
	VIEW_BY_LINE, /* of the source; if a frame has none, its module */
	VIEW_BY_FILE,
	VIEW_BY_MODULE,
	VIEW_BY_PROCESS, /* one row for each process */
	VIEW_BY_PROGRAM, /* one row for all processes of the same name */
	VIEW_BY_THREAD,
	VIEW_BY_CONTAINER,
	VIEW_BY_SERVICE,
	VIEW_BY_TRACE, /* needs OP_COLLECT_TRACES */
	VIEW_BY_LABEL, /* needs the collection's label_key */
	VIEW_BY_MAX,
};

enum view_tree {
	VIEW_CALLS,   /* from the outermost frame inwards, below the program */
	VIEW_CALLERS, /* from the requested function outwards */
	VIEW_CALLEES, /* from the requested function inwards */
};

/* The conditions on samples of a kind. */
enum view_filter {
	VIEW_FILTER_PID = FILTER_PID,
	VIEW_FILTER_PROGRAM = FILTER_PROGRAM,
	VIEW_FILTER_THREAD = FILTER_THREAD,
	VIEW_FILTER_CONTAINER = FILTER_CONTAINER,
	VIEW_FILTERS = FILTER_OWNERS,
};

struct view;

/* Sums of values, by a number as key. */
struct sum {
	uint64_t key;
	int64_t value;
};

struct sums {
	OP_VEC(struct sum) items;
	struct op_map64 index;
};

/* Returns 0 or -ENOMEM. */
int sums_add(struct sums *s, uint64_t key, int64_t value);
/* The sum under @key, or 0. */
int64_t sums_get(const struct sums *s, uint64_t key);
/* Sort the largest first, equal ones by key. Nothing can be added afterwards. */
void sums_sort(struct sums *s);
void sums_clear(struct sums *s);

struct view_request {
	const char *kind; /* sample type; NULL: the main one */
	/* number of the kind in place of that; NULL: none */
	const struct view *same_kind;
	/* The value of each condition, as filter_owner_is() takes it. NULL: any. */
	const char *filters[VIEW_FILTERS];
	enum view_by by;
	enum view_tree tree;
	/* for callers and callees: a name, or a part (function_name.h) */
	const char *function;
	double min_percent; /* rows with a smaller share come after all others */
};

/* A line of the source, or with line 0 a module. */
struct view_place {
	uint32_t file; /* strings */
	uint32_t line;
};

struct view_row {
	/* depends on request.by: function, string, process, or place */
	uint32_t label;
	uint32_t line; /* the line with the most samples, 0: unknown */
	int64_t line_value;
	int64_t self;
	int64_t total;
};

struct view {
	const struct op_collect *c;
	struct view_request request;
	bool kind_found;
	uint32_t kind;
	/* the name that the request means: a string of the collection */
	uint32_t function;
	/* other candidates for the request's name, heaviest first, by their strings */
	struct sums also;
	int64_t total;
	size_t processes;
	OP_VEC(struct view_place) places; /* if rows are by line */
	OP_VEC(struct view_row)
	rows;		   /* largest self first; if not by function: largest total */
	size_t rows_large; /* number of rows with request.min_percent of the whole */
	struct tree tree;
	/* The quality of the stacks; each value is in units of the kind:
	 * value of stacks that end early, by the string of their last frame */
	struct sums endings;
	int64_t early;
	/* value of stacks whose leaf is the nearest function of a runtime */
	int64_t approximate;
	int64_t guessed; /* value of stacks with a guessed frame */
	double lost;	 /* estimate of what is missing in the total: lost samples */
	/* value of frames without a name, by the string of their module */
	struct sums unnamed;
	int64_t frames; /* value of all frames of all samples */
	int64_t frames_unnamed;
};

/* Make the view of @c, which is borrowed. Returns 0; -ENOENT if no sample has that kind
 * and that function and passes all filters; -ENOMEM. The caller calls view_clear() in
 * every case. */
int view_make(const struct op_collect *c, const struct view_request *request,
	      struct view *ret);
void view_clear(struct view *v);

/* Does the stack pass this filter of the request, if there is one? */
bool view_passes(const struct view *v, enum view_filter f,
		 const struct op_collect_stack *s);
/* Is the stack of the view's kind, and does it pass all filters? */
bool view_wants(const struct view *v, const struct op_collect_stack *s);

const char *view_by_name(enum view_by by);
/* Returns 0 or -ENOENT. For a label, "label:KEY", *@ret_key is its key. */
int view_by_parse(const char *name, enum view_by *ret, const char **ret_key);
/* "function, line, ... or label:KEY". Returns @buf. */
enum {
	VIEW_BY_BYTES = 160
};
const char *view_by_list(char buf[VIEW_BY_BYTES]);
/* Do rows stand for frames, which have a self time? */
static inline bool view_by_frames(enum view_by by)
{
	return by <= VIEW_BY_MODULE;
}

/* The full name of a row or a node. Returns @buf. */
const char *view_row_name(const struct view *v, const struct view_row *row, char *buf,
			  size_t size);
const char *view_label_name(const struct view *v, uint32_t label, char *buf, size_t size);
/* The last component of the path of a function's module, else of its source file. "" if
 * unknown. */
const char *view_module(const struct view *v, uint32_t function, char *buf, size_t size);
/* "file:line" with the whole path, if it is known, or "". Returns @buf. */
const char *view_place_of(const struct view *v, uint32_t function, uint32_t line,
			  char *buf, size_t size);
/* "file:line" of a function's row, if it is known, or "". Returns @buf. */
const char *view_place(const struct view *v, const struct view_row *row, char *buf,
		       size_t size);
/* A string of the collection with its control characters replaced. Returns @buf. */
const char *view_text(const struct op_collect *c, uint32_t string, char *buf,
		      size_t size);

double view_percent(const struct view *v, int64_t value);
/* The shares of whole stacks, of stacks with a guess, and of frames with a name, in per
 * cent. */
double view_whole_percent(const struct view *v);
double view_guessed_percent(const struct view *v);
double view_named_percent(const struct view *v);
/* The share of samples that were lost, in per cent of all that were taken. */
double view_lost_percent(const struct view *v);
/* A sentence with that share. Returns @buf, or NULL if none were lost. */
const char *view_lost(const struct view *v, char *buf, size_t size);
/* Is the string of the collection equal to @text? */
bool view_text_is(const struct op_collect *c, uint32_t string, const char *text);
/* Format a value of the view's kind: "1.23 s", "12.5 MB", "1,234". Returns @buf. */
const char *view_value(const struct view *v, int64_t value, char *buf, size_t size);
/* What is measured: "CPU time, 99 samples a second". Returns @buf. */
const char *view_what(const struct view *v, char *buf, size_t size);

#endif
