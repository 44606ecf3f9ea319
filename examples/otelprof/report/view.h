/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a report shows of a collection: one kind of samples, of some processes; the
 * functions and where their time goes, the tree of calls, and how good the stacks are.
 */
#ifndef OTELPROF_REPORT_VIEW_H
#define OTELPROF_REPORT_VIEW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "format/collect.h"
#include "report/sums.h"
#include "report/tree.h"

/* Labels of the tree are functions of the collection, or with this bit strings of it that
 * name a process. */
#define VIEW_PROCESS UINT32_C(0x80000000)

enum view_by {
	VIEW_BY_FUNCTION,
	VIEW_BY_MODULE,
	VIEW_BY_PROCESS, /* a row a process */
	VIEW_BY_PROGRAM, /* the processes of one name are one row */
	VIEW_BY_THREAD,
	VIEW_BY_CONTAINER,
	VIEW_BY_SERVICE,
	VIEW_BY_MAX,
};

enum view_tree {
	VIEW_CALLS,   /* from the outermost frame inwards, below the program */
	VIEW_CALLERS, /* from the function asked for outwards */
	VIEW_CALLEES, /* from it inwards */
};

struct view_request {
	const char *kind;    /* sample type; NULL: the first one met */
	int64_t pid;	     /* -1: any */
	const char *program; /* NULL: any */
	enum view_by by;
	enum view_tree tree;
	const char *function; /* of callers and callees */
};

struct view_row {
	uint32_t label; /* function, or string, process or number of a thread, by @by */
	uint32_t line;	/* where most of it is spent, 0: not known */
	int64_t line_value;
	int64_t self;
	int64_t total;
};

struct view {
	const struct op_collect *c;
	struct view_request request;
	uint32_t kind;
	int64_t total;
	size_t processes;
	OP_VEC(struct view_row)
	rows; /* most self first; by others than functions: total */
	struct tree tree;
	/* How good it is, each a value of the kind. */
	struct sums endings; /* stacks that end early: the string of the last frame */
	int64_t early;
	struct sums unnamed; /* frames without a name, by the string of their module */
	int64_t frames;	     /* each frame of each sample */
	int64_t frames_unnamed;
};

/* Make the view of @c, which is borrowed. Returns 0; -ENOENT where no sample is of that
 * kind, process or function; -ENOMEM. Caller calls view_clear() in every case. */
int view_make(const struct op_collect *c, const struct view_request *request,
	      struct view *ret);
void view_clear(struct view *v);

const char *view_by_name(enum view_by by);
/* Returns 0 or -ENOENT. */
int view_by_parse(const char *name, enum view_by *ret);

/* What a row or a node is called, whole; returns @buf. */
const char *view_row_name(const struct view *v, const struct view_row *row, char *buf,
			  size_t size);
const char *view_label_name(const struct view *v, uint32_t label, char *buf, size_t size);
/* The last part of the path of a function's module, else of its source; "" for neither. */
const char *view_module(const struct view *v, uint32_t function, char *buf, size_t size);
/* "file:line" of a row of functions, by what is known; "" where nothing is. */
const char *view_place(const struct view *v, const struct view_row *row, char *buf,
		       size_t size);
/* A string of the collection with its control characters replaced. Returns @buf. */
const char *view_text(const struct op_collect *c, uint32_t string, char *buf,
		      size_t size);

double view_percent(const struct view *v, int64_t value);
/* Stacks that are whole, frames that have a name, in per cent. */
double view_whole_percent(const struct view *v);
double view_named_percent(const struct view *v);
/* Is a string of the collection @text? */
bool view_text_is(const struct op_collect *c, uint32_t string, const char *text);
/* "1.23 s", "12.5 MB", "1,234": a value of the view's kind in words; returns @buf. */
const char *view_value(const struct view *v, int64_t value, char *buf, size_t size);
/* "CPU time, 99 samples a second": what is measured. */
const char *view_what(const struct view *v, char *buf, size_t size);

#endif
