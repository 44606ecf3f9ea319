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

/* The same for live views, without -p and --container, which are rules there. */
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
	FILTERS_REQUESTS, /* requests are written again: nothing can be hidden */
	FILTERS_LIVE,
};

/* Print the help of these options. Its texts begin in column @indent. */
void filters_help(FILE *f, int indent, enum filters_of of);
/* Is @c, which getopt_long() returned, one of these options? */
bool filters_has(int c);
/* Parse one option. filter_clear() must follow in every case. Returns 0, or an exit
 * status after a message. */
int filters_take(const char *command, int c, const char *arg, struct filter *f);

/* Refuse filters that are impossible where requests are written again. Returns 0, or
 * STATUS_USAGE after a message. */
int filters_for_requests(const char *command, const struct filter *f);
/* @f, or NULL if it passes everything. */
const struct filter *filters_any(const struct filter *f);
/* Move the parts that a view applies itself to @request. Returns the rest, which borrows
 * from @f. */
struct filter filters_for_view(const struct filter *f, struct view_request *request);

#endif
