/* SPDX-License-Identifier: Apache-2.0 */
/* Messages, signals, clock. */
#include "common.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum {
	COLUMNS = 80, /* columns of a help text */
};

static volatile sig_atomic_t caught;
static volatile sig_atomic_t seen;   /* number of signals that ask for an end */
static volatile sig_atomic_t spared; /* the first interrupt belongs to a command */

/* Signals that would end the program. It ends in order after any of them. */
static const int ends[] = {
	SIGHUP,	 SIGINT,  SIGTERM,   SIGUSR1, SIGUSR2, SIGALRM,
	SIGXCPU, SIGPROF, SIGVTALRM, SIGIO,   SIGPWR,
};

static void on_signal(int number)
{
	struct sigaction def = { .sa_handler = SIG_DFL };

	if (spared && number == SIGINT) {
		spared = 0;
		return;
	}
	caught = number;
	/* The second one shortens the rest of the work. The third one has its default
	 * action. */
	if (++seen > 1)
		(void)sigaction(number, &def, NULL);
}

static void on_child(int number)
{
	/* The handler exists only to make a waiting call return. */
}

void signals_catch(void)
{
	struct sigaction sa = { .sa_handler = on_signal }, was;
	size_t i;

	/* Ignored signals stay ignored, as under nohup and in background jobs of a
	 * shell. */
	for (i = 0; i < sizeof(ends) / sizeof(ends[0]); i++) {
		if (sigaction(ends[i], NULL, &was) == 0 && was.sa_handler != SIG_IGN)
			(void)sigaction(ends[i], &sa, NULL);
	}
	sa = (struct sigaction){ .sa_handler = on_child, .sa_flags = SA_NOCLDSTOP };
	(void)sigaction(SIGCHLD, &sa, NULL);
	/* A closed pipe, and a limit of file sizes, become errors of a write. */
	sa = (struct sigaction){ .sa_handler = SIG_IGN };
	(void)sigaction(SIGPIPE, &sa, NULL);
	(void)sigaction(SIGXFSZ, &sa, NULL);
}

void signals_spare_interrupt(void)
{
	spared = 1;
}

bool signals_interrupt_was_spared(void)
{
	return !spared;
}

int signal_seen(void)
{
	return caught;
}

int signals_count(void)
{
	return seen;
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
	int r = fail_because("cannot profile", why, error);

	if (geteuid() != 0 &&
	    (error == -OTELPROF_E_CAPABILITY || error == -EPERM || error == -EACCES))
		note("try it with sudo; a COMMAND still runs as you");
	return r;
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
