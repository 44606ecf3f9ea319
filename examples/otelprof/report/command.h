/* SPDX-License-Identifier: Apache-2.0 */
/* Options that the commands on recordings share. */
#ifndef OTELPROF_REPORT_COMMAND_H
#define OTELPROF_REPORT_COMMAND_H

#include <stdio.h>

#include "recording/tree/view.h"

/* The form of an output. */
enum report_form {
	FORM_TEXT,
	FORM_MARKDOWN,
	FORM_JSON,
};

/* Returns 0, or STATUS_USAGE after a message. */
int form_parse(const char *command, const char *name, enum report_form *ret);
/* Parse a share in per cent, from 0 to 100. Returns 0, or STATUS_USAGE after
 * a message. */
int percent_parse(const char *command, const char *option, const char *arg, double *ret);

/* Parse --lines-memory. Returns 0, or STATUS_USAGE after a message. */
int memory_parse(const char *command, const char *arg, uint64_t *ret);

/* Name the kinds that there are, on standard error. */
void view_say_kinds(const struct op_collect *c);

/* Make the view, or print why there is none. Returns 0 or STATUS_FAILED; view_clear()
 * must follow in both cases. */
int view_make_or_say(const struct op_collect *c, const struct view_request *request,
		     const char *what, struct view *ret);

#endif
