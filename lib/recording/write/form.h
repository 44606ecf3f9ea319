/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The formats of output. Each is a row with its name and its functions. A new format is
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
	const char *hint;	/* its description in the help of report; NULL: none */
	const char *endings[5]; /* endings of files; none: it is not for files */
	bool one_kind;		/* it cannot hold several kinds of samples */
	bool timed;		/* it has the time of each sample */
	/* The library writes it, also while it records. A format without write() is the
	 * requests themselves. */
	const struct op_format *library;
	/* Each returns 0 or a negative errno. NULL: not supported. */
	int (*write)(const struct recording *r, FILE *f);
	void (*report)(const struct report *r, FILE *f);
	void (*diff)(const struct diff *d, FILE *f);
};

extern const struct op_form op_form_firefox;
extern const struct op_form op_form_json;
extern const struct op_form op_form_markdown;
extern const struct op_form op_form_speedscope;
extern const struct op_form op_form_text;

/* A use of a format. */
enum form_use {
	FORM_RECORD,
	FORM_CONVERT,
	FORM_REPORT,
	FORM_DIFF,
};

/* Both return NULL if there is none. */
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

/* Is it made from samples, and not a copy of the recorded requests? */
bool form_reads(const struct op_form *f);

/* The details of stacks that it needs at least. */
enum op_collect_detail form_detail(const struct op_form *f);
/* Write a recording, which has the details and times that the form needs, to @fd. @path
 * is for messages. Returns 0, or STATUS_FAILED after a message. */
int form_write(const struct op_form *f, const struct recording *r, const char *path,
	       int fd);

/* Options of a conversion. */
struct conversion {
	const struct op_form *form;
	char *const *files;
	size_t files_len;
	struct recording_lines lines; /* not for copied requests */
	const struct filter *filter;  /* NULL: convert everything */
	const char *path;	      /* for messages */
};
/* Write the recordings to @fd. Returns 0, or STATUS_FAILED after a message. */
int form_convert(const struct conversion *v, int fd);

#endif
