/* SPDX-License-Identifier: Apache-2.0 */
/* The full-screen view of otelprof top. */
#include <curses.h>
#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/macros.h"
#include "recording/read/print.h"
#include "screen/block.h"
#include "screen/screen.h"
#include "top/top.h"

enum {
	HEAD_LINES = 3,	  /* without the answer */
	TABLE_LINES = 10, /* least number of lines; below that there is no answer */
	ANSWER_ROWS = 3,
	FOOT_LINES = 1,
	ID_COLUMNS = 7,
	OWNER_COLUMNS = 15,
	MODULE_COLUMNS = 18,
	AMOUNT_COLUMNS = 10,
	SHARES_COLUMNS = 16,
	FUNCTION_COLUMNS = 18, /* at least */
};

static const char *const owners[OWNERS] = {
	[OWNER_PROCESS] = "process",	 [OWNER_PROGRAM] = "program",
	[OWNER_CONTAINER] = "container", [OWNER_THREAD] = "thread",
	[OWNER_ALL] = "function alone",
};

static const char *const help[] = {
	"g        sum by process, program, container, thread, or function alone",
	"k        the next kind of samples, if there are several",
	"s        order by SELF (on the CPU itself) or TOTAL (with what it calls)",
	"f        show only what contains a text; Escape or an empty text: all",
	"/, n     find a text; the next one",
	"a        without the answer, and with it",
	"space    pause and go on; samples are taken meanwhile",
	"arrows, page keys, Home, End: move",
	"h        this text; any key leaves it",
	"q        end",
};

enum prompt {
	PROMPT_NONE,
	PROMPT_FILTER,
	PROMPT_SEARCH,
};

struct table {
	struct top *top;
	/* the requests of the table on the screen, kept to be summed again */
	struct top_window shown;
	const struct function_row **rows; /* rows that pass the filter */
	size_t len;
	size_t selected;
	size_t first; /* first row on the screen */
	enum prompt prompt;
	char filter[SCREEN_TEXT_MAX];
	char search[SCREEN_TEXT_MAX];
	char typed[SCREEN_TEXT_MAX];
	bool paused;
	bool helping;
	bool quit;
	bool found; /* the last search found something */
	bool plain; /* without the answer */
	struct screen_block answer;
};

static bool row_has(const struct function_row *row, const char *text)
{
	return strcasestr(row->function, text) || strcasestr(row->module, text) ||
	       strcasestr(row->file, text) || strcasestr(row->owner, text);
}

static int choose_rows(struct table *v)
{
	const struct function_sums *sums = &top_kind(v->top)->sums;
	size_t i;

	free(v->rows);
	v->len = 0;
	v->rows = calloc(sums->len + 1, sizeof(*v->rows));
	if (!v->rows)
		return -ENOMEM;
	for (i = 0; i < sums->len; i++)
		if (!*v->filter || row_has(&sums->rows[i], v->filter))
			v->rows[v->len++] = &sums->rows[i];
	if (v->selected >= v->len)
		v->selected = v->len ? v->len - 1 : 0;
	return 0;
}

static void answer_again(struct table *v)
{
	struct top_answer a;
	FILE *f = screen_block_open(&v->answer);

	if (!f)
		return;
	top_answer_make(v->top, &v->shown, &a);
	top_answer_print(&a, COLS, ANSWER_ROWS, false, f);
	top_answer_clear(&a);
	screen_block_close(&v->answer, COLS);
}

/* How many of its lines fit. */
static int answer_lines(const struct table *v)
{
	int room = LINES - HEAD_LINES - FOOT_LINES - TABLE_LINES;

	return v->plain || room <= 0 ? 0 : OP_MIN(screen_block_lines(&v->answer), room);
}

static int head_lines(const struct table *v)
{
	return HEAD_LINES + answer_lines(v);
}

static void sum_again(struct table *v)
{
	top_sum(v->top, &v->shown);
	(void)choose_rows(v);
}

static void draw_head(const struct table *v)
{
	const struct top *t = v->top;
	const struct kind_sums *k = top_kind(t);
	char line[256];
	char clock[16];
	long cpus = sysconf(_SC_NPROCESSORS_ONLN);
	time_t now = time(NULL);
	struct tm tm;

	(void)strftime(clock, sizeof(clock), "%H:%M:%S", localtime_r(&now, &tm));
	top_headline(t, k, line, sizeof(line));
	(void)mvprintw(0, 0, "otelprof top  %s  ", clock);
	(void)screen_text(line, COLS - getcurx(stdscr) - 1);
	/* samples are an estimate, which may be more than there is */
	if (t->measured > 0 && k->clock)
		(void)printw(
			"  CPUs busy: %.2f of %ld",
			OP_MIN((double)k->sums.value / 1e9 / t->measured, (double)cpus),
			cpus);
	(void)mvprintw(head_lines(v) - 2, 0, "by %s, %s first", owners[t->kinds.owner],
		       t->order == FUNCTIONS_BY_SELF ? "SELF" : "TOTAL");
	if (*v->filter) {
		(void)addstr(", with \"");
		(void)screen_text(v->filter, COLS - getcurx(stdscr) - 1);
		(void)addch('"');
	}
	if (v->shown.full)
		(void)addstr(", a part of the samples: too many");
	if (v->paused) {
		(void)attron(A_BOLD);
		(void)addstr("  PAUSED");
		(void)attroff(A_BOLD);
	}
}

static bool has_id(enum function_owner owner)
{
	return owner == OWNER_PROCESS || owner == OWNER_THREAD;
}

/* Which columns fit besides the shares and the function, which matter most. */
struct columns {
	bool owner;
	bool amount;
	bool id;
	bool module;
};

static bool take_room(bool wanted, int columns, int *left)
{
	if (!wanted || *left < columns + 1)
		return false;
	*left -= columns + 1;
	return true;
}

static struct columns columns_of(const struct table *v)
{
	enum function_owner owner = v->top->kinds.owner;
	int left = COLS - SHARES_COLUMNS - FUNCTION_COLUMNS;
	struct columns c;

	c.owner = take_room(owner != OWNER_ALL, OWNER_COLUMNS, &left);
	c.amount = take_room(!top_kind(v->top)->clock, AMOUNT_COLUMNS, &left);
	c.id = take_room(has_id(owner), ID_COLUMNS, &left);
	c.module = take_room(true, MODULE_COLUMNS, &left);
	return c;
}

static void draw_titles(const struct table *v)
{
	const struct columns columns = columns_of(v);
	enum function_owner owner = v->top->kinds.owner;
	static const char *const titles[OWNERS] = { "PROCESS", "PROGRAM", "CONTAINER",
						    "THREAD", "" };

	(void)attron(A_REVERSE);
	(void)mvprintw(head_lines(v) - 1, 0, "%7s %7s ", "SELF", "TOTAL");
	if (columns.amount)
		(void)printw("%*s ", AMOUNT_COLUMNS, "TOTAL");
	if (columns.id)
		(void)printw("%*s ", ID_COLUMNS, owner == OWNER_THREAD ? "TID" : "PID");
	if (columns.owner)
		screen_column(titles[owner], OWNER_COLUMNS);
	if (columns.module)
		screen_column("MODULE", MODULE_COLUMNS);
	(void)printw("%-*s", COLS > getcurx(stdscr) ? COLS - getcurx(stdscr) : 0,
		     "FUNCTION");
	(void)attroff(A_REVERSE);
}

static void draw_row(const struct table *v, size_t at, int line)
{
	const struct function_row *row = v->rows[at];
	enum function_owner owner = v->top->kinds.owner;
	const struct kind_sums *k = top_kind(v->top);
	const struct columns columns = columns_of(v);
	char amount[KIND_AMOUNT_BYTES];
	bool selected = at == v->selected;

	if (selected)
		(void)attron(A_BOLD | A_UNDERLINE);
	(void)mvprintw(line, 0, "%6.2f%% %6.2f%% ", top_percent(k, row->self_value),
		       top_percent(k, row->total_value));
	if (columns.amount)
		(void)printw("%*s ", AMOUNT_COLUMNS,
			     kind_amount(k, row->total_value, amount));
	if (columns.id)
		(void)printw("%*" PRId64 " ", ID_COLUMNS, row->id);
	if (columns.owner)
		screen_column(owner == OWNER_CONTAINER && !*row->owner ? "(host)"
								       : row->owner,
			      OWNER_COLUMNS);
	if (columns.module)
		screen_column(top_module(row), MODULE_COLUMNS);
	screen_name(row->function, COLS - getcurx(stdscr));
	if (selected)
		(void)attroff(A_BOLD | A_UNDERLINE);
}

static size_t page(const struct table *v)
{
	int lines = LINES - head_lines(v) - FOOT_LINES;

	if (v->top->rows && v->top->rows < lines)
		lines = (int)v->top->rows;
	return lines > 0 ? (size_t)lines : 1;
}

static void draw_foot(const struct table *v)
{
	(void)move(LINES - 1, 0);
	if (v->prompt != PROMPT_NONE) {
		(void)printw("%s: ", v->prompt == PROMPT_FILTER ? "show only" : "find");
		(void)screen_text(v->typed, COLS - getcurx(stdscr) - 1);
		return;
	}
	if (*v->search && !v->found)
		(void)printw("nothing below has \"%s\"; ", v->search);
	(void)screen_text(
		"q end  g group  k kind  s order  f filter  / find  space pause  h help",
		COLS - getcurx(stdscr) - 1);
}

static void draw(struct table *v)
{
	size_t i, lines = page(v);

	(void)erase();
	if (v->helping) {
		for (i = 0; i < sizeof(help) / sizeof(help[0]); i++)
			(void)mvaddnstr((int)i + 1, 2, help[i], COLS - 3);
		(void)refresh();
		return;
	}
	if (v->selected < v->first)
		v->first = v->selected;
	if (v->selected >= v->first + lines)
		v->first = v->selected - lines + 1;
	draw_head(v);
	screen_block_draw(&v->answer, 1, answer_lines(v));
	draw_titles(v);
	for (i = 0; i < lines && v->first + i < v->len; i++)
		draw_row(v, v->first + i, head_lines(v) + (int)i);
	draw_foot(v);
	(void)refresh();
}

/* Go to the next row below that contains the searched text. */
static void find_next(struct table *v)
{
	size_t i;

	v->found = false;
	for (i = v->selected + 1; i < v->len && !v->found; i++)
		if (row_has(v->rows[i], v->search)) {
			v->selected = i;
			v->found = true;
		}
}

static void end_prompt(struct table *v)
{
	if (v->prompt == PROMPT_FILTER) {
		memcpy(v->filter, v->typed, sizeof(v->filter));
		(void)choose_rows(v);
	} else if (*v->typed) {
		memcpy(v->search, v->typed, sizeof(v->search));
		find_next(v);
	}
	v->prompt = PROMPT_NONE;
}

static void type(struct table *v, int c)
{
	if (screen_type(v->typed, c) != SCREEN_TYPING)
		end_prompt(v);
}

static void move_by(struct table *v, long step)
{
	long to = (long)v->selected + step;
	long last = v->len ? (long)v->len - 1 : 0;

	v->selected = (size_t)(to < 0 ? 0 : to > last ? last : to);
}

static void start_prompt(struct table *v, enum prompt prompt)
{
	v->prompt = prompt;
	v->typed[0] = '\0';
}

/* Show the kind after the current one. After the last one comes the first. */
static void next_kind(struct table *v)
{
	struct kinds *k = &v->top->kinds;
	struct kind_sums *shown = &v->top->shown;
	size_t i;

	if (!k->len)
		return;
	i = ((size_t)(top_kind(v->top) - k->of) + 1) % k->len;
	memcpy(shown->type, k->of[i].type, sizeof(shown->type));
	memcpy(shown->unit, k->of[i].unit, sizeof(shown->unit));
	answer_again(v);
	v->selected = v->first = 0;
	(void)choose_rows(v);
}

static void command(struct table *v, int c)
{
	struct top *t = v->top;

	switch (c) {
	case 'q':
		v->quit = true;
		break;
	case 'g':
		t->kinds.owner = (t->kinds.owner + 1) % OWNERS;
		sum_again(v);
		break;
	case 'k':
		next_kind(v);
		break;
	case 's':
		t->order = t->order == FUNCTIONS_BY_SELF ? FUNCTIONS_BY_TOTAL
							 : FUNCTIONS_BY_SELF;
		sum_again(v);
		break;
	case 'f':
		start_prompt(v, PROMPT_FILTER);
		break;
	case '/':
		start_prompt(v, PROMPT_SEARCH);
		break;
	case 'n':
		if (*v->search)
			find_next(v);
		break;
	case 'a':
		v->plain = !v->plain;
		break;
	case ' ':
		v->paused = !v->paused;
		break;
	case SCREEN_REDRAW:
		(void)clearok(stdscr, TRUE);
		break;
	case 'h':
	case '?':
		v->helping = true;
		break;
	case SCREEN_ESCAPE:
		v->filter[0] = '\0';
		(void)choose_rows(v);
		break;
	case KEY_UP:
		move_by(v, -1);
		break;
	case KEY_DOWN:
		move_by(v, 1);
		break;
	case KEY_PPAGE:
		move_by(v, -(long)page(v));
		break;
	case KEY_NPAGE:
		move_by(v, (long)page(v));
		break;
	case KEY_HOME:
		v->selected = 0;
		break;
	case KEY_END:
		move_by(v, (long)v->len);
		break;
	default:
		break;
	}
}

static bool take_keys(struct table *v)
{
	bool any = false;
	int c;

	while ((c = getch()) != ERR) {
		any = true;
		if (v->helping)
			v->helping = c == KEY_RESIZE;
		else if (v->prompt != PROMPT_NONE && c != KEY_RESIZE)
			type(v, c);
		else
			command(v, c);
	}
	return any;
}

/* Make the next table from what was exported since the last one. */
static void next_table(struct table *v, struct otelprof *p, double seconds)
{
	if (v->paused) {
		top_window_clear(&v->top->window);
		return;
	}
	top_window_clear(&v->shown);
	v->shown = v->top->window;
	v->top->window = (struct top_window){ 0 };
	top_measure(v->top, p, seconds);
	sum_again(v);
	answer_again(v);
}

static int wait_ms(double left_s)
{
	return left_s <= 0			? 0
	       : left_s * 1000 < SCREEN_POLL_MS ? (int)(left_s * 1000) + 1
						: SCREEN_POLL_MS;
}

static int loop(struct table *v, struct otelprof *p)
{
	struct pollfd fds[] = { { .fd = STDIN_FILENO, .events = POLLIN },
				{ .fd = otelprof_get_fd(p), .events = POLLIN } };
	struct tries polls = TRIES_POLL;
	struct tries exports = TRIES_EXPORT;
	double start = v->top->started, now = now_seconds();
	int r;

	while (!v->quit && !signal_seen()) {
		bool changed;

		(void)poll(fds, 2, wait_ms(start + v->top->o.seconds - now));
		if (fds[0].revents & (POLLHUP | POLLERR))
			return 0; /* the terminal is gone */
		r = otelprof_poll(p, 0);
		r = session_try(p, &polls, r == -EINTR ? 0 : r);
		if (r)
			return r;
		changed = take_keys(v);
		now = now_seconds();
		if (now - start >= v->top->o.seconds) {
			r = session_try(p, &exports, otelprof_export(p));
			if (r)
				return r;
			/* otherwise this time counts in the next table, too */
			if (!exports.failed) {
				next_table(v, p, now - start);
				start = now;
				changed = true;
			}
		}
		if (changed)
			draw(v);
	}
	return 0;
}

int top_screen(struct top *t, struct otelprof *p)
{
	struct table v = { .top = t };
	struct screen screen;
	int r = screen_begin(&screen);

	if (r)
		return r;
	draw(&v);
	r = loop(&v, p);
	screen_end(&screen);
	top_window_clear(&v.shown);
	screen_block_clear(&v.answer);
	free(v.rows);
	return r;
}
