/* SPDX-License-Identifier: Apache-2.0 */
/* Builds a view: sums of functions, lines and stacks of the requested samples. */
#include "recording/tree/view.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "export/format/collect/classes.h"
#include "export/format/collect/kinds.h"
#include "recording/read/kind_word.h"
#include "recording/read/kinds.h"
#include "recording/read/quality.h"
#include "recording/tree/function_name.h"

/* State while stacks are added. */
struct making {
	struct view *v;
	struct op_collect_path path;
	struct sums self;  /* by label */
	struct sums total; /* by label */
	struct sums lines; /* totals, by label and line */
	uint32_t *seen; /* by function: the number of the last stack that was counted */
	uint32_t *place_of; /* by line of the collection: the number of its place */
	bool *processes;    /* by process: does it have samples? */
	uint32_t stack;
};

static const char *const by_names[VIEW_BY_MAX] = {
	"function", "line",	 "file",    "module", "process", "program",
	"thread",   "container", "service", "trace",  "label",
};
static const char label_begins[] = "label:";

const char *view_by_name(enum view_by by)
{
	return by_names[by];
}

int view_by_parse(const char *name, enum view_by *ret, const char **ret_key)
{
	int i;

	if (strncmp(name, label_begins, strlen(label_begins)) == 0 &&
	    name[strlen(label_begins)]) {
		*ret = VIEW_BY_LABEL;
		*ret_key = name + strlen(label_begins);
		return 0;
	}
	for (i = 0; i < VIEW_BY_LABEL; i++) {
		if (strcmp(by_names[i], name) == 0) {
			*ret = (enum view_by)i;
			return 0;
		}
	}
	return -ENOENT;
}

const char *view_by_list(char buf[VIEW_BY_BYTES])
{
	size_t len = 0;
	int i;

	for (i = 0; i < VIEW_BY_LABEL; i++)
		len += (size_t)snprintf(buf + len, VIEW_BY_BYTES - len, "%s%s",
					i ? ", " : "", by_names[i]);
	(void)snprintf(buf + len, VIEW_BY_BYTES - len, " or %sKEY", label_begins);
	return buf;
}

static int add_quality(struct making *m, const struct op_collect_stack *s)
{
	struct view *v = m->v;
	const struct op_collect_function *f;
	const char *name;
	size_t len, i;
	int r;

	v->guessed = op_collect_sum(v->guessed, s->guessed);
	v->lost += s->lost;
	v->approximate = op_collect_sum(v->approximate, s->approximate);
	for (i = 0; i < m->path.len; i++) {
		f = &v->c->functions.data[m->path.data[i]];
		name = op_collect_text(v->c, f->name, &len);
		if (quality_is_ending(name, len)) {
			v->early = op_collect_sum(v->early, s->value);
			r = sums_add(&v->endings, f->name, s->value);
			if (r)
				return r;
			continue;
		}
		v->frames = op_collect_sum(v->frames, s->value);
		if (!op_frame_is_unnamed(name, len))
			continue;
		v->frames_unnamed = op_collect_sum(v->frames_unnamed, s->value);
		r = sums_add(&v->unnamed, f->module, s->value);
		if (r)
			return r;
	}
	return 0;
}

/* The label for the row of a frame: its function, its place, its file or its module. */
static uint32_t row_label(const struct making *m, const struct op_collect_line *line)
{
	const struct op_collect_function *f = &m->v->c->functions.data[line->function];

	switch (m->v->request.by) {
	case VIEW_BY_LINE:
		return m->place_of[line - m->v->c->lines.data];
	case VIEW_BY_FILE:
		return f->file ? f->file : f->module;
	case VIEW_BY_MODULE:
		/* Interpreted code has a file in place of a module. */
		return f->module ? f->module : f->file;
	default:
		return line->function;
	}
}

static int add_frame(struct making *m, const struct op_collect_line *line, int64_t value)
{
	uint32_t label = row_label(m, line);
	int r;

	/* A recursive function counts once for each stack. */
	if (m->seen[label] == m->stack)
		return 0;
	m->seen[label] = m->stack;
	r = sums_add(&m->total, label, value);
	if (!r && m->v->request.by == VIEW_BY_FUNCTION)
		r = sums_add(&m->lines, (uint64_t)label << 32 | line->line, value);
	return r;
}

static int add_frames(struct making *m, const struct op_collect_stack *s)
{
	const struct op_collect *c = m->v->c;
	const struct op_collect_location *l;
	const struct op_collect_line *line;
	uint32_t i, j;
	int r = 0;

	m->stack++;
	for (i = 0; !r && i < s->locations_len; i++) {
		l = &c->locations.data[c->location_numbers.data[s->locations + i]];
		for (j = 0; !r && j < l->lines_len; j++) {
			line = &c->lines.data[l->lines + j];
			if (i == 0 && j == 0)
				r = sums_add(&m->self, row_label(m, line), s->value);
			if (!r)
				r = add_frame(m, line, s->value);
		}
	}
	return r;
}

static int add_group(struct making *m, const struct op_collect_stack *s)
{
	const struct op_collect_process *p = &m->v->c->processes.data[s->process];
	uint64_t key = s->process;

	if (m->v->request.by == VIEW_BY_PROGRAM)
		key = p->name;
	else if (m->v->request.by == VIEW_BY_THREAD)
		key = s->thread_name;
	else if (m->v->request.by == VIEW_BY_CONTAINER)
		key = p->container_id ? p->container_id : p->container_name;
	else if (m->v->request.by == VIEW_BY_SERVICE)
		key = p->service_name;
	else if (m->v->request.by == VIEW_BY_TRACE)
		key = s->trace;
	else if (m->v->request.by == VIEW_BY_LABEL)
		key = s->label;
	return sums_add(&m->total, key, s->value);
}

static bool is_asked_for(const struct view *v, uint32_t function)
{
	return v->c->functions.data[function].name == v->function;
}

/* The labels of the call tree: the program, then all frames. */
static int add_calls(struct making *m, const struct op_collect_stack *s, uint32_t *labels)
{
	labels[0] = m->v->c->processes.data[s->process].name | VIEW_PROCESS;
	if (m->path.len)
		memcpy(labels + 1, m->path.data, m->path.len * sizeof(*labels));
	return tree_add(&m->v->tree, labels, m->path.len + 1, s->value, NULL);
}

/* The labels around the wanted function: callees of its outermost frame, or callers of
 * its innermost. */
static int add_around(struct making *m, const struct op_collect_stack *s,
		      uint32_t *labels)
{
	const struct op_collect_path *path = &m->path;
	size_t i, n = 0;

	if (m->v->request.tree == VIEW_CALLEES) {
		for (i = 0; i < path->len && !is_asked_for(m->v, path->data[i]); i++)
			;
		for (; i < path->len; i++)
			labels[n++] = path->data[i];
	} else {
		for (i = path->len; i && !is_asked_for(m->v, path->data[i - 1]); i--)
			;
		for (; i; i--)
			labels[n++] = path->data[i - 1];
		if (n)
			labels[n++] =
				m->v->c->processes.data[s->process].name | VIEW_PROCESS;
	}
	return n ? tree_add(&m->v->tree, labels, n, s->value, NULL) : 0;
}

static int add_stack(struct making *m, const struct op_collect_stack *s)
{
	_cleanup_free_ uint32_t *labels = NULL;
	struct view *v = m->v;
	int r;

	v->total = op_collect_sum(v->total, s->value);
	if (!m->processes[s->process]) {
		m->processes[s->process] = true;
		v->processes++;
	}
	r = op_collect_path(v->c, s, &m->path);
	if (!r)
		r = add_quality(m, s);
	if (!r)
		r = view_by_frames(v->request.by) ? add_frames(m, s) : add_group(m, s);
	if (r)
		return r;
	labels = malloc((m->path.len + 1) * sizeof(*labels));
	if (!labels)
		return -ENOMEM;
	return v->request.tree == VIEW_CALLS ? add_calls(m, s, labels)
					     : add_around(m, s, labels);
}

static bool is_large(const struct view *v, const struct view_row *row)
{
	return view_percent(v, row->total) >= v->request.min_percent;
}

static int compare_rows(const void *a, const void *b, void *view)
{
	const struct view_row *x = a, *y = b;

	if (is_large(view, x) != is_large(view, y))
		return is_large(view, x) ? -1 : 1;
	if (x->self != y->self)
		return x->self > y->self ? -1 : 1;
	if (x->total != y->total)
		return x->total > y->total ? -1 : 1;
	return x->label < y->label ? -1 : x->label > y->label;
}

static int make_rows(struct making *m)
{
	_cleanup_free_ uint32_t *row_of = NULL;
	struct view *v = m->v;
	const struct sum *sum;
	struct view_row *row;
	uint32_t line;

	row_of = calloc(v->c->functions.len + v->c->strings.places.len + 1,
			sizeof(*row_of));
	if (!row_of)
		return -ENOMEM;
	op_vec_foreach(sum, &m->total.items) {
		row = op_vec_push(&v->rows);
		if (!row)
			return -ENOMEM;
		*row = (struct view_row){ .label = (uint32_t)sum->key,
					  .self = sums_get(&m->self, sum->key),
					  .total = sum->value };
		if (v->request.by == VIEW_BY_FUNCTION)
			row_of[sum->key] = (uint32_t)v->rows.len - 1;
	}
	op_vec_foreach(sum, &m->lines.items) {
		row = &v->rows.data[row_of[sum->key >> 32]];
		line = (uint32_t)sum->key;
		if (line && sum->value > row->line_value) {
			row->line = line;
			row->line_value = sum->value;
		}
	}
	if (v->rows.len)
		qsort_r(v->rows.data, v->rows.len, sizeof(*v->rows.data), compare_rows,
			v);
	while (v->rows_large < v->rows.len && is_large(v, &v->rows.data[v->rows_large]))
		v->rows_large++;
	return 0;
}

static int find_kind(struct view *v)
{
	if (v->request.same_kind) {
		const struct view *other = v->request.same_kind;

		return op_collect_same_kind(v->c, other->c, other->kind, &v->kind);
	}
	if (!v->request.kind) {
		v->kind = kind_by_default(v->c);
		return v->c->kinds.len ? 0 : -ENOENT;
	}
	return kind_by_word(v->c, v->request.kind, &v->kind);
}

/* Number the places: several lines of the collection may have the same place. */
static int number_places(struct making *m)
{
	const struct op_collect *c = m->v->c;
	const struct op_collect_function *f;
	struct op_map64 numbers = { 0 };
	struct view_place place, *added;
	uint64_t key, number;
	size_t i;
	int r = 0;

	m->place_of = calloc(c->lines.len + 1, sizeof(*m->place_of));
	if (!m->place_of)
		return -ENOMEM;
	for (i = 0; !r && i < c->lines.len; i++) {
		f = &c->functions.data[c->lines.data[i].function];
		place = (struct view_place){ f->file, c->lines.data[i].line };
		if (!place.file || !place.line)
			place = (struct view_place){ f->module ? f->module : f->file, 0 };
		key = (uint64_t)place.file << 32 | place.line;
		if (!op_map64_get(&numbers, key, &number)) {
			number = m->v->places.len;
			added = op_vec_push(&m->v->places);
			r = added ? op_map64_put(&numbers, key, number) : -ENOMEM;
			if (!r)
				*added = place;
		}
		m->place_of[i] = (uint32_t)number;
	}
	op_map64_clear(&numbers);
	return r;
}

static int add_all(struct making *m)
{
	const struct op_collect_stack *s;
	int r;

	op_vec_foreach(s, &m->v->c->stacks) {
		if (!view_wants(m->v, s))
			continue;
		r = add_stack(m, s);
		if (r)
			return r;
	}
	return 0;
}

int view_make(const struct op_collect *c, const struct view_request *request,
	      struct view *ret)
{
	struct making m = { .v = ret };
	int r;

	*ret = (struct view){ .c = c, .request = *request };
	r = find_kind(ret);
	ret->kind_found = !r;
	if (!r && request->function)
		r = function_name_find(ret, &ret->function, &ret->also);
	/* as many as there are labels of any kind */
	m.seen = calloc(c->functions.len + c->strings.places.len + c->lines.len + 1,
			sizeof(*m.seen));
	m.processes = calloc(c->processes.len + 1, sizeof(*m.processes));
	if (!r && (!m.seen || !m.processes))
		r = -ENOMEM;
	if (!r && request->by == VIEW_BY_LINE)
		r = number_places(&m);
	if (!r)
		r = add_all(&m);
	if (!r)
		r = make_rows(&m);
	if (!r)
		r = tree_sort(&ret->tree);
	sums_sort(&ret->endings);
	sums_sort(&ret->unnamed);
	free(m.seen);
	free(m.processes);
	free(m.place_of);
	free(m.path.data);
	sums_clear(&m.self);
	sums_clear(&m.total);
	sums_clear(&m.lines);
	return r ? r : ret->tree.nodes.len ? 0 : -ENOENT;
}

void view_clear(struct view *v)
{
	op_vec_clear(&v->places);
	op_vec_clear(&v->rows);
	tree_clear(&v->tree);
	sums_clear(&v->also);
	sums_clear(&v->endings);
	sums_clear(&v->unnamed);
}
