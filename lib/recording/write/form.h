/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The formats of output. Each is a row: what it is called, and what it writes. A new one is
 * a file, which is declared here, and a line in form.c.
 */
#ifndef OP_RECORDING_WRITE_FORM_H
#define OP_RECORDING_WRITE_FORM_H

#include <stdbool.h>
#include <stdio.h>

#include "export/format/format.h"
#include "recording/tree/diff.h"
#include "recording/tree/recording.h"
#include "recording/write/report.h"

struct op_form {
	const char *name;
	const char *hint;	/* what the help of report says of it; NULL: nothing */
	const char *endings[5]; /* of files; none: it is not for files */
	bool one_kind;		/* it has no place for several kinds of samples */
	bool timed;		/* it has the time of each sample */
	/* The library writes it, also while it records; one without write() is the requests. */
	const struct op_format *library;
	/* Each returns 0 or a negative errno. NULL: this format is not for that. */
	int (*write)(const struct recording *r, FILE *f);
	void (*report)(const struct report *r, FILE *f);
	void (*diff)(const struct diff *d, FILE *f);
};

extern const struct op_form op_form_firefox;
extern const struct op_form op_form_json;
extern const struct op_form op_form_markdown;
extern const struct op_form op_form_speedscope;
extern const struct op_form op_form_text;

/* What a format is to do. */
enum form_use {
	FORM_RECORD,
	FORM_CONVERT,
	FORM_REPORT,
	FORM_DIFF,
};

/* Both return NULL where there is none. */
const struct op_form *form_by_name(const char *name, enum form_use use);
const struct op_form *form_by_ending(const char *path, enum form_use use);

enum form_word {
	FORM_NAMES,
	FORM_HINTS, /* names with their descriptions */
	FORM_ENDINGS,
};
/* List the formats of @use: "a, b or c" with ", " and " or ". Returns @buf. */
char *form_list(enum form_use use, enum form_word word, const char *between,
		const char *last, char *buf, size_t size);

/* Is it made of what was read, not the requests as they were recorded? */
bool form_reads(const struct op_form *f);

/* Which details of stacks it has, at least. */
enum op_collect_detail form_detail(const struct op_form *f);
/* Write a recording, which has these details and the times that the form needs, to @fd; @path is
 * for messages. Returns 0, or STATUS_FAILED after a message. */
int form_write(const struct op_form *f, const struct recording *r, const char *path,
	       int fd);

/* What is converted. */
struct conversion {
	const struct op_form *form;
	char *const *files;
	size_t files_len;
	struct recording_lines
		lines; /* not of requests, which are as they were recorded */
	const struct filter *filter; /* NULL: everything is converted */
	const char *path;	     /* for messages */
};
/* Write the recordings to @fd. Returns 0, or STATUS_FAILED after a message. */
int form_convert(const struct conversion *v, int fd);

#endif
