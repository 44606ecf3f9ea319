/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the answer for a terminal. */
#include <inttypes.h>
#include <string.h>

#include "recording/read/kind_word.h"
#include "recording/read/print.h"
#include "recording/write/report.h"

enum {
	NAME_BYTES = 4096,
	PLACE_COLUMNS = 34, /* of "file.c:12" */
	PLACE_COLUMNS_NARROW = 22,
	NARROW = 100, /* long places do not fit a narrower terminal */
	IN_COLUMNS = 40,
	PROGRAM_COLUMNS = 24,
};

const char *report_short_place(const char *place, int columns, bool *ret_cut)
{
	const char *at = place, *next;

	while ((int)strlen(at) > columns && (next = strchr(at + 1, '/')))
		at = next;
	/* a name that is too long by itself, at whole characters */
	if ((int)strlen(at) > columns)
		at += strlen(at) - (size_t)columns;
	while ((*at & 0xc0) == 0x80)
		at++;
	*ret_cut = at != place;
	return at;
}

static void put_place(FILE *f, const struct answer *a, uint32_t function, uint32_t line,
		      int columns)
{
	char place[NAME_BYTES];
	const char *shown;
	bool cut;

	view_place_of(a->v, function, line, place, sizeof(place));
	shown = report_short_place(place, columns - 1, &cut);
	if (cut)
		(void)fputs(SHORT_MARK, f);
	print_safe(f, shown, strlen(shown), columns - cut);
}

static const char *wait_words(const struct answer_row *row)
{
	return row->wait == WAIT_NONE ? "a CPU, running" : op_wait_name(row->wait);
}

static void put_in(FILE *f, const struct answer *a, const struct answer_row *row,
		   bool stands)
{
	char name[NAME_BYTES];

	if (a->about == ABOUT_WAITS)
		(void)fprintf(f, ", for %s", wait_words(row));
	if (row->in != ANSWER_NO_FUNCTION) {
		(void)fputs(", mostly in ", f);
		view_label_name(a->v, row->in, name, sizeof(name));
		print_name(f, name, -IN_COLUMNS);
	}
	if (answer_row_is_idle(row))
		(void)fputs(", mostly idle", f);
	if (answer_has_programs(a)) {
		(void)fputs(" [", f);
		view_text(a->v->c, row->program, name, sizeof(name));
		print_safe(f, name, strlen(name), 0);
		(void)fputc(']', f);
	}
	if (stands)
		(void)fprintf(f, ", %s", answer_stands_words(a, row));
	if (!stands && row->samples && row->samples < ANSWER_FEW)
		(void)fprintf(f, " (%u sample%s)", (unsigned int)row->samples,
			      row->samples == 1 ? "" : "s");
}

static int place_columns(const struct answer_style *s)
{
	return s->columns < NARROW ? PLACE_COLUMNS_NARROW : PLACE_COLUMNS;
}

static void print_row(const struct answer *a, const struct answer_row *row, bool stands,
		      const struct answer_style *s, FILE *f)
{
	char name[NAME_BYTES], value[64];

	if (stands && a->about == ABOUT_MEMORY)
		(void)fprintf(f, "%17s ",
			      view_value(a->v, row->value, value, sizeof(value)));
	else if (stands)
		(void)fprintf(f, "%9" PRId64 " thread%s ", row->value,
			      row->value == 1 ? " " : "s");
	else
		(void)fprintf(f, "%6.1f%%", view_percent(a->v, row->value));
	if (stands)
		;
	else if (row->error > 0)
		(void)fprintf(f, " \xc2\xb1%-4.1f ", row->error);
	else
		(void)fprintf(f, " %9s ",
			      view_value(a->v, row->value, value, sizeof(value)));
	put_place(f, a, row->function, row->line, place_columns(s));
	(void)fputc(' ', f);
	view_label_name(a->v, row->function, name, sizeof(name));
	print_name(f, name, -(s->columns > 2 * PLACE_COLUMNS ? s->columns / 3 : 20));
	put_in(f, a, row, stands);
	(void)fputc('\n', f);
}

/* The share of the whole that is in no own code, and the reason. */
static void print_rest(const struct answer *a, FILE *f)
{
	double rest = 100 - view_percent(a->v, a->own);

	if (!a->own)
		(void)fputs("  (no stack has code of a program's own: the innermost "
			    "functions are shown)\n",
			    f);
	else if (rest >= 1)
		(void)fprintf(
			f,
			"%6.1f%%  in stacks without such code: kernel, interpreter, "
			"libraries of the system\n",
			rest);
}

static void print_path(const struct answer *a, const struct answer_style *s, FILE *f)
{
	const int columns = place_columns(s);
	char name[NAME_BYTES];
	size_t i;

	if (a->path_len < 2 || s->brief)
		return;
	(void)fprintf(f, "\n%sHOTTEST PATH, callers first%s\n", s->bold, s->plain);
	for (i = 0; i < a->path_len; i++) {
		const struct answer_step *step = &a->path[i];

		(void)fprintf(f, "%6.1f%% ", view_percent(a->v, step->value));
		if (!(step->label & VIEW_PROCESS))
			put_place(f, a, step->label, step->line, columns);
		else
			(void)fprintf(f, "%*s", columns, "");
		(void)fputc(' ', f);
		view_label_name(a->v, step->label, name, sizeof(name));
		print_name(f, name, columns + 10 - s->columns);
		(void)fputc('\n', f);
	}
}

const char *report_other_kinds(const struct view *v, char buf[static REPORT_KINDS_BYTES])
{
	struct view other = *v;
	const struct op_collect_stack *s;
	char word[KIND_WORD_BYTES];

	*buf = 0;
	for (other.kind = 0; other.kind < v->c->kinds.len; other.kind++) {
		if (other.kind == v->kind)
			continue;
		op_vec_foreach(s, &v->c->stacks)
			if (view_wants(&other, s))
				break;
		if (s == v->c->stacks.data + v->c->stacks.len)
			continue;
		(void)kind_word(v->c, other.kind, word);
		if (strlen(buf) + strlen(word) + 3 > REPORT_KINDS_BYTES)
			break;
		(void)strcat(strcat(buf, *buf ? ", " : ""), word);
	}
	return buf;
}

/* On one line, so that the rows below it stay visible. */
static void print_programs(const struct answer *a, const struct answer_style *s, FILE *f)
{
	char name[NAME_BYTES];
	size_t i;

	if (!answer_has_programs(a))
		return;
	for (i = 0; i < a->programs_len; i++) {
		view_text(a->v->c, a->programs[i].name, name, sizeof(name));
		(void)fputs(i ? ", " : "Programs: ", f);
		print_safe(f, name, strlen(name), -PROGRAM_COLUMNS);
		(void)fprintf(f, " %.1f%%", view_percent(a->v, a->programs[i].value));
	}
	if (a->programs_more)
		(void)fprintf(f, " and %zu more%s", a->programs_more,
			      s->brief ? "" : " (--by program)");
	(void)fputs(".\n", f);
}

void report_print_answer(const struct answer *a, const struct answer_style *s, FILE *f)
{
	char text[ANSWER_SENTENCE_BYTES], title[64], kinds[REPORT_KINDS_BYTES];
	size_t i;

	if (*answer_sentence(a, s->cpus, text))
		(void)fprintf(f, "%s\n", text);
	print_programs(a, s, f);
	(void)snprintf(title, sizeof(title), "%s", answer_title(a));
	for (i = 0; title[i]; i++)
		title[i] = (char)(title[i] >= 'a' && title[i] <= 'z' ? title[i] - 32
								     : title[i]);
	(void)fprintf(f, "\n%s%s%s\n", s->bold, title, s->plain);
	for (i = 0; i < a->stands_first; i++)
		print_row(a, &a->stands[i], true, s, f);
	for (i = 0; i < answer_rows_shown(a, s->rows); i++)
		print_row(a, &a->rows[i], false, s, f);
	for (i = a->stands_first; i < a->stands_len; i++)
		print_row(a, &a->stands[i], true, s, f);
	print_rest(a, f);
	if (*report_other_kinds(a->v, kinds))
		(void)fprintf(f, "Also recorded, for --kind: %s.\n", kinds);
	print_path(a, s, f);
}
