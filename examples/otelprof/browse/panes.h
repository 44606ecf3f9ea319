/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of the view of a recording. */
#ifndef OTELPROF_BROWSE_PANES_H
#define OTELPROF_BROWSE_PANES_H

#include "browse/forest.h"
#include "recording/read/kind_word.h"
#include "recording/tree/answer/answer.h"
#include "recording/tree/source/source.h"
#include "screen/block.h"
#include "screen/screen.h"

enum pane {
	PANE_TREE,
	PANE_FUNCTIONS,
	PANE_AROUND, /* callers and callees of a function */
	PANE_SOURCE,
	PANES,
};

enum {
	BROWSE_BACK_MAX = 64,  /* steps that Backspace goes back */
	BROWSE_HEAD_LINES = 3, /* the title, the names of panes, the titles of columns */
	BROWSE_FOOT_LINES = 1,
};

/* The chosen line of a pane, and the first one on the screen. */
struct place {
	size_t selected;
	size_t first;
};

struct step {
	enum pane pane;
	uint32_t name;
	struct place at;
};

struct browse_search {
	bool typing;
	char typed[SCREEN_TEXT_MAX];
	char text[SCREEN_TEXT_MAX]; /* what was typed last */
};

struct browser {
	const struct op_collect *c;
	const char *title;
	struct view_request request;
	char kind[KIND_WORD_BYTES]; /* kind of the request */
	struct view v;
	struct answer answer;
	struct screen_block block; /* of the answer */
	uint8_t *classes;	   /* of functions */
	struct leave_out out;
	enum pane pane;
	struct place places[PANES];
	struct grove calls;
	struct forest calls_shown;
	/* function whose callers and callees are shown: a string; 0: none yet */
	uint32_t name;
	struct grove callers, callees;
	struct forest around_shown;
	uint32_t *order; /* rows of functions */
	size_t order_len;
	bool by_total;
	struct source source;
	bool has_source;
	struct step back[BROWSE_BACK_MAX];
	size_t back_len;
	struct browse_search search;
	const char *message; /* below, until the next key; NULL: none */
	bool plain;	     /* without the answer */
	bool helping;
	bool quit;
};

/* Make the contents of the panes again. Returns 0 or -ENOMEM. */
int panes_tree(struct browser *b);
int panes_functions(struct browser *b);
int panes_around(struct browser *b, uint32_t name);
/* Show the source of a function at its line @line. UINT32_MAX: where own code is
 * hottest. */
int panes_source(struct browser *b, uint32_t function, uint32_t line);
void panes_clear(struct browser *b);

/* How many lines a pane has. */
size_t panes_len(const struct browser *b);
/* The function of the chosen line, or UINT32_MAX; @ret_line: of its source, 0: unknown. */
uint32_t panes_function(const struct browser *b, size_t at, uint32_t *ret_line);
/* The text of a line in which a search looks. Returns @buf. */
const char *panes_text(const struct browser *b, size_t at, char *buf, size_t size);
/* The trees of the pane, or NULL. */
struct forest *panes_forest(struct browser *b);
/* Make the lines of the trees again, after a node was opened or closed. Returns 0 or
 * -ENOMEM. */
int panes_show(struct browser *b);

/* Number of the pane's lines on the screen, and index of the first one. */
int draw_page(const struct browser *b);
void draw_browser(struct browser *b);

#endif
