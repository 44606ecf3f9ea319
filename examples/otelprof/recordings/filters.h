/* SPDX-License-Identifier: Apache-2.0 */
/* The options that choose samples, the same in every command that reads recordings. */
#ifndef OTELPROF_RECORDINGS_FILTERS_H
#define OTELPROF_RECORDINGS_FILTERS_H

#include "common.h"
#include "recording/requests/filter.h"
#include "recording/tree/view.h"

enum {
	FILTER_OPTION_KIND = OPTION_OWN + 200,
	FILTER_OPTION_PROGRAM,
	FILTER_OPTION_THREAD,
	FILTER_OPTION_CONTAINER,
	FILTER_OPTION_POD,
	FILTER_OPTION_USER,
	FILTER_OPTION_CGROUP,
	FILTER_OPTION_FOCUS, /* these three in the order of enum filter_frames */
	FILTER_OPTION_IGNORE,
	FILTER_OPTION_HIDE,
	FILTER_OPTION_LABEL,
	FILTER_OPTION_TRACE,
	FILTER_OPTION_SPAN,
	FILTER_OPTION_FROM,
	FILTER_OPTION_TO,
	FILTER_OPTION_END,
};
#define FILTER_LETTERS "p:"
/* clang-format off */
#define FILTERS_LONG                                                                     \
	{ "kind", required_argument, NULL, FILTER_OPTION_KIND },                         \
	{ "pid", required_argument, NULL, 'p' },                                         \
	{ "program", required_argument, NULL, FILTER_OPTION_PROGRAM },                   \
	{ "thread", required_argument, NULL, FILTER_OPTION_THREAD },                     \
	{ "container", required_argument, NULL, FILTER_OPTION_CONTAINER },               \
	{ "pod", required_argument, NULL, FILTER_OPTION_POD },                           \
	{ "user", required_argument, NULL, FILTER_OPTION_USER },                         \
	{ "cgroup", required_argument, NULL, FILTER_OPTION_CGROUP },                     \
	{ "comm", required_argument, NULL, FILTER_OPTION_THREAD },                       \
	{ "focus", required_argument, NULL, FILTER_OPTION_FOCUS },                       \
	{ "ignore", required_argument, NULL, FILTER_OPTION_IGNORE },                     \
	{ "hide", required_argument, NULL, FILTER_OPTION_HIDE },                         \
	{ "label", required_argument, NULL, FILTER_OPTION_LABEL },                       \
	{ "trace", required_argument, NULL, FILTER_OPTION_TRACE },                       \
	{ "span", required_argument, NULL, FILTER_OPTION_SPAN },                         \
	{ "from", required_argument, NULL, FILTER_OPTION_FROM },                         \
	{ "to", required_argument, NULL, FILTER_OPTION_TO }

/* Those of what is seen while it is recorded: -p and --container belong to its rules. */
#define FILTERS_LIVE_LONG                                                                \
	{ "kind", required_argument, NULL, FILTER_OPTION_KIND },                         \
	{ "program", required_argument, NULL, FILTER_OPTION_PROGRAM },                   \
	{ "thread", required_argument, NULL, FILTER_OPTION_THREAD },                     \
	{ "focus", required_argument, NULL, FILTER_OPTION_FOCUS },                       \
	{ "ignore", required_argument, NULL, FILTER_OPTION_IGNORE },                     \
	{ "label", required_argument, NULL, FILTER_OPTION_LABEL },                       \
	{ "trace", required_argument, NULL, FILTER_OPTION_TRACE },                       \
	{ "span", required_argument, NULL, FILTER_OPTION_SPAN }
/* clang-format on */

enum filters_of {
	FILTERS_VIEWS,
	FILTERS_REQUESTS, /* they are written again: nothing can be hidden */
	FILTERS_LIVE,
};

/* Print their lines of a help, whose texts begin in column @indent. */
void filters_help(FILE *f, int indent, enum filters_of of);
/* Is @c, which getopt_long() returned, one of them? */
bool filters_has(int c);
/* Parse one. filter_clear() must follow in every case. Returns 0, or an exit status after a
 * message. */
int filters_take(const char *command, int c, const char *arg, struct filter *f);

/* Refuse what cannot be asked for where requests are written again. Returns 0, or STATUS_USAGE after
 * a message. */
int filters_for_requests(const char *command, const struct filter *f);
/* @f, or NULL where it lets everything pass. */
const struct filter *filters_any(const struct filter *f);
/* Let @request choose what a view chooses by itself. Returns the rest, which borrows of @f. */
struct filter filters_for_view(const struct filter *f, struct view_request *request);

#endif
