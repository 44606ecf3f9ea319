/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the panes. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "browse/panes.h"

/* A smaller share of the whole has no line. */
#define LEAST_SHARE 0.0005

static int64_t least(const struct browser *b)
{
	return OP_MAX((int64_t)((double)b->v.total * LEAST_SHARE), INT64_C(1));
}

static int fill_calls(struct browser *b)
{
	b->calls_shown.shown.len = 0;
	return forest_add(&b->calls_shown, &b->calls, false, least(b));
}

static int fill_around(struct browser *b)
{
	int r;

	b->around_shown.shown.len = 0;
	r = forest_add(&b->around_shown, &b->callers, true, least(b));
	return r ? r : forest_add(&b->around_shown, &b->callees, true, least(b));
}

int panes_show(struct browser *b)
{
	return b->pane == PANE_TREE ? fill_calls(b) : fill_around(b);
}

/* The function on the open path that the answer charges: the innermost one of the first
 * class. */
static size_t own_line(const struct browser *b)
{
	const struct branch *branch;
	enum op_frame_class best = OP_CLASS_NONE, of;
	const struct tree_node *n;
	size_t at = 0;
	uint32_t above = 0;

	op_vec_foreach(branch, &b->calls_shown.shown) {
		n = &b->calls.tree.nodes.data[branch->node];
		if (n->parent != above)
			break;
		above = branch->node;
		if (n->label & VIEW_PROCESS)
			continue;
		of = (enum op_frame_class)b->classes[n->label];
		if (!op_frame_class_is_own(of) || of > best)
			continue;
		best = of;
		at = (size_t)(branch - b->calls_shown.shown.data);
	}
	return at;
}

/* In the middle of the page, behind the lines that lead there. */
static struct place middle(const struct browser *b, size_t selected)
{
	size_t half = (size_t)draw_page(b) / 2;

	return (struct place){ selected, selected - OP_MIN(selected, half) };
}

int panes_tree(struct browser *b)
{
	int r;

	grove_clear(&b->calls);
	b->calls = (struct grove){ .open = NULL };
	r = grove_of_calls(&b->v, &b->out, &b->calls);
	if (r)
		return r;
	grove_open_hottest(&b->calls, 0);
	r = fill_calls(b);
	if (!r)
		b->places[PANE_TREE] = middle(b, own_line(b));
	return r;
}

int panes_around(struct browser *b, uint32_t name)
{
	int r;

	grove_clear(&b->callers);
	grove_clear(&b->callees);
	b->callers = b->callees = (struct grove){ .open = NULL };
	r = grove_around(&b->v, name, &b->out, &b->callers, &b->callees);
	if (r)
		return r;
	grove_open_hottest(&b->callers, 0);
	grove_open_hottest(&b->callees, 0);
	b->name = name;
	b->places[PANE_AROUND] = (struct place){ .selected = 1 };
	return fill_around(b);
}

static int by_total(const void *x, const void *y, void *view)
{
	const struct view *v = view;
	const struct view_row *a = &v->rows.data[*(const uint32_t *)x];
	const struct view_row *b = &v->rows.data[*(const uint32_t *)y];

	if (a->total != b->total)
		return a->total > b->total ? -1 : 1;
	return a->label < b->label ? -1 : a->label > b->label;
}

int panes_functions(struct browser *b)
{
	uint32_t i;

	free(b->order);
	b->order = calloc(b->v.rows.len + 1, sizeof(*b->order));
	if (!b->order)
		return -ENOMEM;
	b->order_len = 0;
	for (i = 0; i < b->v.rows.len; i++)
		if (!leaves_out(&b->out, b->v.rows.data[i].label))
			b->order[b->order_len++] = i;
	/* They are sorted by self time, largest first. */
	if (b->by_total && b->order_len)
		qsort_r(b->order, b->order_len, sizeof(*b->order), by_total, &b->v);
	b->places[PANE_FUNCTIONS] = (struct place){ 0 };
	return 0;
}

/* The line of the pane with the source line @number, or the next one. */
static size_t place_of(const struct source *s, uint32_t number)
{
	size_t i;

	if (s->begins.len)
		return OP_MIN((size_t)(number ? number - 1 : 0), s->begins.len - 1);
	for (i = 0; i + 1 < s->lines.len && s->lines.data[i].number < number; i++)
		;
	return i;
}

int panes_source(struct browser *b, uint32_t function, uint32_t line)
{
	struct source_place place = { .line = line, .function = function };
	struct source made;
	int r;

	if (function == UINT32_MAX) {
		r = source_find(&b->v, NULL, &place);
		if (r)
			return r;
	} else {
		place.file = b->c->functions.data[function].file;
	}
	if (!place.file)
		return -ENODATA;
	r = source_make(&b->v, place.file, &made);
	if (r) {
		source_clear(&made);
		return r;
	}
	source_clear(&b->source);
	b->source = made;
	b->has_source = true;
	b->places[PANE_SOURCE] = middle(b, place_of(&b->source, place.line));
	return 0;
}

void panes_clear(struct browser *b)
{
	grove_clear(&b->calls);
	grove_clear(&b->callers);
	grove_clear(&b->callees);
	op_vec_clear(&b->calls_shown.shown);
	op_vec_clear(&b->around_shown.shown);
	source_clear(&b->source);
	screen_block_clear(&b->block);
	view_clear(&b->v);
	free(b->order);
	free(b->classes);
}

struct forest *panes_forest(struct browser *b)
{
	return b->pane == PANE_TREE	? &b->calls_shown
	       : b->pane == PANE_AROUND ? &b->around_shown
					: NULL;
}

size_t panes_len(const struct browser *b)
{
	switch (b->pane) {
	case PANE_TREE:
		return b->calls_shown.shown.len;
	case PANE_FUNCTIONS:
		return b->order_len;
	case PANE_AROUND:
		return b->around_shown.shown.len;
	default:
		return b->source.begins.len ? b->source.begins.len : b->source.lines.len;
	}
}

static uint32_t function_of_label(uint32_t label)
{
	return label & VIEW_PROCESS ? UINT32_MAX : label;
}

/* The line with most of a function's time. */
static uint32_t hot_line(const struct browser *b, uint32_t function)
{
	const struct view_row *row;

	op_vec_foreach(row, &b->v.rows)
		if (row->label == function)
			return row->line;
	return 0;
}

uint32_t panes_function(const struct browser *b, size_t at, uint32_t *ret_line)
{
	const struct forest *f = panes_forest((struct browser *)b);
	const struct source_line *line;
	uint32_t function = UINT32_MAX;

	*ret_line = 0;
	if (at >= panes_len(b))
		return UINT32_MAX;
	if (f) {
		const struct branch *branch = &f->shown.data[at];

		if (branch->node)
			function = function_of_label(
				branch->of->tree.nodes.data[branch->node].label);
	} else if (b->pane == PANE_FUNCTIONS) {
		function = b->v.rows.data[b->order[at]].label;
	} else {
		*ret_line = b->source.begins.len ? (uint32_t)at + 1
						 : b->source.lines.data[at].number;
		line = source_line(&b->source, *ret_line);
		return line ? line->function : UINT32_MAX;
	}
	if (function != UINT32_MAX)
		*ret_line = hot_line(b, function);
	return function;
}

const char *panes_text(const struct browser *b, size_t at, char *buf, size_t size)
{
	const struct forest *f = panes_forest((struct browser *)b);
	const struct branch *branch = f ? &f->shown.data[at] : NULL;

	*buf = 0;
	if (branch && branch->node)
		return view_label_name(&b->v,
				       branch->of->tree.nodes.data[branch->node].label,
				       buf, size);
	if (b->pane == PANE_FUNCTIONS)
		return view_label_name(&b->v, b->v.rows.data[b->order[at]].label, buf,
				       size);
	if (b->pane == PANE_SOURCE)
		return source_text(&b->source, (uint32_t)at + 1, buf, size);
	return buf;
}
