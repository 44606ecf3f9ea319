/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of a report as Markdown (markdown.c). */
#ifndef OP_RECORDING_WRITE_MARKDOWN_H
#define OP_RECORDING_WRITE_MARKDOWN_H

#include <stddef.h>
#include <stdio.h>

#include "recording/write/report.h"

/* How much is written. */
struct markdown_size {
	size_t rows;
	size_t chains;
	int name_columns;
	int place_columns;
	int chain_columns; /* of each name in the tree */
};

struct markdown {
	const struct report *r;
	const struct markdown_size *size;
	FILE *f;
};

/* Print foreign text as code, in which Markdown has only two special characters, which
 * are replaced. All text of a recording must be printed by this. */
void markdown_code(FILE *f, const char *text, int columns);
/* Print the name of a function or a group. @name is shortened. */
void markdown_name(FILE *f, char *name, int columns);
void markdown_place(FILE *f, const char *place, int columns);

/* The answer and the hottest path, if the report has one. */
void markdown_answer(const struct markdown *o);
/* The commands to call next. */
void markdown_next(const struct markdown *o);

#endif
