/* SPDX-License-Identifier: Apache-2.0 */
/* Reads standard input by lines, also while a tool runs. */
#ifndef OTELPROF_MCP_INPUT_H
#define OTELPROF_MCP_INPUT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

enum {
	INPUT_LINE_BYTES = 1 << 20, /* without the newline; a longer line is skipped */
};

struct input {
	char *bytes;
	size_t len;
	size_t searched; /* bytes in which there is no newline */
	bool skipping;	 /* the current line is too long */
	bool ended;
};

/* Returns 0 or -ENOMEM. */
int input_init(struct input *in);
void input_deinit(struct input *in);
/* Read available bytes, or wait for something. Sets in->ended at the end, or at a
 * signal. */
void input_fill(struct input *in);
/*
 * Take a line that was read. It is copied to @ret, which has INPUT_LINE_BYTES + 1
 * bytes, with a NUL. Returns its length; -EFBIG if it was too long; -EAGAIN if there is
 * no whole line.
 */
ssize_t input_take(struct input *in, char *ret);

#endif
