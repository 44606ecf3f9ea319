/* SPDX-License-Identifier: Apache-2.0 */
/* The keys of a recording on a whole screen. */
#include "browse/browse.h"

#include <curses.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/macros.h"
#include "browse/panes.h"
#include "common.h"
#include "recording/write/report.h"

enum {
	ANSWER_ROWS = 4,
	TEXT_BYTES = 4096,
	KEY_BACK = 127,
};
/* Share of stacks with a frame of a runtime from which on these frames are hidden. */
#define RUNTIME_SHARE 0.1

static void write_answer(struct browser *b)
{
	const struct answer_style style = { .columns = COLS,
					    .bold = "",
					    .plain = "",
					    .rows = ANSWER_ROWS,
					    .brief = true };
	FILE *f = screen_block_open(&b->block);

	if (!f)
		return;
	report_print_answer(&b->answer, &style, f);
	screen_block_close(&b->block, COLS);
}

/* Do stacks have frames of an interpreter or a virtual machine? */
static bool has_runtime(const struct browser *b)
{
	struct op_collect_path path = { 0 };
	const struct op_collect_stack *s;
	double with = 0;
	size_t i;

	op_vec_foreach(s, &b->c->stacks) {
		if (!view_wants(&b->v, s) || op_collect_path(b->c, s, &path))
			continue;
		for (i = 0; i < path.len; i++)
			if (b->classes[path.data[i]] == OP_CLASS_RUNTIME)
				break;
		with += i < path.len ? (double)s->value : 0;
	}
	free(path.data);
	return with >= RUNTIME_SHARE * (double)b->v.total;
}

/* Make everything for the requested kind. */
static int make(struct browser *b)
{
	int r;

	b->request.kind = *b->kind ? b->kind : NULL;
	view_clear(&b->v);
	r = view_make(b->c, &b->request, &b->v);
	if (!r)
		r = answer_make(&b->v, &b->answer);
	if (r)
		return r;
	/* The panes make trees of their own. */
	tree_clear(&b->v.tree);
	write_answer(b);
	b->name = 0;
	b->back_len = 0;
	b->has_source = false;
	r = panes_functions(b);
	return r ? r : panes_tree(b);
}

static void remember(struct browser *b)
{
	if (b->back_len == BROWSE_BACK_MAX) {
		memmove(b->back, b->back + 1, (BROWSE_BACK_MAX - 1) * sizeof(*b->back));
		b->back_len--;
	}
	b->back[b->back_len++] = (struct step){ b->pane, b->name, b->places[b->pane] };
}

static int go_back(struct browser *b)
{
	struct step s;
	int r = 0;

	if (!b->back_len)
		return 0;
	s = b->back[--b->back_len];
	if (s.pane == PANE_AROUND && s.name != b->name)
		r = panes_around(b, s.name);
	b->pane = s.pane;
	b->places[s.pane] = s.at;
	return r;
}

static int show_around(struct browser *b)
{
	uint32_t line;
	uint32_t f = panes_function(b, b->places[b->pane].selected, &line);
	uint32_t name = f == UINT32_MAX ? b->name : b->c->functions.data[f].name;

	if (!name) {
		b->message = "choose a function first";
		return 0;
	}
	if (b->pane == PANE_AROUND && name == b->name)
		return 0;
	remember(b);
	b->pane = PANE_AROUND;
	return name == b->name ? 0 : panes_around(b, name);
}

static int show_source(struct browser *b)
{
	struct step before = { b->pane, b->name, b->places[b->pane] };
	uint32_t line;
	uint32_t f = panes_function(b, before.at.selected, &line);
	int r;

	if (b->pane == PANE_SOURCE)
		return 0;
	r = panes_source(b, f, line);
	/* The program's row, and rows without a source: show where own code is hottest. */
	if (r == -ENODATA && f != UINT32_MAX) {
		b->message = "no source file of that function is known";
		return 0;
	}
	if (r == -ENODATA) {
		b->message = "no source lines are known; C, C++ and Rust have them in "
			     "debug info";
		return 0;
	}
	if (r)
		return r;
	remember(b);
	b->pane = PANE_SOURCE;
	return 0;
}

static int show_pane(struct browser *b, enum pane pane)
{
	if (pane == b->pane)
		return 0;
	if (pane == PANE_AROUND)
		return show_around(b);
	if (pane == PANE_SOURCE)
		return show_source(b);
	remember(b);
	b->pane = pane;
	return 0;
}

static void move_to(struct browser *b, long to)
{
	size_t len = panes_len(b);
	long last = len ? (long)len - 1 : 0;

	b->places[b->pane].selected = (size_t)(to < 0 ? 0 : to > last ? last : to);
}

static void move_by(struct browser *b, long step)
{
	move_to(b, (long)b->places[b->pane].selected + step);
}

/* Open or close the chosen node. Of a leaf, show callers and callees. */
static int open_it(struct browser *b, int key)
{
	struct forest *f = panes_forest(b);
	struct place *at = &b->places[b->pane];
	struct branch branch;

	if (!f || at->selected >= f->shown.len)
		return key == KEY_LEFT ? 0 : show_around(b);
	branch = f->shown.data[at->selected];
	if (!branch.node)
		return 0;
	if (key == KEY_LEFT) {
		if (!branch.of->open[branch.node]) {
			at->selected = forest_parent(f, at->selected);
			return 0;
		}
		branch.of->open[branch.node] = false;
	} else if (key == 'e') {
		grove_open_hottest(branch.of, branch.node);
	} else if (!branch.of->tree.nodes.data[branch.node].child) {
		return key == KEY_RIGHT ? 0 : show_around(b);
	} else if (branch.of->open[branch.node] && key != KEY_RIGHT) {
		branch.of->open[branch.node] = false;
	} else {
		grove_open(branch.of, branch.node);
	}
	return panes_show(b);
}

/* The next line that contains the text, @step lines from the chosen one, continued from
 * the other end. */
static void find(struct browser *b, long step)
{
	size_t len = panes_len(b), at = b->places[b->pane].selected, i;
	char text[TEXT_BYTES];

	if (!*b->search.text || !len)
		return;
	for (i = 0; i < len; i++) {
		at = (at + len + (size_t)step) % len;
		if (!strcasestr(panes_text(b, at, text, sizeof(text)), b->search.text))
			continue;
		b->places[b->pane].selected = at;
		return;
	}
	b->message = b->pane == PANE_TREE || b->pane == PANE_AROUND
			     ? "nothing that is open has it; f has all functions"
			     : "nothing has it";
}

static int next_kind(struct browser *b)
{
	uint32_t kind = b->v.kind, i;
	int r = -ENOENT;

	for (i = 0; r == -ENOENT && i < b->c->kinds.len; i++) {
		kind = (kind + 1) % (uint32_t)b->c->kinds.len;
		(void)kind_word(b->c, kind, b->kind);
		r = make(b);
	}
	b->pane = b->pane == PANE_FUNCTIONS ? PANE_FUNCTIONS : PANE_TREE;
	return r;
}

static int toggle_runtime(struct browser *b)
{
	uint32_t name = b->name;
	int r;

	b->out.runtime = !b->out.runtime;
	r = panes_tree(b);
	if (!r && name)
		r = panes_around(b, name);
	return r ? r : panes_functions(b);
}

static int toggle_order(struct browser *b)
{
	b->by_total = !b->by_total;
	return panes_functions(b);
}

static void command_move(struct browser *b, int c)
{
	long page = draw_page(b);

	if (c == KEY_UP)
		move_by(b, -1);
	else if (c == KEY_DOWN)
		move_by(b, 1);
	else if (c == KEY_PPAGE)
		move_by(b, -page);
	else if (c == KEY_NPAGE)
		move_by(b, page);
	else if (c == KEY_HOME)
		move_to(b, 0);
	else if (c == KEY_END)
		move_to(b, (long)panes_len(b));
}

static int command_view(struct browser *b, int c)
{
	switch (c) {
	case 't':
		return show_pane(b, PANE_TREE);
	case 'f':
		return show_pane(b, PANE_FUNCTIONS);
	case 'c':
		return show_around(b);
	case 's':
		return show_source(b);
	case '\t':
		return show_pane(b, (enum pane)((b->pane + 1) % PANES));
	case '\n':
	case '\r':
	case KEY_ENTER:
	case KEY_LEFT:
	case KEY_RIGHT:
	case 'e':
		return open_it(b, c);
	case 'k':
		return next_kind(b);
	case 'r':
		return toggle_runtime(b);
	case 'o':
		return toggle_order(b);
	case SCREEN_ESCAPE:
	case KEY_BACKSPACE:
	case KEY_BACK:
	case '\b':
		return go_back(b);
	default:
		command_move(b, c);
		return 0;
	}
}

static int command(struct browser *b, int c)
{
	b->message = NULL;
	switch (c) {
	case 'q':
		b->quit = true;
		return 0;
	case '/':
		b->search.typing = true;
		*b->search.typed = '\0';
		return 0;
	case 'n':
	case 'N':
		find(b, c == 'n' ? 1 : -1);
		return 0;
	case 'a':
		b->plain = !b->plain;
		return 0;
	case 'h':
	case '?':
		b->helping = true;
		return 0;
	case SCREEN_REDRAW:
		(void)clearok(stdscr, TRUE);
		return 0;
	case KEY_RESIZE:
		write_answer(b);
		return 0;
	default:
		return command_view(b, c);
	}
}

static void type(struct browser *b, int c)
{
	enum screen_typing t = screen_type(b->search.typed, c);

	if (t == SCREEN_TYPING)
		return;
	b->search.typing = false;
	if (t == SCREEN_LEFT || !*b->search.typed)
		return;
	memcpy(b->search.text, b->search.typed, sizeof(b->search.text));
	find(b, 1);
}

static int take_keys(struct browser *b)
{
	int c, r = 0;

	while (!r && !b->quit && (c = getch()) != ERR) {
		if (b->helping && c != KEY_RESIZE)
			b->helping = false;
		else if (b->search.typing && c != KEY_RESIZE)
			type(b, c);
		else
			r = command(b, c);
	}
	return r;
}

static int loop(struct browser *b)
{
	struct pollfd fd = { .fd = STDIN_FILENO, .events = POLLIN };
	int r = 0;

	draw_browser(b);
	while (!r && !b->quit && !signal_seen()) {
		(void)poll(&fd, 1, SCREEN_POLL_MS);
		if (fd.revents & (POLLHUP | POLLERR))
			return 0; /* the terminal is gone */
		r = take_keys(b);
		draw_browser(b);
	}
	return r;
}

static int begin(struct browser *b)
{
	uint32_t i;
	int r;

	b->classes = malloc(b->c->functions.len + 1);
	if (!b->classes)
		return -ENOMEM;
	for (i = 0; i < b->c->functions.len; i++)
		b->classes[i] = (uint8_t)op_frame_class_of(b->c, i);
	b->out.classes = b->classes;
	r = view_make(b->c, &b->request, &b->v);
	b->out.runtime = !r && has_runtime(b);
	return r ? r : make(b);
}

int browse(const struct op_collect *c, const struct view_request *request,
	   const char *title)
{
	struct browser b = { .c = c, .request = *request, .title = title };
	struct screen screen;
	int r;

	if (request->kind)
		(void)snprintf(b.kind, sizeof(b.kind), "%s", request->kind);
	r = screen_begin(&screen);
	if (r)
		return r;
	r = begin(&b);
	if (!r)
		r = loop(&b);
	panes_clear(&b);
	screen_end(&screen);
	return r ? fail("out of memory") : 0;
}
