/* SPDX-License-Identifier: Apache-2.0 */
#include "recording/tree/diff.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "export/format/html.h"
#include "export/format/kinds.h"
#include "recording/read/say.h"
#include "recording/tree/missing.h"

enum {
	NAME_BYTES = 4096,
	VALUE_BYTES = 64,
};

static int compare_names(const void *a, const void *b)
{
	const struct change *x = a, *y = b;
	int c = strcmp(x->name, y->name);

	return c ? c : strcmp(x->module, y->module);
}

static double weight(const struct change *c, bool by_total)
{
	return by_total ? fabs(c->total[1] - c->total[0]) : fabs(c->self[1] - c->self[0]);
}

static int compare_changes(const void *a, const void *b, void *data)
{
	const struct diff *d = data;
	const struct change *x = a, *y = b;
	double p = weight(x, d->by_total), q = weight(y, d->by_total);

	if (p != q)
		return p > q ? -1 : 1;
	p = weight(x, !d->by_total);
	q = weight(y, !d->by_total);
	if (p != q)
		return p > q ? -1 : 1;
	return compare_names(a, b);
}

static int fill(struct change *c, const struct view *v, const struct view_row *row,
		int side)
{
	char name[NAME_BYTES];

	c->name = strdup(view_row_name(v, row, name, sizeof(name)));
	*name = 0;
	if (v->request.by == VIEW_BY_FUNCTION)
		view_module(v, row->label, name, sizeof(name));
	c->module = strdup(name);
	c->self[side] = view_percent(v, row->self);
	c->total[side] = view_percent(v, row->total);
	return c->name && c->module ? 0 : -ENOMEM;
}

/* Merge rows of one name and module. */
static void merge(struct diff *d)
{
	struct change *to;
	size_t i, n = 0;
	int side;

	qsort(d->changes, d->len, sizeof(*d->changes), compare_names);
	for (i = 0; i < d->len; i++) {
		to = n ? &d->changes[n - 1] : NULL;
		if (!to || compare_names(to, &d->changes[i]) != 0) {
			d->changes[n++] = d->changes[i];
			continue;
		}
		for (side = 0; side < DIFF_SIDES; side++) {
			to->self[side] += d->changes[i].self[side];
			to->total[side] += d->changes[i].total[side];
		}
		free(d->changes[i].name);
		free(d->changes[i].module);
	}
	d->len = n;
}

static int compare_views(struct diff *d)
{
	const struct view_row *row;
	int side;

	d->changes = calloc(d->views[0].rows.len + d->views[1].rows.len + 1,
			    sizeof(*d->changes));
	if (!d->changes)
		return fail("out of memory");
	for (side = 0; side < DIFF_SIDES; side++) {
		op_vec_foreach(row, &d->views[side].rows) {
			if (fill(&d->changes[d->len++], &d->views[side], row, side) < 0)
				return fail("out of memory");
		}
	}
	merge(d);
	qsort_r(d->changes, d->len, sizeof(*d->changes), compare_changes, d);
	return 0;
}

size_t diff_large(const struct diff *d)
{
	size_t n = 0;

	while (n < d->len && weight(&d->changes[n], d->by_total) >= d->min_percent)
		n++;
	return n;
}

size_t diff_rows(const struct diff *d)
{
	return OP_MIN(diff_large(d), d->limit);
}

/* Of the other recording the same kind is shown: shares of two kinds say nothing. */
static int ask_for_same_kind(struct diff *d, struct view_request *request)
{
	const struct view *v = &d->views[0];
	const struct op_collect_kind *k = &v->c->kinds.data[v->kind];
	char type[VALUE_BYTES], unit[VALUE_BYTES];
	uint32_t kind;

	request->same_kind = v;
	if (op_collect_same_kind(d->recordings[1].c, v->c, v->kind, &kind) == 0)
		return 0;
	(void)fail("%s has no %s (%s), which would be compared with those of %s",
		   recording_title(d->files[1]),
		   view_text(v->c, k->counted_type, type, sizeof(type)),
		   view_text(v->c, k->counted_unit, unit, sizeof(unit)),
		   recording_title(d->files[0]));
	missing_note_kinds(d->recordings[1].c);
	return STATUS_FAILED;
}

static int make_views(struct diff *d, const struct view_request *request)
{
	struct view_request q = *request;
	int r = view_make_or_say(d->recordings[0].c, &q, recording_title(d->files[0]),
				 &d->views[0]);

	if (!r)
		r = ask_for_same_kind(d, &q);
	return r ? r
		 : view_make_or_say(d->recordings[1].c, &q, recording_title(d->files[1]),
				    &d->views[1]);
}

int diff_make(struct diff *d, const struct view_request *request)
{
	const struct recording_request all = { .detail = OP_COLLECT_FUNCTIONS };
	int side, r = 0;

	for (side = 0; !r && side < DIFF_SIDES; side++)
		r = recording_load(&d->files[side], 1, &all, &d->recordings[side]);
	if (!r)
		r = make_views(d, request);
	return r ? r : compare_views(d);
}

int diff_page(struct diff *d, const char *path, int fd)
{
	int r;

	op_collect_match_kinds(d->recordings[0].c, d->recordings[1].c);
	r = op_html_compare(d->recordings[0].c, d->recordings[1].c, fd);
	return r < 0 ? fail("cannot write %s: %s", path, strerror(-r)) : 0;
}

void diff_clear(struct diff *d)
{
	size_t i;
	int side;

	for (i = 0; i < d->len; i++) {
		free(d->changes[i].name);
		free(d->changes[i].module);
	}
	free(d->changes);
	for (side = 0; side < DIFF_SIDES; side++) {
		view_clear(&d->views[side]);
		recording_clear(&d->recordings[side]);
	}
}
