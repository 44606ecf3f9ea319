/* SPDX-License-Identifier: Apache-2.0 */
#include "screen/screen.h"

#include <curses.h>
#include <errno.h>
#include <locale.h>
#include <string.h>
#include <unistd.h>
#include <wchar.h>

#include "recording/read/print.h"

enum {
	KEY_DELETE = 127,
	ESCAPE_MS = 50,
};

int screen_text(const char *whole, int columns)
{
	char shown[SCREEN_NAME_BYTES];
	const char *text = shown;
	mbstate_t state = { 0 };
	int used = 0;

	show_text(whole, shown, sizeof(shown));
	while (*text && used < columns) {
		wchar_t c[2] = { 0 };
		size_t n = mbrtowc(c, text, strlen(text), &state);
		int width;

		if (n == (size_t)-1 || n == (size_t)-2) {
			state = (mbstate_t){ 0 };
			n = 1;
			c[0] = L'?';
		}
		width = wcwidth(c[0]);
		if (width < 0) {
			c[0] = L'?';
			width = 1;
		}
		if (used + width > columns)
			break;
		(void)addwstr(c);
		used += width;
		text += n;
	}
	return used;
}

void screen_column(const char *text, int columns)
{
	int used = screen_text(text, columns);

	(void)printw("%*s ", columns - used, "");
}

void screen_name(const char *name, int columns)
{
	char text[SCREEN_NAME_BYTES];

	(void)snprintf(text, sizeof(text), "%s", name);
	name_shorten(text, columns);
	(void)screen_text(text, columns);
}

enum screen_typing screen_type(char typed[SCREEN_TEXT_MAX], int c)
{
	size_t len = strlen(typed);

	if (c == '\n' || c == '\r' || c == KEY_ENTER)
		return SCREEN_TYPED;
	if (c == SCREEN_ESCAPE) {
		typed[0] = '\0';
		return SCREEN_LEFT;
	}
	if (c == KEY_BACKSPACE || c == KEY_DELETE || c == '\b') {
		while (len && ((unsigned char)typed[len - 1] & 0xc0) == 0x80)
			typed[--len] = '\0';
		if (len)
			typed[len - 1] = '\0';
	} else if (c >= ' ' && c <= 0xff && len + 1 < SCREEN_TEXT_MAX) {
		typed[len] = (char)c;
		typed[len + 1] = '\0';
	}
	return SCREEN_TYPING;
}

/* Log lines wait in a file. */
static FILE *hold_messages(int *ret_saved)
{
	FILE *f = tmpfile();

	*ret_saved = f ? dup(STDERR_FILENO) : -1;
	if (*ret_saved < 0 || dup2(fileno(f), STDERR_FILENO) < 0) {
		if (*ret_saved >= 0)
			(void)close(*ret_saved);
		if (f)
			(void)fclose(f);
		return NULL;
	}
	return f;
}

static void tell_messages(FILE *f, int saved)
{
	char line[1024];

	if (!f)
		return;
	(void)fflush(stderr);
	(void)dup2(saved, STDERR_FILENO);
	(void)close(saved);
	rewind(f);
	while (fgets(line, sizeof(line), f))
		(void)fputs(line, stderr);
	(void)fclose(f);
}

static void set_colours(void)
{
	if (!colour_wanted(stdout) || !has_colors() || start_color() == ERR ||
	    use_default_colors() == ERR)
		return;
	(void)init_pair(SCREEN_HOT, COLOR_RED, -1);
	(void)init_pair(SCREEN_WARM, COLOR_YELLOW, -1);
}

int screen_begin(struct screen *s)
{
	*s = (struct screen){ .saved = -1 };
	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		return -ENOTSUP;
	(void)setlocale(LC_CTYPE, "");
	s->terminal = newterm(NULL, stdout, stdin);
	if (!s->terminal)
		return -ENOTSUP;
	s->held = hold_messages(&s->saved);
	(void)cbreak();
	(void)noecho();
	(void)nodelay(stdscr, TRUE);
	(void)keypad(stdscr, TRUE);
	(void)set_escdelay(ESCAPE_MS);
	(void)curs_set(0);
	set_colours();
	return 0;
}

void screen_end(struct screen *s)
{
	(void)endwin();
	delscreen(s->terminal);
	tell_messages(s->held, s->saved);
}
