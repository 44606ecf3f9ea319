/* SPDX-License-Identifier: Apache-2.0 */
/* Draws a recording. */
#include <curses.h>
#include <inttypes.h>
#include <string.h>

#include "base/macros.h"
#include "browse/panes.h"

enum {
	TABLE_LINES = 10, /* least number of lines; below that there is no answer */
	NAME_BYTES = 4096,
	VALUE_BYTES = 64,
	MODULE_COLUMNS = 18,
	PLACE_COLUMNS = 22,
	WIDE = 76,
	WIDER = 110,
	INDENT_SHARE = 3, /* of the columns; one part in so many is for indentation */
};
/* Shares from which on a line is coloured. */
#define HOT  10.0
#define WARM 1.0

static const char *const help[] = {
	"t  tree of calls         Enter, Right: open; Left: close, or go to the caller",
	"f  functions             o: order by SELF or by TOTAL",
	"c  callers and callees   of the chosen function (Enter does it, too)",
	"s  source                of the chosen function, else where your code is hottest",
	"Tab      the next of these; Backspace, Escape: back to what was shown before",
	"e        open the hottest path below the chosen line",
	"r        hide what runtimes and interpreters do, and show it",
	"k        the next kind of samples",
	"/  n  N  find a text; the next one; the one before",
	"a        without the answer, and with it",
	"arrows, page keys, Home, End: move        q  end        ?  this text",
	"",
	"SELF: time in the function itself, of a source line without what it calls in",
	"this file. TOTAL: with what it calls.",
};

static int answer_lines(const struct browser *b)
{
	int room = LINES - BROWSE_HEAD_LINES - BROWSE_FOOT_LINES - TABLE_LINES;

	return b->plain || room <= 0 ? 0 : OP_MIN(screen_block_lines(&b->block), room);
}

int draw_page(const struct browser *b)
{
	int lines = LINES - BROWSE_HEAD_LINES - BROWSE_FOOT_LINES - answer_lines(b);

	return lines > 0 ? lines : 1;
}

/* Clear up to the end of the line. */
static void fill(void)
{
	int y, x;

	getyx(stdscr, y, x);
	(void)y;
	if (x && x < COLS)
		(void)printw("%*s", COLS - x, "");
}

static void draw_title(const struct browser *b)
{
	char value[VALUE_BYTES], what[VALUE_BYTES];
	const struct view *v = &b->v;

	(void)move(0, 0);
	(void)attron(A_BOLD);
	(void)screen_text(view_value(v, v->total, value, sizeof(value)), COLS / 3);
	(void)addstr(" of ");
	(void)screen_text(view_what(v, what, sizeof(what)), COLS - getcurx(stdscr) - 1);
	(void)attroff(A_BOLD);
	if (getcurx(stdscr) + (int)strlen("  in ") < COLS) {
		(void)addstr("  in ");
		(void)screen_text(b->title, COLS - getcurx(stdscr) - 1);
	}
}

static void draw_panes(const struct browser *b, int y)
{
	static const char *const names[PANES] = { "t tree", "f functions", "c callers",
						  "s source" };
	char kind[KIND_WORD_BYTES];
	int i;

	(void)move(y, 0);
	for (i = 0; i < PANES; i++) {
		if (i == (int)b->pane)
			(void)attron(A_REVERSE);
		(void)printw(" %s ", names[i]);
		if (i == (int)b->pane)
			(void)attroff(A_REVERSE);
		(void)addch(' ');
	}
	if (COLS - getcurx(stdscr) < (int)strlen("kind ") + 1)
		return;
	(void)addstr("kind ");
	(void)screen_text(kind_word(b->c, b->v.kind, kind), COLS - getcurx(stdscr) - 1);
	if (b->out.runtime && COLS - getcurx(stdscr) > 20)
		(void)addstr("  runtime hidden");
}

static void mark(double share, bool on)
{
	attr_t how = share >= HOT    ? A_BOLD | COLOR_PAIR(SCREEN_HOT)
		     : share >= WARM ? COLOR_PAIR(SCREEN_WARM)
				     : A_NORMAL;

	if (on)
		(void)attron(how);
	else
		(void)attroff(how);
}

static void draw_titles(const struct browser *b, int y)
{
	char text[NAME_BYTES];
	bool wide = COLS >= WIDE;

	(void)move(y, 0);
	(void)attron(A_REVERSE);
	(void)printw("%7s %7s ", "TOTAL", "SELF");
	switch (b->pane) {
	case PANE_TREE:
		(void)addstr("CALLS");
		break;
	case PANE_FUNCTIONS:
		if (COLS >= WIDER)
			screen_column("HOT LINE", PLACE_COLUMNS);
		if (wide)
			screen_column("MODULE", MODULE_COLUMNS);
		(void)addstr("FUNCTION");
		break;
	case PANE_AROUND:
		(void)addstr("CALLERS AND CALLEES OF ");
		screen_name(view_text(b->c, b->name, text, sizeof(text)),
			    COLS - getcurx(stdscr) - 1);
		break;
	default:
		(void)printw("%6s  ", "LINE");
		if (*source_warning(&b->source, text, sizeof(text)) == 0)
			(void)view_text(b->c, b->source.file, text, sizeof(text));
		(void)screen_text(text, COLS - getcurx(stdscr) - 1);
		break;
	}
	fill();
	(void)attroff(A_REVERSE);
}

static void put_shares(const struct browser *b, int64_t total, int64_t self)
{
	(void)printw("%6.2f%% ", view_percent(&b->v, total));
	if (self)
		(void)printw("%6.2f%% ", view_percent(&b->v, self));
	else
		(void)printw("%7s ", "");
}

static void draw_branch(const struct browser *b, const struct branch *branch)
{
	const struct tree_node *n = &branch->of->tree.nodes.data[branch->node];
	int most = COLS / INDENT_SHARE;
	char name[NAME_BYTES];

	if (!branch->node) {
		(void)printw("%16s%s", "",
			     branch->of == &b->callers ? "who calls it:"
						       : "what it calls:");
		return;
	}
	put_shares(b, n->total, branch->of == &b->callers ? 0 : n->self);
	(void)printw("%*s%c ", OP_MIN(2 * (int)branch->depth, most), "",
		     !n->child			      ? ' '
		     : branch->of->open[branch->node] ? '-'
						      : '+');
	screen_name(view_label_name(&b->v, n->label, name, sizeof(name)),
		    COLS - getcurx(stdscr) - 1);
}

/* "file.c:12" of a function's hottest line. */
static void put_place(const struct browser *b, const struct view_row *row)
{
	char place[NAME_BYTES];
	const char *slash;

	*place = 0;
	if (row->line)
		(void)view_place(&b->v, row, place, sizeof(place));
	slash = strrchr(place, '/');
	slash = slash ? slash + 1 : place;
	/* A long name keeps its end, which has the line. */
	if ((int)strlen(slash) > PLACE_COLUMNS)
		slash += strlen(slash) - PLACE_COLUMNS;
	screen_column(slash, PLACE_COLUMNS);
}

static void draw_function(const struct browser *b, const struct view_row *row)
{
	char name[NAME_BYTES];

	put_shares(b, row->total, row->self);
	if (COLS >= WIDER)
		put_place(b, row);
	if (COLS >= WIDE)
		screen_column(view_module(&b->v, row->label, name, sizeof(name)),
			      MODULE_COLUMNS);
	screen_name(view_label_name(&b->v, row->label, name, sizeof(name)),
		    COLS - getcurx(stdscr) - 1);
}

static void draw_source(const struct browser *b, size_t at)
{
	const struct source *s = &b->source;
	uint32_t number = s->begins.len ? (uint32_t)at + 1 : s->lines.data[at].number;
	const struct source_line *line = source_line(s, number);
	char text[NAME_BYTES];

	if (line)
		put_shares(b, line->total, line->self);
	else
		(void)printw("%16s", "");
	(void)printw("%6" PRIu32 "  ", number);
	if (s->begins.len)
		(void)screen_text(source_text(s, number, text, sizeof(text)),
				  COLS - getcurx(stdscr) - 1);
	else
		screen_name(view_label_name(&b->v, line->function, text, sizeof(text)),
			    COLS - getcurx(stdscr) - 1);
}

/* The share by which a line is coloured. */
static double share_of(const struct browser *b, size_t at)
{
	const struct forest *f = panes_forest((struct browser *)b);
	const struct source_line *line;

	if (f) {
		const struct branch *branch = &f->shown.data[at];

		return branch->node
			       ? view_percent(
					 &b->v,
					 branch->of->tree.nodes.data[branch->node].self)
			       : 0;
	}
	if (b->pane == PANE_FUNCTIONS)
		return view_percent(&b->v, b->v.rows.data[b->order[at]].self);
	line = source_line(&b->source, b->source.begins.len
					       ? (uint32_t)at + 1
					       : b->source.lines.data[at].number);
	return line ? view_percent(&b->v, line->total) : 0;
}

static void draw_line(const struct browser *b, size_t at, int y)
{
	const struct forest *f = panes_forest((struct browser *)b);
	bool selected = at == b->places[b->pane].selected;
	double share = share_of(b, at);

	(void)move(y, 0);
	mark(share, true);
	if (selected)
		(void)attron(A_REVERSE);
	if (f)
		draw_branch(b, &f->shown.data[at]);
	else if (b->pane == PANE_FUNCTIONS)
		draw_function(b, &b->v.rows.data[b->order[at]]);
	else
		draw_source(b, at);
	if (selected) {
		fill();
		(void)attroff(A_REVERSE);
	}
	mark(share, false);
}

static void draw_foot(const struct browser *b)
{
	(void)move(LINES - 1, 0);
	if (b->search.typing) {
		(void)addstr("find: ");
		(void)screen_text(b->search.typed, COLS - getcurx(stdscr) - 1);
		return;
	}
	if (b->message) {
		(void)screen_text(b->message, COLS - 1);
		return;
	}
	(void)screen_text(
		"q end  Enter open  / find  k kind  r runtime  o order  a answer  ? help",
		COLS - 1);
}

static void draw_help(void)
{
	size_t i;

	for (i = 0; i < OP_ARRAY_SIZE(help) && (int)i + 1 < LINES; i++)
		(void)mvaddnstr((int)i + 1, 2, help[i], COLS - 3);
}

void draw_browser(struct browser *b)
{
	struct place *at = &b->places[b->pane];
	size_t page = (size_t)draw_page(b), len = panes_len(b), i;
	int top = answer_lines(b);

	(void)erase();
	if (b->helping) {
		draw_help();
		(void)refresh();
		return;
	}
	if (at->selected >= len)
		at->selected = len ? len - 1 : 0;
	if (at->selected < at->first)
		at->first = at->selected;
	if (at->selected >= at->first + page)
		at->first = at->selected - page + 1;
	draw_title(b);
	screen_block_draw(&b->block, 1, top);
	draw_panes(b, top + 1);
	draw_titles(b, top + 2);
	for (i = 0; i < page && at->first + i < len; i++)
		draw_line(b, at->first + i, top + BROWSE_HEAD_LINES + (int)i);
	draw_foot(b);
	(void)refresh();
}
