/* SPDX-License-Identifier: Apache-2.0 */
/* A source file with the time of each of its lines, as far as the file is on this machine. */
#ifndef OP_RECORDING_TREE_SOURCE_SOURCE_H
#define OP_RECORDING_TREE_SOURCE_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "base/vec.h"
#include "recording/tree/view.h"

enum {
	SOURCE_BYTES_MAX = 8 << 20, /* of a file */
	SOURCE_LINES_MAX = 1 << 20,
	SOURCE_TAB = 8,
};

struct source_line {
	uint32_t number;
	uint32_t function; /* with most of it */
	int64_t most;	   /* of that function */
	int64_t self;	   /* the innermost line of this file */
	int64_t total;	   /* on the stack at all */
};

struct source {
	const struct view *v;
	uint32_t file;			  /* string: the path of the recording */
	int64_t total;			  /* of all stacks that have a line of the file */
	OP_VEC(struct source_line) lines; /* those with samples, by number */
	char *path;		 /* where the file was found; NULL: it is not here */
	int error;		 /* why not; 0: no file of that name */
	bool newer;		 /* it was changed after the recording began */
	char *text;		 /* a NUL after each line */
	OP_VEC(uint32_t) begins; /* of each line, in the text */
};

/* The place that a request names. */
struct source_place {
	uint32_t file;	   /* string */
	uint32_t line;	   /* the hottest one of what is named */
	uint32_t function; /* UINT32_MAX: a file is named */
};

/* Find what @what means: the end of a path, from a folder's beginning; else a function, as
 * function_name_find(). NULL: the line with most self time of own code. Returns 0; -ENOENT; -ENODATA for
 * a function whose source is not known; -ENOMEM. */
int source_find(const struct view *v, const char *what, struct source_place *ret);

/* Is @arg, which follows --source, what that is to show, and not a recording? */
bool source_is_named(const char *arg);

/* Sum up the lines of the file, and read it. The caller calls source_clear() in every case. Returns 0 or
 * -ENOMEM: a file that cannot be read leaves the text empty. */
int source_make(const struct view *v, uint32_t file, struct source *ret);
void source_clear(struct source *s);

/* The line @number of the file as it is shown: with tabs as blanks, and without what a terminal obeys.
 * "" where it is not known. Returns @buf. */
const char *source_text(const struct source *s, uint32_t number, char *buf, size_t size);
/* The samples of a line, or NULL. */
const struct source_line *source_line(const struct source *s, uint32_t number);
/* Why the text is not there, or may be another one: a sentence, or "". Returns @buf. */
const char *source_warning(const struct source *s, char *buf, size_t size);

/* Write the lines of @s with at least this share, or of them those of @place's function, with a few
 * around. */
void source_write(const struct source *s, const struct source_place *place,
		  double min_percent, FILE *f);

#endif
