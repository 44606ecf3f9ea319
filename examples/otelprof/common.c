/* SPDX-License-Identifier: Apache-2.0 */
/* Messages, signals, clock. */
#include "common.h"

#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
	COLUMNS = 80, /* of a help text */
};

static volatile sig_atomic_t caught;

static void on_signal(int number)
{
	caught = number;
}

static void on_child(int number)
{
	/* The handler exists only to make a waiting call return. */
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

static void say(const char *colour, const char *fmt, va_list ap)
{
	bool on = colour_wanted(stderr);

	(void)fprintf(stderr, "%sotelprof:%s ", on ? colour : "", on ? "\033[0m" : "");
	print_formatted(stderr, fmt, ap);
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
		print_lines(stderr, why->detail);
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

void print_wrapped(FILE *f, const char *text, int column, int indent)
{
	int len;

	if (column >= indent - 1)
		column = COLUMNS;
	else
		column += fprintf(f, "%*s", indent - 1 - column, "");
	for (; *text; text += len + (text[len] == ' ')) {
		len = (int)strcspn(text, " ");
		if (column + 1 + len > COLUMNS)
			column = fprintf(f, "\n%*s", indent - 1, "") - 1;
		column += fprintf(f, " %.*s", len, text);
	}
	(void)fputc('\n', f);
}
