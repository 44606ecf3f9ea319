/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of a report as Markdown: names, the answer, and the next commands. */
#include <inttypes.h>
#include <string.h>

#include "base/foreign/text.h"
#include "recording/read/print.h"
#include "recording/tree/answer/answer.h"
#include "recording/tree/function_name.h"
#include "recording/write/markdown.h"

enum {
	NAME_BYTES = 4096,
	VALUE_BYTES = 64,
	WORD_BYTES = 80,
	PATH_BYTES = 512, /* bytes of a recording's path; a longer one is called FILE */
	ANSWER_ROWS = 5,
};

void markdown_code(FILE *f, const char *text, int columns)
{
	char plain[NAME_BYTES];
	size_t len = op_text_show(text, strlen(text), plain, sizeof(plain)), i;

	for (i = 0; i < len; i++)
		plain[i] = function_name_shown(plain[i]);
	(void)fputc('`', f);
	print_safe(f, plain, len, -columns);
	(void)fputc('`', f);
}

void markdown_name(FILE *f, char *name, int columns)
{
	name_shorten(name, columns);
	markdown_code(f, name, columns);
}

void markdown_place(FILE *f, const char *place, int columns)
{
	char shown[NAME_BYTES + sizeof(SHORT_MARK)] = SHORT_MARK;
	bool cut;
	const char *at = report_short_place(place, columns - 1, &cut);

	(void)strlcpy(cut ? shown + strlen(SHORT_MARK) : shown, at, NAME_BYTES);
	markdown_code(f, shown, columns);
}

static void write_answer_row(const struct markdown *o, const struct answer *a,
			     const struct answer_row *row, bool stands)
{
	char name[NAME_BYTES], value[VALUE_BYTES];

	if (stands && a->about == ABOUT_MEMORY)
		(void)fprintf(o->f, "- %s still in use at the end: ",
			      view_value(a->v, row->value, value, sizeof(value)));
	else if (stands)
		(void)fprintf(o->f, "- %" PRId64 " thread%s %s: ", row->value,
			      row->value == 1 ? "" : "s", answer_stands_words(a, row));
	else
		(void)fprintf(o->f, "- %.1f%%", view_percent(a->v, row->value));
	if (stands)
		;
	else if (row->error > 0)
		(void)fprintf(o->f, " ±%.1f ", row->error);
	else
		(void)fprintf(o->f, " (%s) ",
			      view_value(a->v, row->value, value, sizeof(value)));
	view_label_name(a->v, row->function, name, sizeof(name));
	markdown_name(o->f, name, o->size->name_columns);
	view_place_of(a->v, row->function, row->line, name, sizeof(name));
	if (*name) {
		(void)fputs(" at ", o->f);
		markdown_place(o->f, name, o->size->place_columns);
	}
	if (a->about == ABOUT_WAITS && row->wait != WAIT_NONE)
		(void)fprintf(o->f, ", for %s", op_wait_name(row->wait));
	if (answer_row_is_idle(row))
		(void)fputs(", mostly idle", o->f);
	if (row->in != ANSWER_NO_FUNCTION) {
		(void)fputs(", mostly in ", o->f);
		view_label_name(a->v, row->in, name, sizeof(name));
		markdown_name(o->f, name, o->size->chain_columns);
	}
	if (answer_has_programs(a)) {
		(void)fputs(" in program ", o->f);
		markdown_code(o->f, view_text(a->v->c, row->program, name, sizeof(name)),
			      o->size->chain_columns);
	}
	if (!stands && row->samples && row->samples < ANSWER_FEW)
		(void)fputs("; few samples", o->f);
	(void)fputc('\n', o->f);
}

static void write_path(const struct markdown *o, const struct answer *a)
{
	char name[NAME_BYTES];
	size_t i;

	if (a->path_len < 2)
		return;
	(void)fputs("\n## Hottest path, callers first\n", o->f);
	for (i = 0; i < a->path_len; i++) {
		const struct answer_step *step = &a->path[i];

		(void)fprintf(o->f, "- %.1f%% ", view_percent(a->v, step->value));
		view_label_name(a->v, step->label, name, sizeof(name));
		markdown_name(o->f, name, o->size->name_columns);
		if (!(step->label & VIEW_PROCESS))
			view_place_of(a->v, step->label, step->line, name, sizeof(name));
		if (!(step->label & VIEW_PROCESS) && *name) {
			(void)fputs(" at ", o->f);
			markdown_place(o->f, name, o->size->place_columns);
		}
		(void)fputc('\n', o->f);
	}
}

void markdown_answer(const struct markdown *o)
{
	char text[ANSWER_SENTENCE_BYTES];
	struct answer buf;
	const struct answer *a = report_answer(o->r, &buf);
	size_t i;

	if (!a)
		return;
	if (*answer_sentence(a, 0, text))
		(void)fprintf(o->f, "%s\n", text);
	(void)fprintf(o->f, "\n## %c%s\n", answer_title(a)[0] - 'a' + 'A',
		      answer_title(a) + 1);
	for (i = 0; i < a->stands_first; i++)
		write_answer_row(o, a, &a->stands[i], true);
	for (i = 0; i < answer_rows_shown(a, ANSWER_ROWS); i++)
		write_answer_row(o, a, &a->rows[i], false);
	for (i = a->stands_first; i < a->stands_len; i++)
		write_answer_row(o, a, &a->stands[i], true);
	write_path(o, a);
}

/* Print a word for a shell: at most @len bytes of @text, cut between two characters, in
 * quotes. */
static void put_word(FILE *f, const char *text, size_t len)
{
	size_t n;

	(void)fputc('\'', f);
	for (; *text; text += n) {
		n = op_text_char(text, strlen(text));
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

/* Most paths do not need quotes. */
static void put_path(FILE *f, const char *path)
{
	static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789/._-+=:,@";

	if (*path && !path[strspn(path, plain)])
		(void)fputs(path, f);
	else
		put_word(f, path, strlen(path));
}

/* Can a command in this document name the file? */
static bool is_word(const char *path)
{
	char shown[PATH_BYTES + OP_TEXT_CHAR_BYTES];
	size_t len = strlen(path);

	return strcmp(path, "-") != 0 && len <= PATH_BYTES && !strchr(path, '`') &&
	       op_text_show(path, len, shown, sizeof(shown)) == len;
}

/* The first bytes of a long name are enough: `--callers` accepts a part. */
void markdown_next(const struct markdown *o)
{
	const struct report *r = o->r;
	const char *file = r->files_len && is_word(r->files[0]) ? r->files[0] : "FILE";
	FILE *f = o->f;
	char name[NAME_BYTES], *c, kinds[REPORT_KINDS_BYTES];

	if (r->v->request.by != VIEW_BY_FUNCTION || !r->v->rows.len)
		return;
	view_row_name(r->v, &r->v->rows.data[0], name, sizeof(name));
	(void)fputs("\n## What to ask next\n- Who calls the hottest function: ", f);
	for (c = name; *c; c++)
		*c = function_name_shown(*c);
	(void)fputs("`otelprof report --format=markdown --callers=", f);
	put_word(f, name, WORD_BYTES);
	(void)fputc(' ', f);
	put_path(f, file);
	(void)fputs("`\n", f);
	if (*report_other_kinds(r->v, kinds)) {
		(void)fputs("- What else was recorded, with --kind: ", f);
		markdown_code(f, kinds, 0);
		(void)fputc('\n', f);
	}
	(void)fputs("- Other groups: `otelprof report --by=program ", f);
	put_path(f, file);
	(void)fputs("` (or process, thread, module, container, service, trace)\n"
		    "- Two recordings: `otelprof diff BEFORE AFTER`\n",
		    f);
}
