/* SPDX-License-Identifier: Apache-2.0 */
/* How the commands choose a format of output, and list the formats. */
#ifndef OTELPROF_FORMATS_H
#define OTELPROF_FORMATS_H

#include <stdio.h>

#include "recording/write/form.h"

/* Both return 0, or STATUS_USAGE after a message. */
int format_by_name(const char *command, const char *name, enum form_use use,
		   const struct op_form **ret);
int format_by_ending(const char *command, const char *path, enum form_use use,
		     const struct op_form **ret);

/*
 * Print the line of --format in a help text, continued from column @indent on. @text is
 * a printf() format for the list of names and that of endings.
 */
void format_help(FILE *f, enum form_use use, int indent, const char *text)
	__attribute__((format(printf, 4, 0)));

#endif
