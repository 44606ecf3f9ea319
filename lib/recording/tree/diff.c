/* SPDX-License-Identifier: Apache-2.0 */
#include "recording/tree/diff.h"

#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "export/format/collect/kinds.h"
#include "export/format/html.h"
#include "recording/read/say.h"
#include "recording/tree/function_name.h"
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

static struct otlp_text text_of(const struct view *v, uint32_t string)
{
	struct otlp_text t;

	t.data = op_collect_text(v->c, string, &t.len);
	return t;
}

static int fill(struct change *c, const struct view *v, const struct view_row *row,
		int side)
{
	const struct op_collect_function *f;
	char name[NAME_BYTES];

	c->name = strdup(view_row_name(v, row, name, sizeof(name)));
	*name = 0;
	if (v->request.by == VIEW_BY_FUNCTION) {
		f = &v->c->functions.data[row->label];
		view_module(v, row->label, name, sizeof(name));
		c->key = text_of(v, f->name);
		c->module_key =
			function_name_base(text_of(v, f->module ? f->module : f->file));
		c->type = text_of(v, f->type);
		c->file = text_of(v, f->file);
		c->start_line = f->start_line;
	} else if (v->request.by == VIEW_BY_LINE) {
		c->key = function_name_base(text_of(v, v->places.data[row->label].file));
		c->start_line = v->places.data[row->label].line;
	} else {
		c->key = text_of(v, row->label);
	}
	c->module = strdup(name);
	c->self[side] = view_percent(v, row->self);
	c->total[side] = view_percent(v, row->total);
	c->self_value[side] = row->self;
	c->total_value[side] = row->total;
	return c->name && c->module ? 0 : -ENOMEM;
}

static int compare_texts(struct otlp_text a, struct otlp_text b)
{
	size_t len = OP_MIN(a.len, b.len);
	int c = len ? memcmp(a.data, b.data, len) : 0;

	return c ? c : a.len < b.len ? -1 : a.len > b.len;
}

/* How many properties of two rows must be equal. */
enum depth {
	ALL,
	BUT_LINE,
	BUT_FILE,
	BUT_TYPE,
	DEPTHS
};

static int compare_to(const struct change *x, const struct change *y, enum depth depth)
{
	int c = compare_texts(x->key, y->key);

	c = c ? c : compare_texts(x->module_key, y->module_key);
	if (!c && depth < BUT_TYPE)
		c = compare_texts(x->type, y->type);
	if (!c && depth < BUT_FILE)
		c = compare_texts(x->file, y->file);
	if (!c && depth < BUT_LINE)
		c = x->start_line < y->start_line ? -1 : x->start_line > y->start_line;
	return c;
}

static int compare_keys(const void *a, const void *b)
{
	return compare_to(a, b, ALL);
}

/*
 * Find for each row of one side a row of the other: one that is equal in all, then one
 * of another line, of another file, and of another type, each in order. Each row is
 * taken once, so that two functions with one name stay two. Both sides are sorted by
 * compare_keys().
 */
static void match(struct change *before, size_t before_len, struct change *after,
		  size_t after_len, enum depth depth)
{
	size_t i = 0, j = 0;
	int c;

	while (i < before_len && j < after_len) {
		if (before[i].both || after[j].both) {
			i += before[i].both;
			j += j < after_len && after[j].both;
			continue;
		}
		c = compare_to(&before[i], &after[j], depth);
		if (c) {
			i += c < 0;
			j += c > 0;
			continue;
		}
		before[i].both = after[j].both = true;
		before[i].self[1] = after[j].self[1];
		before[i].total[1] = after[j].total[1];
		before[i].self_value[1] = after[j].self_value[1];
		before[i].total_value[1] = after[j].total_value[1];
		i++;
		j++;
	}
}

/* Make one row of each pair. The first @before_len changes belong to the first side. */
static void merge(struct diff *d, size_t before_len)
{
	struct change *after = d->changes + before_len;
	size_t after_len = d->len - before_len, i;
	enum depth depth;

	qsort(d->changes, before_len, sizeof(*d->changes), compare_keys);
	qsort(after, after_len, sizeof(*after), compare_keys);
	for (depth = ALL; depth < DEPTHS; depth++)
		match(d->changes, before_len, after, after_len, depth);
	d->len = before_len;
	for (i = 0; i < after_len; i++) {
		if (!after[i].both) {
			d->changes[d->len++] = after[i];
			continue;
		}
		free(after[i].name);
		free(after[i].module);
	}
}

/* How much a row has changed, in percent: its share of the whole. Two recordings may
 * differ in length. But values of one moment (threads, memory in use) do not depend on it,
 * so they are compared themselves, in percent of the larger whole. */
static double weight(const struct diff *d, const struct change *c, bool by_total)
{
	const struct view *v = &d->views[0];
	const struct op_collect_kind *kind = &v->c->kinds.data[v->kind];
	const int64_t *value = by_total ? c->total_value : c->self_value;
	const double *share = by_total ? c->total : c->self;
	int64_t whole = OP_MAX(d->views[0].total, d->views[1].total);

	if (!op_moments_has_type(text_of(v, kind->counted_type)))
		return fabs(share[1] - share[0]);
	return whole > 0 ? 100 * fabs((double)value[1] - (double)value[0]) / (double)whole
			 : 0;
}

static int compare_changes(const void *a, const void *b, void *data)
{
	const struct diff *d = data;
	const struct change *x = a, *y = b;
	double p = weight(d, x, d->by_total), q = weight(d, y, d->by_total);

	if (p != q)
		return p > q ? -1 : 1;
	p = weight(d, x, !d->by_total);
	q = weight(d, y, !d->by_total);
	if (p != q)
		return p > q ? -1 : 1;
	return compare_names(a, b) ?: compare_to(x, y, ALL);
}

static int compare_views(struct diff *d)
{
	const struct view_row *row;
	size_t before_len = 0;
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
		if (!side)
			before_len = d->len;
	}
	merge(d, before_len);
	qsort_r(d->changes, d->len, sizeof(*d->changes), compare_changes, d);
	return 0;
}

size_t diff_large(const struct diff *d)
{
	size_t n = 0;

	while (n < d->len && weight(d, &d->changes[n], d->by_total) >= d->min_percent)
		n++;
	return n;
}

size_t diff_rows(const struct diff *d)
{
	return OP_MIN(diff_large(d), d->limit);
}

/* Show the same kind of the other recording, because shares of two kinds cannot be
 * compared. */
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
	int side, r = 0;

	d->read.detail = OP_COLLECT_LOCATIONS;
	for (side = 0; !r && side < DIFF_SIDES; side++)
		r = recording_load(&d->files[side], 1, &d->read, &d->recordings[side]);
	if (!r && diff_join_names(d->recordings[0].c, d->recordings[1].c))
		r = fail("out of memory");
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
