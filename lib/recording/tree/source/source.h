/* SPDX-License-Identifier: Apache-2.0 */
/* A source file with the time of each of its lines, if the file is on this machine. */
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
	int64_t self;	   /* samples whose innermost line of this file it is */
	int64_t total;	   /* samples with it anywhere on the stack */
};

struct source {
	const struct view *v;
	uint32_t file; /* string: the path of the recording */
	/* value of all stacks with a line of the file */
	int64_t total;
	OP_VEC(struct source_line) lines; /* those with samples, by number */
	/* path where the file was found; NULL: it is not on this machine */
	char *path;
	/* why it could not be read; 0: there is no file with that name */
	int error;
	bool newer;		 /* it was changed after the recording began */
	char *text;		 /* a NUL after each line */
	OP_VEC(uint32_t) begins; /* start of each line in the text */
};

/* The place that a request names: */
struct source_place {
	uint32_t file;	   /* string */
	uint32_t line;	   /* the hottest line of that place */
	uint32_t function; /* UINT32_MAX: a file */
};

/* Find the place that @what names: the end of a path, from the start of a folder's
 * name; else a function, as function_name_find() does. NULL: the line with most self
 * time in own code. Returns 0; -ENOENT; -ENODATA for a function whose source is not
 * known; -ENOMEM. */
int source_find(const struct view *v, const char *what, struct source_place *ret);

/* Is @arg, which follows --source, the place to show, and not a recording? */
bool source_is_named(const char *arg);

/* Sum up the lines of the file, and read it. The caller calls source_clear() in every
 * case. Returns 0 or -ENOMEM. The text stays empty if the file cannot be read. */
int source_make(const struct view *v, uint32_t file, struct source *ret);
void source_clear(struct source *s);

/* Line @number of the file as it is shown: with tabs as blanks, and without control
 * characters. "" if it is not known. Returns @buf. */
const char *source_text(const struct source *s, uint32_t number, char *buf, size_t size);
/* The samples of a line, or NULL. */
const struct source_line *source_line(const struct source *s, uint32_t number);
/* A sentence why the text is missing or may be another version, or "". Returns @buf. */
const char *source_warning(const struct source *s, char *buf, size_t size);

/* Write the lines of @s with at least this share, with a few around. If @place is a
 * function, only its lines. */
void source_write(const struct source *s, const struct source_place *place,
		  double min_percent, FILE *f);

#endif
