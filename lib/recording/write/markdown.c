/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a report as Markdown for an assistant: short, and self-explaining. */
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/foreign/text.h"
#include "export/format/collect/classes.h"
#include "recording/read/quality.h"
#include "recording/tree/chains.h"
#include "recording/tree/function_name.h"
#include "recording/tree/recording.h"
#include "recording/write/form.h"
#include "recording/write/markdown.h"

enum {
	NAME_BYTES = 4096,
	VALUE_BYTES = 64,
	ALSO_SHOWN = 5,
	SUMS_SHOWN = 3,
	DOCUMENT_BYTES = 8192,
	LEAST_SHOWN = 10000, /* a smaller part than one of so many is left out */
	DIFF_NAME_COLUMNS = 90,
	CALLERS_OF = 3, /* functions whose callers are listed */
};
#define CALLERS_PERCENT 1.0 /* if they have this much self time */
/* Characters of prose without a meaning in Markdown. */
#define WORD_CHARACTERS                                                                  \
	"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789 ,./()"
#define SELF_PERCENT 1.0 /* share of a function in the tree to be listed */

/* The amount of text. The first size that fits is used. */
static const struct markdown_size sizes[] = {
	{ 12, 30, 90, 70, 60 },
	{ 12, 24, 70, 60, 40 },
	{ 10, 12, 40, 40, 30 },
	{ 6, 8, 24, 24, 16 },
};

/* A cell of a table. */
static void put_cell(FILE *f, const char *text, int columns)
{
	(void)fputs(" | ", f);
	if (*text)
		markdown_code(f, text, columns);
}

/* What is measured. Types that this program does not know are words of the recording. */
static void put_what(FILE *f, const struct view *v)
{
	char what[VALUE_BYTES];
	const char *words = view_what(v, what, sizeof(what));

	if (words[strspn(words, WORD_CHARACTERS)])
		markdown_code(f, words, 0);
	else
		(void)fputs(words, f);
}

static void write_head(const struct markdown *o)
{
	const struct report *r = o->r;
	FILE *f = o->f;
	const struct view *v = r->v;
	char value[VALUE_BYTES];

	(void)fputs("# Profile ", f);
	markdown_code(f,
		      r->files_len == 1 ? recording_title(r->files[0])
					: "several recordings",
		      o->size->name_columns);
	(void)fputs("\n\n", f);
	put_what(f, v);
	(void)fprintf(f,
		      ": %s in %zu process%s within %.1f s. "
		      "Self is time in the function itself, total with what it calls.\n",
		      view_value(v, v->total, value, sizeof(value)), v->processes,
		      v->processes == 1 ? "" : "es", report_duration(r));
}

static void write_row(const struct markdown *o, const struct view_row *row)
{
	const struct view *v = o->r->v;
	FILE *f = o->f;
	char name[NAME_BYTES];
	bool ours;

	(void)fprintf(f, "| %.1f%% | %.1f%% | ", view_percent(v, row->self),
		      view_percent(v, row->total));
	view_row_name(v, row, name, sizeof(name));
	ours = op_frame_is_ours(name, strlen(name));
	markdown_name(f, name, o->size->name_columns);
	(void)fputs(ours ? " (otelprof itself)" : "", f);
	if (v->request.by == VIEW_BY_FUNCTION) {
		(void)fputs(" | ", f);
		if (*view_place(v, row, name, sizeof(name)))
			markdown_place(f, name, o->size->place_columns);
		put_cell(f, view_module(v, row->label, name, sizeof(name)),
			 o->size->place_columns);
	}
	(void)fputs(" |\n", f);
}

static void write_rows(const struct markdown *o)
{
	const struct report *r = o->r;
	FILE *f = o->f;
	const struct view *v = r->v;
	bool functions = v->request.by == VIEW_BY_FUNCTION;
	size_t n = report_rows(r), i;

	n = n < o->size->rows ? n : o->size->rows;
	(void)fprintf(f, "\n## Most self time, by %s\n| self | total | %s |%s\n|%s\n",
		      view_by_name(v->request.by), view_by_name(v->request.by),
		      functions ? " most at line | module |" : "",
		      functions ? "---|---|---|---|---|" : "---|---|---|");
	for (i = 0; i < n; i++)
		write_row(o, &v->rows.data[i]);
	if (n < v->rows.len)
		(void)fprintf(f, "\n%zu more are not shown.\n", v->rows.len - n);
}

/*
 * How many names are shown at both ends of a long chain: those next to the requested
 * function, or to the leaf.
 */
static const struct ends {
	size_t first, last;
} chain_ends[] = {
	[VIEW_CALLS] = { 1, 2 },
	[VIEW_CALLERS] = { 4, 1 },
	[VIEW_CALLEES] = { 2, 2 },
};

/* Print the names at the ends of a chain, and how many are between. */
static void write_chain(const struct markdown *o, const struct chain *c)
{
	const struct view *v = o->r->v;
	const struct tree_node *nodes = v->tree.nodes.data;
	const struct ends *ends = &chain_ends[v->request.tree];
	size_t shown = ends->first + ends->last, i;
	char name[NAME_BYTES];
	uint32_t at = c->first;

	(void)fprintf(o->f, "%*s- %.1f%% ", 2 * (int)c->depth, "",
		      view_percent(v, nodes[c->first].total));
	for (i = 0; i < c->nodes; i++, at = nodes[at].child) {
		if (c->nodes > shown + 1 && i >= ends->first &&
		    i < c->nodes - ends->last) {
			if (i == ends->first)
				(void)fprintf(o->f, " > %zu more", c->nodes - shown);
			continue;
		}
		(void)fputs(i ? " > " : "", o->f);
		view_label_name(v, nodes[at].label, name, sizeof(name));
		markdown_name(o->f, name, o->size->chain_columns);
	}
	/* In a tree of callers the values are those of the requested function. */
	if (v->request.tree != VIEW_CALLERS &&
	    view_percent(v, nodes[c->last].self) >= SELF_PERCENT)
		(void)fprintf(o->f, ", itself %.1f%%",
			      view_percent(v, nodes[c->last].self));
	(void)fputc('\n', o->f);
}

static void write_callers_of(const struct markdown *o, const struct view_row *row,
			     const struct callers *c)
{
	const struct view *v = o->r->v;
	char name[NAME_BYTES];
	size_t i;

	(void)fputs("- ", o->f);
	view_row_name(v, row, name, sizeof(name));
	markdown_name(o->f, name, o->size->chain_columns);
	for (i = 0; i < c->len; i++) {
		(void)fputs(i ? ", " : " is called by ", o->f);
		view_label_name(v, c->of[i].label, name, sizeof(name));
		markdown_name(o->f, name, o->size->chain_columns);
		(void)fprintf(o->f, " %.1f%%", view_percent(v, c->of[i].value));
	}
	if (c->known > c->len)
		(void)fprintf(o->f, " and %zu more", c->known - c->len);
	(void)fputc('\n', o->f);
}

/* A function with many callers appears in the tree as often. */
static void write_callers(const struct markdown *o)
{
	const struct view *v = o->r->v;
	struct callers callers[CALLERS_OF];
	size_t len = 0, i;

	if (v->request.by != VIEW_BY_FUNCTION || v->request.tree != VIEW_CALLS)
		return;
	while (len < CALLERS_OF && len < v->rows.len &&
	       view_percent(v, v->rows.data[len].self) >= CALLERS_PERCENT)
		len++;
	if (!len || callers_find(v, len, callers))
		return;
	(void)fputs("\nDirect callers, of the most self time:\n", o->f);
	for (i = 0; i < len; i++)
		write_callers_of(o, &v->rows.data[i], &callers[i]);
}

/* Other functions that --callers and --callees could mean. */
static void write_also(const struct markdown *o)
{
	const struct view *v = o->r->v;
	char name[NAME_BYTES];
	size_t i;

	for (i = 0; i < v->also.items.len && i < ALSO_SHOWN; i++) {
		(void)fputs(i ? ", " : "\nThe name also fits ", o->f);
		view_text(v->c, (uint32_t)v->also.items.data[i].key, name, sizeof(name));
		markdown_name(o->f, name, o->size->name_columns);
		(void)fprintf(o->f, " (%.1f%%)",
			      view_percent(v, v->also.items.data[i].value));
	}
	if (v->also.items.len > ALSO_SHOWN)
		(void)fprintf(o->f, " and %zu more", v->also.items.len - ALSO_SHOWN);
	if (v->also.items.len)
		(void)fputs(".\n", o->f);
}

static void write_tree(const struct markdown *o)
{
	static const char *const titles[] = {
		[VIEW_CALLS] = "Calls",
		[VIEW_CALLERS] = "Callers, the function first",
		[VIEW_CALLEES] = "Callees, the function first",
	};
	const struct report *r = o->r;
	const struct view *v = r->v;
	struct chains chains;
	size_t limit, i;

	write_also(o);
	(void)fprintf(o->f, "\n## %s\n", titles[v->request.tree]);
	limit = r->tree_limit ? r->tree_limit : r->limit;
	chains_make(&v->tree, limit < o->size->chains ? limit : o->size->chains,
		    (int64_t)((double)v->total * r->min_percent / 100), &chains);
	for (i = 0; i < chains.len; i++)
		write_chain(o, &chains.of[i]);
	if (chains.next)
		(void)fprintf(o->f, "\nWhat is not shown has at most %.1f%% each.\n",
			      view_percent(v, chains.next));
	write_callers(o);
}

static void put_words(FILE *f, const char *name)
{
	const char *words = quality_words(name, strlen(name));

	if (words)
		(void)fprintf(f, ". %s", words);
}

static void write_sums(const struct markdown *o, const struct sums *s, int64_t whole,
		       const char *what)
{
	const struct view *v = o->r->v;
	char name[NAME_BYTES];
	size_t i;

	for (i = 0; i < s->items.len && i < SUMS_SHOWN; i++) {
		if ((double)s->items.data[i].value * LEAST_SHOWN < (double)whole)
			break;
		(void)fprintf(o->f, "- %.2f%% of %s ",
			      whole ? 100.0 * (double)s->items.data[i].value /
					      (double)whole
				    : 0.0,
			      what);
		view_text(v->c, (uint32_t)s->items.data[i].key, name, sizeof(name));
		markdown_code(o->f, *name ? name : "[no file]", o->size->place_columns);
		put_words(o->f, name);
		(void)fputc('\n', o->f);
	}
}

/* Explain frames in the shown rows that stand for no function. */
static void write_no_functions(const struct markdown *o)
{
	const struct view *v = o->r->v;
	size_t n = report_rows(o->r), i;
	char name[NAME_BYTES];

	if (v->request.by != VIEW_BY_FUNCTION || !o->r->show_rows)
		return;
	for (i = 0; i < n && i < o->size->rows; i++) {
		view_row_name(v, &v->rows.data[i], name, sizeof(name));
		if (!quality_words(name, strlen(name)) ||
		    quality_is_ending(name, strlen(name)))
			continue;
		(void)fprintf(o->f, "- %.1f%% is in ",
			      view_percent(v, v->rows.data[i].total));
		markdown_code(o->f, name, o->size->name_columns);
		put_words(o->f, name);
		(void)fputc('\n', o->f);
	}
}

static void write_quality(const struct markdown *o)
{
	const struct view *v = o->r->v;
	char lost[OP_COLLECT_LOST_BYTES];

	(void)fprintf(o->f,
		      "\n## What is missing\n- %.2f%% of the stacks are whole, %.2f%% of "
		      "the frames have names.\n",
		      view_whole_percent(v), view_named_percent(v));
	if (view_lost(v, lost, sizeof(lost)))
		(void)fprintf(o->f, "- %s\n", lost);
	if (v->guessed)
		(void)fprintf(
			o->f,
			"- %.2f%% of the stacks go by a guess; callers may be missing "
			"or wrong there.\n",
			view_guessed_percent(v));
	if (v->approximate)
		(void)fprintf(o->f,
			      "- %.2f%% of the stacks have the nearest function that the "
			      "runtime reports; " REPORT_JAVA_HINT ".\n",
			      view_percent(v, v->approximate));
	write_sums(o, &v->endings, v->total, "the stacks end early:");
	write_sums(o, &v->unnamed, v->frames, "the frames have no symbols:");
	write_no_functions(o);
}

static void write_document(const struct markdown *o)
{
	write_head(o);
	if (o->r->show_rows) {
		markdown_answer(o);
		write_rows(o);
	}
	if (o->r->show_tree)
		write_tree(o);
	write_quality(o);
	markdown_next(o);
}

static void report_markdown(const struct report *r, FILE *f)
{
	const size_t last = sizeof(sizes) / sizeof(sizes[0]) - 1;
	_cleanup_free_ char *text = NULL;
	struct markdown o = { .r = r };
	size_t len = 0, i;

	for (i = 0; i <= last; i++) {
		free(text);
		text = NULL;
		o.size = &sizes[i];
		o.f = open_memstream(&text, &len);
		if (!o.f)
			break;
		write_document(&o);
		if (fclose(o.f) != 0)
			break;
		if (len < DOCUMENT_BYTES || i == last) {
			(void)fwrite(text, 1, len, f);
			return;
		}
	}
	/* Without memory for the text, it is written piece by piece. */
	o.size = &sizes[last];
	o.f = f;
	write_document(&o);
}

static void diff_markdown(const struct diff *d, FILE *f)
{
	const struct change *c;
	char name[NAME_BYTES];
	size_t large = diff_large(d), n = diff_rows(d), i;
	char after[VALUE_BYTES];
	const int64_t *value;

	(void)fputs("# Profiles compared: ", f);
	markdown_code(f, recording_title(d->files[0]), DIFF_NAME_COLUMNS);
	(void)fputs(" (before), ", f);
	markdown_code(f, recording_title(d->files[1]), DIFF_NAME_COLUMNS);
	(void)fputs(" (after)\n\n", f);
	put_what(f, &d->views[0]);
	(void)fprintf(
		f,
		". Shares of each recording's whole, in per cent; the change in points."
		"\n\n| self before | after | change | total before | after | change | %s | "
		"module | value before | after |\n|---|---|---|---|---|---|---|---|---|---|\n",
		view_by_name(d->views[0].request.by));
	for (i = 0; i < n; i++) {
		c = &d->changes[i];
		(void)fprintf(f, "| %.2f | %.2f | %+.2f | %.2f | %.2f | %+.2f | ",
			      c->self[0], c->self[1], c->self[1] - c->self[0],
			      c->total[0], c->total[1], c->total[1] - c->total[0]);
		(void)op_text_show(c->name, strlen(c->name), name, sizeof(name));
		markdown_name(f, name, DIFF_NAME_COLUMNS);
		put_cell(f, c->module, DIFF_NAME_COLUMNS);
		value = d->by_total ? c->total_value : c->self_value;
		(void)fprintf(f, " | %s | %s |\n",
			      view_value(&d->views[0], value[0], name, sizeof(name)),
			      view_value(&d->views[1], value[1], after, sizeof(after)));
	}
	if (!n)
		(void)fprintf(f, "\nNothing has changed by %g%% of the whole or more.\n",
			      d->min_percent);
	else if (n < large)
		(void)fprintf(f, "\n%zu more are not shown.\n", large - n);
}

const struct op_form op_form_markdown = {
	.name = "markdown",
	.hint = "(small, for assistants)",
	.report = report_markdown,
	.diff = diff_markdown,
};
