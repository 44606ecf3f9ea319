/* SPDX-License-Identifier: Apache-2.0 */
/* A terminal as a whole screen: its begin and end, and text within columns. */
#ifndef OTELPROF_SCREEN_H
#define OTELPROF_SCREEN_H

#include <stdbool.h>
#include <stdio.h>

enum {
	SCREEN_TEXT_MAX = 64, /* bytes of input */
	SCREEN_NAME_BYTES = 4096,
	SCREEN_ESCAPE = 27,
	SCREEN_REDRAW = 'L' & 0x1f, /* Ctrl-L */
	/* pairs of colours */
	SCREEN_HOT = 1,
	SCREEN_WARM = 2,
	/* a signal that arrives just before a wait is noticed after this */
	SCREEN_POLL_MS = 1000,
};

struct screen {
	void *terminal;
	FILE *held; /* messages, which would otherwise appear on the screen */
	int saved;  /* standard error itself */
};

/* Take over the terminal of standard input and output. Returns 0, or -ENOTSUP if that
 * is not possible. */
int screen_begin(struct screen *s);
/* Restore the terminal, and print the messages of the meantime. */
void screen_end(struct screen *s);

/* Print @whole within @columns of the current line, like print_text(). Characters that
 * the terminal cannot print become '?'. Returns the columns used. */
int screen_text(const char *whole, int columns);
/* The same, padded, and a blank. */
void screen_column(const char *text, int columns);
/* The name of a function, shortened. */
void screen_name(const char *name, int columns);

/* A line that the user types. */
enum screen_typing {
	SCREEN_TYPING,
	SCREEN_TYPED, /* it is complete */
	SCREEN_LEFT,  /* ended by Escape, and empty */
};
enum screen_typing screen_type(char typed[SCREEN_TEXT_MAX], int c);

#endif
