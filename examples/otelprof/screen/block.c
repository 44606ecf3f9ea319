/* SPDX-License-Identifier: Apache-2.0 */
#include "screen/block.h"

#include <curses.h>
#include <stdlib.h>
#include <string.h>

#include "screen/screen.h"

void screen_block_clear(struct screen_block *b)
{
	free(b->text);
	b->text = NULL;
	b->bytes = 0;
}

FILE *screen_block_open(struct screen_block *b)
{
	screen_block_clear(b);
	b->f = open_memstream(&b->text, &b->bytes);
	return b->f;
}

static void wrap(char *line, int columns)
{
	char *end = strchrnul(line, '\n'), *at = line + columns - 1;

	if (end - line < columns)
		return;
	while (at > line && *at != ' ')
		at--;
	if (*at == ' ')
		*at = '\n';
}

void screen_block_close(struct screen_block *b, int columns)
{
	char *line, *next;
	size_t kept = 0;

	if (fclose(b->f) || !b->text)
		screen_block_clear(b);
	b->f = NULL;
	if (b->text)
		wrap(b->text, columns);
	for (line = b->text; line && line < b->text + b->bytes; line = next) {
		next = strchrnul(line, '\n');
		*next++ = '\0';
		if (!*line)
			continue;
		memmove(b->text + kept, line, (size_t)(next - line));
		kept += (size_t)(next - line);
	}
	b->bytes = kept;
}

int screen_block_lines(const struct screen_block *b)
{
	const char *line = b->text;
	int n = 0;

	while (line && line < b->text + b->bytes && n < SCREEN_BLOCK_LINES_MAX) {
		line += strlen(line) + 1;
		n++;
	}
	return n;
}

void screen_block_draw(const struct screen_block *b, int from, int n)
{
	const char *line = b->text;
	int i;

	for (i = 0; i < n; i++) {
		(void)move(from + i, 0);
		(void)screen_text(line, COLS - 1);
		line += strlen(line) + 1;
	}
}
