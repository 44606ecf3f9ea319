/* SPDX-License-Identifier: Apache-2.0 */
/* Options that the commands on recordings share. */
#ifndef OTELPROF_RECORDINGS_COMMAND_H
#define OTELPROF_RECORDINGS_COMMAND_H

#include "common.h"
#include "recording/tree/recording.h"

/* Parse a share in per cent, from 0 to 100. Returns 0, or STATUS_USAGE after
 * a message. */
int percent_parse(const char *command, const char *option, const char *arg, double *ret);

/* Parse the number of rows, from -n, --rows or its old name, --lines. Returns 0, or
 * STATUS_USAGE after a message. */
int rows_parse(const char *command, const char *arg, long long *ret);

/* Options of source lines. */
enum {
	OPTION_SYMBOLS = OPTION_OWN + 100,
	OPTION_LINES_TIME,
	OPTION_LINES_MEMORY,
	OPTION_LINES_CACHE,
	OPTION_NO_LINES_CACHE,
};
#define LINES_LONG                                                                       \
	{ "symbols", required_argument, NULL, OPTION_SYMBOLS },                          \
		{ "lines-time", required_argument, NULL, OPTION_LINES_TIME },            \
		{ "lines-memory", required_argument, NULL, OPTION_LINES_MEMORY },        \
		{ "lines-cache", required_argument, NULL, OPTION_LINES_CACHE },          \
	{                                                                                \
		"no-lines-cache", no_argument, NULL, OPTION_NO_LINES_CACHE               \
	}
/* Parse one of these options. Returns 0, or STATUS_USAGE after a message. */
int lines_take(const char *command, int c, const char *arg, struct recording_lines *ret);

/* Flush standard output. Returns 0, or STATUS_FAILED after a message. */
int end_output(void);

#endif
