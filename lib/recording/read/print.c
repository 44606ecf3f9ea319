/* SPDX-License-Identifier: Apache-2.0 */
#include "recording/read/print.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/foreign/text.h"

bool colour_wanted(FILE *f)
{
	const char *no = getenv("NO_COLOR");
	const char *term = getenv("TERM");

	if (no && *no)
		return false;
	return isatty(fileno(f)) && term && strcmp(term, "dumb") != 0;
}

void print_safe(FILE *f, const char *text, size_t len, int columns)
{
	int width = abs(columns), column = 0, left, wide;
	const char *s = text, *end = text + len;
	char shown[OP_TEXT_CHAR_BYTES];

	while (s < end && (!width || column < width)) {
		s += op_text_show_char(s, (size_t)(end - s), shown);
		wide = *shown == '\\' ? (int)strlen(shown) : 1;
		left = width - column;
		if (width && (wide > left || (wide == left && s < end))) {
			(void)fputs(SHORT_MARK, f);
			column++;
			break;
		}
		(void)fputs(shown, f);
		column += wide;
	}
	for (; column < columns; column++)
		(void)fputc(' ', f);
}

void print_text(FILE *f, const char *text)
{
	print_safe(f, text, strlen(text), 0);
}

void print_formatted(FILE *f, const char *fmt, va_list ap)
{
	_cleanup_free_ char *all = NULL;
	char line[OP_TEXT_LINE_BYTES];
	va_list again;

	va_copy(again, ap);
	if (vasprintf(&all, fmt, ap) < 0) {
		all = NULL;
		(void)op_text_format(line, sizeof(line), fmt, again);
	}
	va_end(again);
	print_text(f, all ? all : line);
}

void show_text(const char *text, char *buf, size_t size)
{
	(void)op_text_show(text, strlen(text), buf, size);
}

void print_lines(FILE *f, const char *text)
{
	size_t len;

	for (; *text; text += len + (text[len] != '\0')) {
		len = strcspn(text, "\n\t");
		print_safe(f, text, len, 0);
		(void)fputc(text[len] == '\t' ? '\t' : '\n', f);
	}
}

void print_name(FILE *f, const char *name, int columns)
{
	char text[4096];

	(void)op_text_show(name, strlen(name), text, sizeof(text));
	if (columns)
		name_shorten(text, abs(columns));
	print_safe(f, text, strlen(text), columns);
}

void print_json_string(FILE *f, const char *text, size_t len)
{
	const char *s = text, *end = text + len, *c;
	char shown[OP_TEXT_CHAR_BYTES];

	(void)fputc('"', f);
	while (s < end) {
		s += op_text_show_char(s, (size_t)(end - s), shown);
		for (c = shown; *c; c++) {
			if (*c == '"' || *c == '\\')
				(void)fputc('\\', f);
			(void)fputc(*c, f);
		}
	}
	(void)fputc('"', f);
}

void print_seconds(double s, char *buf, size_t size)
{
	if (fabs(s) >= 100)
		(void)snprintf(buf, size, "%.0f s", s);
	else if (fabs(s) >= 1)
		(void)snprintf(buf, size, "%.2f s", s);
	else if (fabs(s) >= 1e-3)
		(void)snprintf(buf, size, "%.1f ms", s * 1e3);
	else
		(void)snprintf(buf, size, "%.1f us", s * 1e6);
}

void print_bytes(double b, char *buf, size_t size)
{
	static const char *const units[] = { "B", "KiB", "MiB", "GiB", "TiB" };
	size_t i = 0;

	for (; fabs(b) >= 1024 && i + 1 < sizeof(units) / sizeof(units[0]); i++)
		b /= 1024;
	(void)snprintf(buf, size, i ? "%.1f %s" : "%.0f %s", b, units[i]);
}
