/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the commands: options, signals, messages, a profiling session. */
#ifndef OTELPROF_COMMON_H
#define OTELPROF_COMMON_H

#include <getopt.h>
#include <otelprof/otelprof.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>

#include "recording/read/print.h"
#include "recording/read/say.h"

/* Exit statuses of all commands. STATUS_FAILED, 1, is in say.h. */
enum {
	STATUS_OK = 0,
	STATUS_USAGE = 2,
};

/* A command: its main function, and its summary in `otelprof --help`. */
struct command {
	const char *name;
	int (*run)(int argc, char **argv);
	const char *summary;
};

int command_record(int argc, char **argv);
int command_dump(int argc, char **argv);
int command_top(int argc, char **argv);
int command_export(int argc, char **argv);
int command_ctl(int argc, char **argv);
int command_report(int argc, char **argv);
int command_diff(int argc, char **argv);
int command_convert(int argc, char **argv);
int command_merge(int argc, char **argv);
int command_mcp(int argc, char **argv);
int command_sink(int argc, char **argv);
int command_doctor(int argc, char **argv);

enum {
	OPTION_RULES_MAX = 256
};

/* A switch that is a key of the settings: */
struct given {
	const char *name; /* as the user wrote it, without "--" */
	const char *value;
};

/* The options of every command that profiles. */
struct options {
	const char *command;
	const char *rate; /* the default of sample_rate_hz */
	bool exports;	  /* the command has the options of exporters, too */
	double seconds;	  /* 0: until a signal */
	int verbose;
	const char *config_path; /* of --config; NULL: none */
	struct given *given;	 /* in their order; freed by options_clear() */
	size_t given_len;
	/* all together, by session_settings(); borrowed */
	struct otelprof_settings *settings;
	struct otelprof_rule rules[OPTION_RULES_MAX]; /* texts are on the heap */
	size_t rules_len;
	size_t includes; /* number of these that options which include have put first */
};

/* Values of options. Those of keys are in `given`. */
enum {
	OPTION_CGROUP = 256,
	OPTION_CONTAINER,
	OPTION_POD,
	OPTION_COMM,
	OPTION_TREE,
	OPTION_USER,
	OPTION_EXCLUDE,
	OPTION_RULE,
	OPTION_CONFIG,
	OPTION_KEY,
	OPTION_OWN
};

enum {
	OPTIONS_HELP = -1
};

/* How rules are evaluated, for help texts. */
#define RULES_SENTENCE                                                                    \
	"The last matching rule that includes or excludes decides whether a process is\n" \
	"sampled. The last matching rule with a rate decides how often. A process that\n" \
	"no rule includes or excludes is sampled only if no rule includes.\n"

/* Handle an option of the command itself. Returns 0, or an exit status after a message. */
typedef int (*option_fn)(void *data, int c, char *arg);
/*
 * Parse @argv. The command's own options are @letters, as for getopt(), and @longs,
 * which ends with a line of zeroes. Other arguments begin at optind. Returns 0;
 * OPTIONS_HELP; or an exit status after a message.
 */
int options_parse(struct options *o, int argc, char **argv, const char *letters,
		  const struct option *longs, option_fn take, void *data);
/* Free the results of options_parse(). */
void options_clear(struct options *o);
/* Print the options that commands which profile share. Their texts begin in column 30. */
void options_help(FILE *f, const struct options *o);
/* Parse a decimal number in [min, max]. Returns 0, or STATUS_USAGE after a message. */
int parse_number(const char *command, const char *option, const char *arg, long long min,
		 long long max, long long *ret);
int parse_seconds(const char *command, const char *option, const char *arg, double *ret);
/* Print "Try 'otelprof record --help'." Returns STATUS_USAGE. */
int usage_hint(const char *command);

/* Print the reason why a call on @p failed. Returns STATUS_FAILED. */
int fail_library(struct otelprof *p, const char *what, int error);
/* The same for otelprof_init(), which filled @why. */
int fail_init(const struct otelprof_error_info *why, int error);

/* Print the words of @text from column @indent on, after @column columns of the line. */
void print_wrapped(FILE *f, const char *text, int column, int indent);

/* Catch the signals that would end the program: signal_seen() returns the last one.
 * Ignored signals stay ignored. The third signal ends the program. */
void signals_catch(void);
int signal_seen(void);
int signals_count(void);
/* Leave the first SIGINT to the command, to which the terminal sends it, too. */
void signals_spare_interrupt(void);
bool signals_interrupt_was_spared(void);

/* Read the file of --config if there is one, then the environment, then the command
 * line. Later values win. Returns 0, or an exit status after a message. */
int session_settings(const struct options *o, struct otelprof_settings **ret);
/* Make a handle with the rate and the rules of @o. Returns 0, or STATUS_FAILED after a
 * message. */
int session_open(const struct options *o, struct otelprof **ret);

/* Polls, or exports. A failure does not end the session, because the library can
 * continue when memory or descriptors are available again. */
struct tries {
	const char *what;
	const char *gave_up;
	int failed; /* in a row */
	int error;  /* of the last failure */
};
#define TRIES_POLL                                                                       \
	{                                                                                \
		.what = "a poll", .gave_up = "profiling failed"                          \
	}
#define TRIES_EXPORT                                                                     \
	{                                                                                \
		.what = "an export", .gave_up = "cannot export"                          \
	}
/* Take the result of a try. A failure prints a message, and a pause follows. Returns 0,
 * or STATUS_FAILED after a message when it is time to give up. */
int session_try(struct otelprof *p, struct tries *t, int r);

/* Called between polls. Returns true to end the session. */
typedef bool (*session_fn)(void *data);
/*
 * Poll until a signal, the end of @o's time, or @done. Exports every @window seconds,
 * plus or minus a tenth, so that the hosts of a fleet do not all send at once. The
 * first export is after at most half a second. Shows progress on a terminal if @show.
 * Returns 0, or STATUS_FAILED after a message.
 */
int session_run(struct otelprof *p, const struct options *o, double window, bool show,
		session_fn done, void *data);
/* Stop, process the rest, export, and flush within @timeout_ms. -1: without a limit, or
 * until a signal. */
int session_close(struct otelprof *p, int timeout_ms);
/* "taken 10 = exported 7 + filtered 2 + dropped 1 (ring 1)" */
void print_accounting(FILE *f, struct otelprof *p);
/* Print " (ring 3, memory 1)", or nothing. */
void print_drop_reasons(FILE *f, struct otelprof *p);
/* Print the outcome of the stacks: complete, cut, broken by reason. */
void print_stacks(FILE *f, struct otelprof *p);
/* Print why there are no samples. @command: the name of a program that was run. Returns
 * STATUS_FAILED. */
int fail_no_samples(struct otelprof *p, const struct options *o, bool command);

#endif
