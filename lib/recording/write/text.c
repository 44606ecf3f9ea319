/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a report for a terminal. */
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "export/format/collect/classes.h"
#include "export/format/collect/kinds.h"
#include "recording/read/print.h"
#include "recording/read/quality.h"
#include "recording/tree/recording.h"
#include "recording/write/form.h"

enum {
	COLUMNS_PIPE = 120,
	COLUMNS_MIN = 60,
	NUMBER_COLUMNS = 17, /* width of two shares */
	MODULE_COLUMNS = 18,
	ENDINGS_SHOWN = 5,
	ALSO_SHOWN = 5,
	ALSO_COLUMNS = 40,
	NAME_BYTES = 4096,
	VALUE_BYTES = 64,
	INDENT_MAX = 30,
	ANSWER_ROWS = 5,
	LINES_FROM = 100, /* a narrower terminal has no column for lines */
	LINE_COLUMNS = 20,
	DIFF_NAME_COLUMNS = 90,
};

struct text {
	const struct report *r;
	FILE *f;
	int columns;
	const char *bold;
	const char *plain;
	/* rows of functions are those of own code, and for waits the others are the
	 * same */
	bool own;
};

static int columns_of(FILE *f)
{
	struct winsize ws = { 0 };

	if (ioctl(fileno(f), TIOCGWINSZ, &ws) < 0 || !ws.ws_col)
		return COLUMNS_PIPE;
	return ws.ws_col > COLUMNS_MIN ? ws.ws_col : COLUMNS_MIN;
}

/* Is the value a number of events or things? */
static bool is_count(const struct view *v)
{
	const struct op_collect_kind *k = &v->c->kinds.data[v->kind];

	return view_text_is(v->c, k->unit, "count") && !op_collect_is_clock(v->c, k);
}

static void print_head(const struct text *t)
{
	const struct view *v = t->r->v;
	char what[VALUE_BYTES], value[VALUE_BYTES];

	print_text(t->f, t->r->files_len == 1 ? recording_title(t->r->files[0])
					      : "several recordings");
	(void)fprintf(t->f, ": %s %s%s, in %zu process%s, within %.1f s\n",
		      view_value(v, v->total, value, sizeof(value)),
		      is_count(v) ? "" : "of ", view_what(v, what, sizeof(what)),
		      v->processes, v->processes == 1 ? "" : "es", report_duration(t->r));
}

/* Mark rows of this profiler itself. */
static void put_ours(FILE *f, const char *name)
{
	if (op_frame_is_ours(name, strlen(name)))
		(void)fputs(" (otelprof itself)", f);
}

static bool has_lines(const struct view *v, size_t n)
{
	size_t i;

	for (i = 0; i < n; i++)
		if (v->rows.data[i].line)
			return true;
	return false;
}

/* The line of a function with the most samples: "file.c:12". */
static void print_line(const struct text *t, const struct view_row *row)
{
	const struct view *v = t->r->v;
	char path[NAME_BYTES], line[LINE_COLUMNS + 1] = "";
	const char *name;
	int room;

	if (row->line) {
		view_text(v->c, v->c->functions.data[row->label].file, path,
			  sizeof(path));
		name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
		room = LINE_COLUMNS - snprintf(NULL, 0, ":%u", row->line);
		print_safe(t->f, name, strlen(name),
			   (int)strlen(name) > room ? room : -room);
		(void)snprintf(line, sizeof(line), ":%u", row->line);
		room = (int)strlen(name) < room ? room - (int)strlen(name) : 0;
		(void)fprintf(t->f, "%s%*s ", line, room, "");
	} else {
		(void)fprintf(t->f, "%*s", LINE_COLUMNS + 1, "");
	}
}

static void print_functions(const struct text *t, size_t n)
{
	const struct view *v = t->r->v;
	bool lines = t->columns >= LINES_FROM && has_lines(v, n);
	int name_columns = t->columns - NUMBER_COLUMNS - MODULE_COLUMNS - 1 -
			   (lines ? LINE_COLUMNS + 1 : 0);
	char name[NAME_BYTES];
	size_t i, shown = 0;

	(void)fprintf(t->f, "\n%s%7s %7s  %-*s %s%s%s\n", t->bold, "SELF", "TOTAL",
		      MODULE_COLUMNS, "MODULE", lines ? "HOT LINE             " : "",
		      "FUNCTION", t->plain);
	for (i = 0; i < v->rows_large && shown < n; i++) {
		const struct view_row *row = &v->rows.data[i];

		if (t->own && op_frame_class_of(v->c, row->label) > OP_CLASS_LIBRARY)
			continue;
		shown++;
		(void)fprintf(t->f, "%6.2f%% %6.2f%%  ", view_percent(v, row->self),
			      view_percent(v, row->total));
		view_module(v, row->label, name, sizeof(name));
		print_safe(t->f, name, strlen(name), MODULE_COLUMNS);
		(void)fputc(' ', t->f);
		if (lines)
			print_line(t, row);
		view_row_name(v, row, name, sizeof(name));
		print_name(t->f, name, -name_columns);
		put_ours(t->f, name);
		(void)fputc('\n', t->f);
	}
}

static void print_groups(const struct text *t, size_t n)
{
	const struct view *v = t->r->v;
	bool both = view_by_frames(v->request.by);
	char name[NAME_BYTES], value[VALUE_BYTES];
	size_t i;

	(void)fprintf(t->f, "\n%s%s%7s %10s  %s%s\n", t->bold, both ? "   SELF " : "",
		      "TOTAL", "", view_by_name(v->request.by), t->plain);
	for (i = 0; i < n; i++) {
		const struct view_row *row = &v->rows.data[i];

		if (both)
			(void)fprintf(t->f, "%6.2f%% ", view_percent(v, row->self));
		(void)fprintf(t->f, "%6.2f%% %10s  ", view_percent(v, row->total),
			      view_value(v, row->total, value, sizeof(value)));
		view_row_name(v, row, name, sizeof(name));
		print_safe(t->f, name, strlen(name), NUMBER_COLUMNS + 4 - t->columns);
		(void)fputc('\n', t->f);
	}
}

static void print_rows(const struct text *t)
{
	size_t n = report_rows(t->r), large = t->r->v->rows_large;
	size_t small = t->r->v->rows.len - large;

	if (t->r->v->request.by == VIEW_BY_FUNCTION)
		print_functions(t, n);
	else
		print_groups(t, n);
	if (t->own) {
		(void)fputs("  (of own code; --by module and --tree have the others)\n",
			    t->f);
		return;
	}
	if (n < large)
		(void)fprintf(t->f, "  and %zu more (-n %zu shows all)", large - n,
			      large);
	if (small)
		(void)fprintf(t->f, "%s%zu below %g%% (--min 0 shows them)",
			      n < large ? ", " : "  and ", small, t->r->min_percent);
	if (n < large || small)
		(void)fputc('\n', t->f);
}

static void print_node(void *data, const struct tree_node *n)
{
	const struct text *t = data;
	const struct view *v = t->r->v;
	char name[NAME_BYTES];
	int columns = 2 * ((int)n->indent < INDENT_MAX ? (int)n->indent : INDENT_MAX);

	(void)fprintf(t->f, "%6.2f%% ", view_percent(v, n->total));
	/* The last function of a stack of callers has no self time. */
	if (n->self && v->request.tree != VIEW_CALLERS)
		(void)fprintf(t->f, "%6.2f%% ", view_percent(v, n->self));
	else
		(void)fprintf(t->f, "%7s ", "");
	(void)fprintf(t->f, "%*s%s", columns, "", n->continues ? "> " : "");
	columns += n->continues ? 2 : 0;
	view_label_name(v, n->label, name, sizeof(name));
	print_name(t->f, name, NUMBER_COLUMNS + columns - t->columns);
	put_ours(t->f, name);
	(void)fputc('\n', t->f);
}

/* Other functions that --callers and --callees could mean. */
static void print_also(const struct text *t)
{
	const struct view *v = t->r->v;
	char name[NAME_BYTES];
	size_t i;

	for (i = 0; i < v->also.items.len && i < ALSO_SHOWN; i++) {
		(void)fputs(i ? ", " : "\nThe name also fits ", t->f);
		view_text(v->c, (uint32_t)v->also.items.data[i].key, name, sizeof(name));
		print_name(t->f, name, -ALSO_COLUMNS);
		(void)fprintf(t->f, " (%.2f%%)",
			      view_percent(v, v->also.items.data[i].value));
	}
	if (v->also.items.len > ALSO_SHOWN)
		(void)fprintf(t->f, " and %zu more", v->also.items.len - ALSO_SHOWN);
	if (v->also.items.len)
		(void)fputs(".\n", t->f);
}

static void print_tree(struct text *t)
{
	static const char *const titles[] = {
		[VIEW_CALLS] = "CALLS (> is called by the line above)",
		[VIEW_CALLERS] = "CALLERS, the function first (> calls the line above)",
		[VIEW_CALLEES] =
			"CALLEES, the function first (> is called by the line above)",
	};

	print_also(t);
	(void)fprintf(t->f, "\n%s%7s %7s %s%s\n", t->bold, "TOTAL",
		      t->r->v->request.tree == VIEW_CALLERS ? "" : "SELF",
		      titles[t->r->v->request.tree], t->plain);
	report_tree(t->r, t->r->tree_limit ? t->r->tree_limit : t->r->limit, print_node,
		    t);
}

static void print_sums(const struct text *t, const struct sums *s, const char *what)
{
	const struct view *v = t->r->v;
	int64_t whole = s == &v->unnamed ? v->frames : v->total;
	char name[NAME_BYTES];
	const char *words;
	size_t i;

	for (i = 0; i < s->items.len && i < ENDINGS_SHOWN; i++) {
		view_text(v->c, (uint32_t)s->items.data[i].key, name, sizeof(name));
		(void)fprintf(t->f, "  %5.2f%% %s ",
			      whole ? 100.0 * (double)s->items.data[i].value /
					      (double)whole
				    : 0.0,
			      what);
		print_safe(t->f, *name ? name : "[no file]",
			   strlen(*name ? name : "[no file]"), 0);
		words = quality_words(name, strlen(name));
		(void)fprintf(t->f, "%s%s", words ? ". " : "", words ? words : "");
		(void)fputc('\n', t->f);
	}
}

static void print_quality(const struct text *t)
{
	const struct view *v = t->r->v;
	char lost[OP_COLLECT_LOST_BYTES];

	(void)fprintf(t->f, "\nWhole stacks: %.2f%%. Frames with names: %.2f%%.\n",
		      view_whole_percent(v), view_named_percent(v));
	if (view_lost(v, lost, sizeof(lost)))
		(void)fprintf(t->f, "%s\n", lost);
	if (v->guessed)
		(void)fprintf(
			t->f,
			"Stacks that go by a guess: %.2f%%; callers may be missing or "
			"wrong there.\n",
			view_guessed_percent(v));
	if (v->approximate)
		(void)fprintf(t->f,
			      "The function is the nearest that the runtime reports, in "
			      "%.2f%% of the stacks; " REPORT_JAVA_HINT ".\n",
			      view_percent(v, v->approximate));
	print_sums(t, &v->endings, "end early:");
	print_sums(t, &v->unnamed, "have no name:");
	if (v->frames_unnamed)
		(void)fputs("  (" SYMBOLS_HINT ")\n", t->f);
}

static void report_text(const struct report *r, FILE *f)
{
	bool colour = colour_wanted(f);
	struct text t = {
		r,    f, columns_of(f), colour ? "\033[1m" : "", colour ? "\033[0m" : "",
		false
	};
	struct answer answer;
	const struct answer *a;

	print_head(&t);
	a = report_answer(r, &answer);
	t.own = a && a->own && (a->about == ABOUT_WAITS || a->about == ABOUT_MEMORY);
	if (a)
		report_print_answer(a,
				    &(struct answer_style){ t.columns, t.bold, t.plain, 0,
							    ANSWER_ROWS },
				    f);
	if (r->show_rows)
		print_rows(&t);
	if (r->show_tree)
		print_tree(&t);
	print_quality(&t);
}

static void diff_text(const struct diff *d, FILE *f)
{
	bool colour = colour_wanted(f);
	char what[VALUE_BYTES], a[VALUE_BYTES], b[VALUE_BYTES];
	const struct change *c;
	size_t large = diff_large(d), n = diff_rows(d), i;
	bool functions = d->views[0].request.by == VIEW_BY_FUNCTION;
	double delta;

	(void)fprintf(f, "%s: %s before (", view_what(&d->views[0], what, sizeof(what)),
		      view_value(&d->views[0], d->views[0].total, a, sizeof(a)));
	print_text(f, recording_title(d->files[0]));
	(void)fprintf(f, "), %s after (",
		      view_value(&d->views[1], d->views[1].total, b, sizeof(b)));
	print_text(f, recording_title(d->files[1]));
	(void)fputs(")\n\n", f);
	if (!n) {
		(void)fprintf(f, "Nothing has changed by %g%% of the whole or more.\n",
			      d->min_percent);
		return;
	}
	(void)fprintf(f, "%s%8s %8s %9s  %9s %9s  %-*s%s%s\n", colour ? "\033[1m" : "",
		      "BEFORE", "AFTER", d->by_total ? "TOTAL" : "SELF", "BEFORE",
		      "AFTER", functions ? MODULE_COLUMNS + 1 : 0,
		      functions ? "MODULE" : "",
		      functions ? "FUNCTION" : view_by_name(d->views[0].request.by),
		      colour ? "\033[0m" : "");
	for (i = 0; i < n; i++) {
		const double *share;
		const int64_t *value;

		c = &d->changes[i];
		share = d->by_total ? c->total : c->self;
		value = d->by_total ? c->total_value : c->self_value;
		delta = share[1] - share[0];
		(void)fprintf(f, "%7.2f%% %7.2f%% %s%+8.2f%%%s  ", share[0], share[1],
			      !colour	  ? ""
			      : delta > 0 ? "\033[31m"
					  : "\033[34m",
			      delta, colour ? "\033[0m" : "");
		(void)fprintf(f, "%9s %9s  ",
			      view_value(&d->views[0], value[0], a, sizeof(a)),
			      view_value(&d->views[1], value[1], b, sizeof(b)));
		if (functions) {
			print_safe(f, c->module, strlen(c->module), MODULE_COLUMNS);
			(void)fputc(' ', f);
		}
		print_name(f, c->name, -DIFF_NAME_COLUMNS);
		(void)fputc('\n', f);
	}
	if (n < large)
		(void)fprintf(f, "  and %zu more (-n %zu shows all)\n", large - n, large);
}

const struct op_form op_form_text = {
	.name = "text",
	.report = report_text,
	.diff = diff_text,
};
