/* SPDX-License-Identifier: Apache-2.0 */
/* Messages, printing of foreign text, signals, clock. */
#include "common.h"

#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "otlp/reader.h"
#include "short_name.h"

static volatile sig_atomic_t caught;

static void on_signal(int number)
{
	caught = number;
}

static void on_child(int number)
{
	/* The handler exists only to make a waiting call return. */
	(void)number;
}

void signals_catch(void)
{
	/* SA_RESETHAND: the second signal has its default action. */
	struct sigaction sa = { .sa_handler = on_signal, .sa_flags = (int)SA_RESETHAND };

	(void)sigaction(SIGINT, &sa, NULL);
	(void)sigaction(SIGTERM, &sa, NULL);
	sa = (struct sigaction){ .sa_handler = on_child, .sa_flags = SA_NOCLDSTOP };
	(void)sigaction(SIGCHLD, &sa, NULL);
	sa = (struct sigaction){ .sa_handler = SIG_IGN };
	(void)sigaction(SIGPIPE, &sa, NULL);
}

int signal_seen(void)
{
	return caught;
}

double now_seconds(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_MONOTONIC, &ts);
	return (double)ts.tv_sec + (double)ts.tv_nsec / 1e9;
}

bool colour_wanted(FILE *f)
{
	const char *no = getenv("NO_COLOR");
	const char *term = getenv("TERM");

	if (no && *no)
		return false;
	return isatty(fileno(f)) && term && strcmp(term, "dumb") != 0;
}

static void say(const char *colour, const char *fmt, va_list ap)
{
	bool on = colour_wanted(stderr);

	(void)fprintf(stderr, "%sotelprof:%s ", on ? colour : "", on ? "\033[0m" : "");
	(void)vfprintf(stderr, fmt, ap);
	(void)fputc('\n', stderr);
}

int fail(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say("\033[31m", fmt, ap);
	va_end(ap);
	return STATUS_FAILED;
}

void note(const char *fmt, ...)
{
	va_list ap;

	va_start(ap, fmt);
	say("\033[2m", fmt, ap);
	va_end(ap);
}

static int fail_because(const char *what, const struct otelprof_error_info *why,
			int error)
{
	if (why->code != error || !*why->message)
		return fail("%s: %s", what, otelprof_strerror(error));
	(void)fail("%s: %s", what, why->message);
	if (*why->detail)
		(void)fprintf(stderr, "%s\n", why->detail);
	return STATUS_FAILED;
}

int fail_library(struct otelprof *p, const char *what, int error)
{
	struct otelprof_error_info why = { .size = sizeof(why) };

	(void)otelprof_last_error(p, &why);
	return fail_because(what, &why, error);
}

int fail_init(const struct otelprof_error_info *why, int error)
{
	return fail_because("cannot profile", why, error);
}

int usage_hint(const char *command)
{
	(void)fprintf(stderr, "Try 'otelprof %s%s--help'.\n", command,
		      *command ? " " : "");
	return STATUS_USAGE;
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
