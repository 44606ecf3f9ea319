/* SPDX-License-Identifier: Apache-2.0 */
/* Writes a source file with the time of its lines. */
#include <string.h>

#include "recording/read/print.h"
#include "recording/tree/source/source.h"

enum {
	CONTEXT = 3, /* lines around those with samples */
	NAME_BYTES = 4096,
	VALUE_BYTES = 64,
	FUNCTION_COLUMNS = 60,
};
/* Shares from which on a line is coloured. */
#define HOT  10.0
#define WARM 1.0

struct writing {
	const struct source *s;
	const struct source_place *place;
	FILE *f;
	bool colour;
	uint32_t last; /* last line that was written */
};

static bool is_small(const struct writing *w, const struct source_line *line,
		     double least)
{
	return !line || view_percent(w->s->v, line->total) < least;
}

static void put_line(struct writing *w, uint32_t number)
{
	const struct source *s = w->s;
	const struct source_line *line = source_line(s, number);
	double share = line ? view_percent(s->v, line->total) : 0;
	const char *on = !w->colour	 ? ""
			 : share >= HOT	 ? "\033[1;31m"
			 : share >= WARM ? "\033[33m"
					 : "";
	char text[NAME_BYTES];

	if (w->last && number > w->last + 1)
		(void)fputs("                 ...\n", w->f);
	(void)fputs(on, w->f);
	if (line && line->self)
		(void)fprintf(w->f, "%6.2f%% ", view_percent(s->v, line->self));
	else
		(void)fprintf(w->f, "%8s", "");
	if (line)
		(void)fprintf(w->f, "%6.2f%%", share);
	else
		(void)fprintf(w->f, "%7s", "");
	(void)fprintf(w->f, " %6u  ", number);
	if (s->begins.len) {
		(void)fputs(source_text(s, number, text, sizeof(text)), w->f);
	} else if (line) {
		(void)fputs("in ", w->f);
		print_name(w->f,
			   view_label_name(s->v, line->function, text, sizeof(text)),
			   -FUNCTION_COLUMNS);
	}
	(void)fprintf(w->f, "%s\n", *on ? "\033[0m" : "");
	w->last = number;
}

/* Write the lines before the one with samples that were not written yet. */
static void put_around(struct writing *w, uint32_t number)
{
	uint32_t from = number > CONTEXT ? number - CONTEXT : 1, i;

	if (!w->s->begins.len)
		from = number;
	for (i = from > w->last ? from : w->last + 1; i <= number; i++)
		put_line(w, i);
}

/* Write the lines behind it, up to the next one. */
static void put_behind(struct writing *w, uint32_t next)
{
	uint32_t to = w->last + CONTEXT, i;

	for (i = w->last + 1; w->last && i <= to && i < next && i <= w->s->begins.len;
	     i++)
		put_line(w, i);
}

void source_write(const struct source *s, const struct source_place *place,
		  double min_percent, FILE *f)
{
	struct writing w = { s, place, f, colour_wanted(f), 0 };
	const struct source_line *line;
	char text[NAME_BYTES], what[VALUE_BYTES];
	bool any = false;

	print_text(f, view_text(s->v->c, s->file, text, sizeof(text)));
	(void)fprintf(f, ": %.2f%%", view_percent(s->v, s->total));
	(void)fprintf(f, " of %s", view_value(s->v, s->v->total, what, sizeof(what)));
	(void)fprintf(f, ": %s\n", view_what(s->v, text, sizeof(text)));
	if (*source_warning(s, text, sizeof(text))) {
		(void)fputs("  (", f);
		(void)fputs(text, f);
		(void)fputs(")\n", f);
	}
	(void)fprintf(f, "\n%7s %7s   LINE\n", "SELF", "TOTAL");
	op_vec_foreach(line, &s->lines) {
		if (is_small(&w, line, min_percent) || !line->number ||
		    (place->function != UINT32_MAX && line->function != place->function))
			continue;
		put_behind(&w, line->number);
		put_around(&w, line->number);
		any = true;
	}
	if (any)
		put_behind(&w, UINT32_MAX);
	else
		(void)fputs("  no line has so much\n", f);
}
