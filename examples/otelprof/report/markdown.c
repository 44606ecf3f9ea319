/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a report as Markdown for an assistant: short, and self-explaining. */
#include <string.h>

#include "common.h"
#include "otlp/reader.h"
#include "report/named.h"
#include "report/write.h"
#include "short.h"

enum {
	NAME_BYTES = 4096,
	NAME_COLUMNS = 90,
	PLACE_COLUMNS = 70,
	VALUE_BYTES = 64,
	ROWS_SHOWN = 12,
	TREE_SHOWN = 24,
	SUMS_SHOWN = 3,
	WORD_BYTES = 80,
};

/* Print text for a table, without characters that are special to Markdown or
 * a terminal. */
static void put(FILE *f, const char *text, int columns)
{
	char plain[NAME_BYTES];
	size_t i;

	for (i = 0; text[i] && i + 1 < sizeof(plain); i++)
		plain[i] = named_shown(text[i]);
	plain[i] = 0;
	print_safe(f, plain, i, -columns);
}

static void put_code(FILE *f, const char *text, int columns)
{
	(void)fputc('`', f);
	put(f, text, columns);
	(void)fputc('`', f);
}

/* Print the name of a function or a group. @name is shortened. */
static void put_name(FILE *f, char *name)
{
	name_shorten(name, NAME_COLUMNS);
	put_code(f, name, NAME_COLUMNS);
}

static void write_head(const struct report *r, FILE *f)
{
	const struct view *v = r->v;
	char what[VALUE_BYTES], value[VALUE_BYTES];

	(void)fputs("# Profile ", f);
	put_code(f, r->files_len == 1 ? r->files[0] : "several recordings", NAME_COLUMNS);
	(void)fprintf(f,
		      "\n\n%s: %s in %zu process%s within %.1f s. "
		      "Self is time in the function itself, total with what it calls.\n",
		      view_what(v, what, sizeof(what)),
		      view_value(v, v->total, value, sizeof(value)), v->processes,
		      v->processes == 1 ? "" : "es", report_duration(r));
}

static void write_path(const struct report *r, FILE *f)
{
	const struct view_row *path[REPORT_PATH_MAX];
	char name[NAME_BYTES];
	size_t n = report_path(r, path), i;

	if (!n)
		return;
	(void)fputs("\n## Hottest path, callers first\n", f);
	for (i = 0; i < n; i++) {
		(void)fprintf(f, "- %.1f%% ", view_percent(r->v, path[i]->total));
		view_row_name(r->v, path[i], name, sizeof(name));
		put_name(f, name);
		view_place(r->v, path[i], name, sizeof(name));
		if (*name) {
			(void)fputs(" at ", f);
			put_code(f, name, PLACE_COLUMNS);
		}
		(void)fputc('\n', f);
	}
}

static void write_row(const struct report *r, const struct view_row *row, FILE *f)
{
	const struct view *v = r->v;
	char name[NAME_BYTES];

	(void)fprintf(f, "| %.1f%% | %.1f%% | ", view_percent(v, row->self),
		      view_percent(v, row->total));
	view_row_name(v, row, name, sizeof(name));
	put_name(f, name);
	if (v->request.by == VIEW_BY_FUNCTION) {
		(void)fputs(" | ", f);
		put(f, view_place(v, row, name, sizeof(name)), PLACE_COLUMNS);
		(void)fputs(" | ", f);
		put(f, view_module(v, row->label, name, sizeof(name)), PLACE_COLUMNS);
	}
	(void)fputs(" |\n", f);
}

static void write_rows(const struct report *r, FILE *f)
{
	const struct view *v = r->v;
	bool functions = v->request.by == VIEW_BY_FUNCTION;
	size_t n = report_rows(r), i;

	n = n < ROWS_SHOWN ? n : ROWS_SHOWN;
	(void)fprintf(f, "\n## Most self time, by %s\n| self | total | %s |%s\n|%s\n",
		      view_by_name(v->request.by), view_by_name(v->request.by),
		      functions ? " most at line | module |" : "",
		      functions ? "---|---|---|---|---|" : "---|---|---|");
	for (i = 0; i < n; i++)
		write_row(r, &v->rows.data[i], f);
	if (n < v->rows.len)
		(void)fprintf(f, "\n%zu more are not shown.\n", v->rows.len - n);
}

struct tree_out {
	const struct report *r;
	FILE *f;
};

static void write_node(void *data, const struct tree_node *n)
{
	const struct tree_out *out = data;
	char name[NAME_BYTES];

	(void)fprintf(out->f, "%*s- %.1f%% ", 2 * (int)n->indent, "",
		      view_percent(out->r->v, n->total));
	view_label_name(out->r->v, n->label, name, sizeof(name));
	put_name(out->f, name);
	(void)fputc('\n', out->f);
}

static void write_sums(const struct view *v, const struct sums *s, int64_t whole,
		       const char *what, FILE *f)
{
	char name[NAME_BYTES];
	size_t i;

	for (i = 0; i < s->items.len && i < SUMS_SHOWN; i++) {
		(void)fprintf(f, "- %.2f%% of %s ",
			      whole ? 100.0 * (double)s->items.data[i].value /
					      (double)whole
				    : 0.0,
			      what);
		view_text(v->c, (uint32_t)s->items.data[i].key, name, sizeof(name));
		put_code(f, *name ? name : "[no file]", PLACE_COLUMNS);
		(void)fputc('\n', f);
	}
}

static void write_quality(const struct report *r, FILE *f)
{
	const struct view *v = r->v;

	(void)fprintf(f,
		      "\n## What is missing\n- %.2f%% of the stacks are whole, %.2f%% of "
		      "the frames have names.\n",
		      view_whole_percent(v), view_named_percent(v));
	write_sums(v, &v->endings, v->total, "the stacks end early:", f);
	write_sums(v, &v->unnamed, v->frames, "the frames have no symbols:", f);
}

/* Print a word for a shell: at most @len bytes of @text, whole characters, in quotes. */
static void put_word(FILE *f, const char *text, size_t len)
{
	size_t n;

	(void)fputc('\'', f);
	for (; *text; text += n) {
		n = otlp_utf8_len(text, strlen(text));
		if (!n || n > len)
			break;
		len -= n;
		if (*text == '\'')
			(void)fputs("'\\''", f);
		else
			(void)fwrite(text, 1, n, f);
	}
	(void)fputc('\'', f);
}

/* Most paths need no quotes. */
static void put_path(FILE *f, const char *path)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789/._-+=:,@";

	if (*path && !path[strspn(path, plain)])
		(void)fputs(path, f);
	else
		put_word(f, path, strlen(path));
}

/* The first bytes of a long name will do: `--callers` takes a part. */
static void write_next(const struct report *r, FILE *f)
{
	const char *file = r->files[0];
	char name[NAME_BYTES], *c;

	if (r->v->request.by != VIEW_BY_FUNCTION || !r->v->rows.len)
		return;
	view_row_name(r->v, &r->v->rows.data[0], name, sizeof(name));
	(void)fputs("\n## What to ask next\n- Who calls the hottest function: ", f);
	for (c = name; *c; c++)
		*c = named_shown(*c);
	(void)fputs("`otelprof report --format=markdown --callers=", f);
	put_word(f, name, WORD_BYTES);
	(void)fputc(' ', f);
	put_path(f, file);
	(void)fputs("`\n- Other groups: `otelprof report --by=program ", f);
	put_path(f, file);
	(void)fputs("` (or process, thread, module, container, service, trace)\n"
		    "- Two recordings: `otelprof diff BEFORE AFTER`\n",
		    f);
}

void report_markdown(const struct report *r, FILE *f)
{
	struct tree_out out = { r, f };

	write_head(r, f);
	if (r->show_rows) {
		write_path(r, f);
		write_rows(r, f);
	}
	if (r->show_tree) {
		(void)fputs("\n## Calls\n", f);
		report_tree(r, r->limit < TREE_SHOWN ? r->limit : TREE_SHOWN, write_node,
			    &out);
	}
	write_quality(r, f);
	write_next(r, f);
}
