/* SPDX-License-Identifier: Apache-2.0 */
/* The answer for the samples since top's last table. */
#include <stdio.h>
#include <string.h>
#include <sys/sysinfo.h>

#include "recording/lines/lines.h"
#include "recording/write/report.h"
#include "top/top.h"

enum {
	LINES_MIB = 64, /* debug info of larger files is for recordings */
	MIB_SHIFT = 20,
	KIND_BYTES = 2 * KIND_NAME_BYTES + 1,
};
/* Samples wait meanwhile. */
#define LINES_SECONDS 0.25

static struct op_collect *collect(const struct top_window *w)
{
	const struct lines_request request = {
		.seconds = LINES_SECONDS,
		.memory = (uint64_t)LINES_MIB << MIB_SHIFT,
	};
	struct lines_stats stats;
	struct op_collect *c = NULL;
	size_t i;

	if (op_collect_new(OP_COLLECT_LOCATIONS, &c) < 0)
		return NULL;
	for (i = 0; i < w->len; i++)
		(void)op_collect_add(c, w->requests[i].data, w->requests[i].len);
	(void)lines_add(c, &request, &stats);
	return c;
}

void top_answer_make(const struct top *t, const struct top_window *w,
		     struct top_answer *ret)
{
	struct view_request request = { .kind = NULL };
	char kind[KIND_BYTES];

	*ret = (struct top_answer){ .c = collect(w) };
	if (!ret->c)
		return;
	if (*t->shown.type) {
		(void)snprintf(kind, sizeof(kind), "%s/%s", t->shown.type, t->shown.unit);
		request.kind = kind;
	}
	if (view_make(ret->c, &request, &ret->v) < 0 && !ret->v.kind_found) {
		view_clear(&ret->v);
		request.kind = NULL;
		(void)view_make(ret->c, &request, &ret->v);
	}
	ret->v.request.kind = NULL; /* its text ends with this call */
	ret->made = ret->v.total && answer_make(&ret->v, &ret->a) == 0;
}

void top_answer_clear(struct top_answer *a)
{
	view_clear(&a->v);
	a->c = op_collect_free(a->c);
	a->made = false;
}

void top_answer_print(const struct top_answer *a, int columns, size_t rows, bool colour,
		      FILE *f)
{
	const struct answer_style style = {
		.columns = columns,
		.bold = colour ? "\033[1m" : "",
		.plain = colour ? "\033[0m" : "",
		.cpus = (unsigned int)get_nprocs(),
		.rows = rows,
		.brief = true,
	};

	if (a->made)
		report_print_answer(&a->a, &style, f);
}
