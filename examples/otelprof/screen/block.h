/* SPDX-License-Identifier: Apache-2.0 */
/* Lines that are written once and drawn often: the answer above a table. */
#ifndef OTELPROF_SCREEN_BLOCK_H
#define OTELPROF_SCREEN_BLOCK_H

#include <stddef.h>
#include <stdio.h>

enum {
	SCREEN_BLOCK_LINES_MAX = 8,
};

struct screen_block {
	char *text; /* a NUL after each line */
	size_t bytes;
	FILE *f; /* while it is written */
};

/* Begin again. Returns the stream to write to, or NULL. */
FILE *screen_block_open(struct screen_block *b);
/* Writing is complete. Lines without text are left out, and a first line longer than
 * @columns continues in a second one. */
void screen_block_close(struct screen_block *b, int columns);
void screen_block_clear(struct screen_block *b);

int screen_block_lines(const struct screen_block *b);
/* Draw the first @n lines from the screen's line @from on. */
void screen_block_draw(const struct screen_block *b, int from, int n);

#endif
