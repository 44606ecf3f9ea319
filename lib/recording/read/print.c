/* SPDX-License-Identifier: Apache-2.0 */
#include "recording/read/print.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "otlp/reader.h"

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
	int width = abs(columns);
	const unsigned char *s = (const unsigned char *)text, *end = s + len;
	int column = 0;
	size_t n;

	for (; s < end && (!width || column < width); s += n, column++) {
		n = otlp_utf8_len((const char *)s, (size_t)(end - s));
		if (!n || *s < 0x20 || *s == 0x7f || (*s == 0xc2 && s[1] < 0xa0)) {
			n = n ? n : 1;
			(void)fputc('?', f);
		} else if (width && column == width - 1 && s + n < end) {
			(void)fputs("…", f);
		} else {
			(void)fwrite(s, 1, n, f);
		}
	}
	for (; column < columns; column++)
		(void)fputc(' ', f);
}

void print_name(FILE *f, const char *name, int columns)
{
	char text[4096];

	(void)snprintf(text, sizeof(text), "%s", name);
	if (columns)
		name_shorten(text, abs(columns));
	print_safe(f, text, strlen(text), columns);
}

void print_json_string(FILE *f, const char *text, size_t len)
{
	const unsigned char *s = (const unsigned char *)text, *end = s + len;
	size_t n;

	(void)fputc('"', f);
	for (; s < end; s += n) {
		n = otlp_utf8_len((const char *)s, (size_t)(end - s));
		if (!n) {
			n = 1;
			(void)fputs("\\ufffd", f);
		} else if (*s == '"' || *s == '\\') {
			(void)fprintf(f, "\\%c", *s);
		} else if (*s < 0x20 || *s == 0x7f) {
			(void)fprintf(f, "\\u%04x", *s);
		} else {
			(void)fwrite(s, 1, n, f);
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
