/* SPDX-License-Identifier: Apache-2.0 */
/* What the commands share: options, signals, messages, a profiling session. */
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

/* A switch that is a key of the settings. */
struct given {
	const char *name; /* as it was written, without "--" */
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
	struct given *given;	 /* in their order; by options_clear() */
	size_t given_len;
	struct otelprof_settings
		*settings; /* all together, by session_settings(); borrowed */
	struct otelprof_rule rules[OPTION_RULES_MAX]; /* texts are on the heap */
	size_t rules_len;
	size_t includes; /* of them, by options that include: they come first */
};

/* Values of options; those of keys are in `given`. */
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

/* How rules are judged, the same everywhere. */
#define RULES_SENTENCE                                                                    \
	"The last matching rule that includes or excludes decides whether a process is\n" \
	"sampled. The last matching rule with a rate decides how often. A process that\n" \
	"no rule includes or excludes is sampled only if no rule includes.\n"

/* Take an option of a command's own. Returns 0, or an exit status after a message. */
typedef int (*option_fn)(void *data, int c, char *arg);
/*
 * Parse @argv: @letters, as of getopt(), and @longs, which a line of zeroes ends, are the command's
 * own. What follows the options begins at optind. Returns 0; OPTIONS_HELP; or an exit status after
 * a message.
 */
int options_parse(struct options *o, int argc, char **argv, const char *letters,
		  const struct option *longs, option_fn take, void *data);
/* Free what options_parse() took. */
void options_clear(struct options *o);
/* Print what commands that profile share. The texts of options begin in column 30. */
void options_help(FILE *f, const struct options *o);
/* Parse a decimal number in [min, max]. Returns 0, or STATUS_USAGE after a message. */
int parse_number(const char *command, const char *option, const char *arg, long long min,
		 long long max, long long *ret);
int parse_seconds(const char *command, const char *option, const char *arg, double *ret);
/* Print "Try 'otelprof record --help'." Returns STATUS_USAGE. */
int usage_hint(const char *command);

/* Print why a call on @p failed. Returns STATUS_FAILED. */
int fail_library(struct otelprof *p, const char *what, int error);
/* The same for otelprof_init(), which filled @why. */
int fail_init(const struct otelprof_error_info *why, int error);

/* Print the words of @text from column @indent on, after @column columns of the line. */
void print_wrapped(FILE *f, const char *text, int column, int indent);

/* Catch the signals that would end the program: signal_seen() returns the last one. Those that are
 * ignored stay so. The third one ends it. */
void signals_catch(void);
int signal_seen(void);
int signals_count(void);
/* Leave the first SIGINT to a command that is run: the terminal sends it there, too. */
void signals_spare_interrupt(void);
bool signals_interrupt_was_spared(void);

/* Read the file of --config, if there is one, the environment, and what the command line has:
 * the later one wins. Returns 0, or an exit status after a message. */
int session_settings(const struct options *o, struct otelprof_settings **ret);
/* Make a handle with the rate and the rules of @o. Returns 0, or STATUS_FAILED after a
 * message. */
int session_open(const struct options *o, struct otelprof **ret);

/* Polls, or exports. One that fails is no end: the library can go on when memory or descriptors
 * are available again. */
struct tries {
	const char *what;
	const char *gave_up;
	int failed; /* in a row */
	int error;  /* the last one's */
};
#define TRIES_POLL                                                                       \
	{                                                                                \
		.what = "a poll", .gave_up = "profiling failed"                          \
	}
#define TRIES_EXPORT                                                                     \
	{                                                                                \
		.what = "an export", .gave_up = "cannot export"                          \
	}
/* Take what a try returned; a failed one prints a message, and a pause follows. Returns
 * 0, or STATUS_FAILED where it is time to give up, said. */
int session_try(struct otelprof *p, struct tries *t, int r);

/* Called between polls. Returns true to end the session. */
typedef bool (*session_fn)(void *data);
/*
 * Poll until a signal, the end of @o's time, or @done. Exports every @window seconds,
 * give or take a tenth, so that the hosts of a fleet do not all send at once; the first
 * time after at most half a second. Shows progress on a terminal if @show. Returns 0, or
 * STATUS_FAILED after a message.
 */
int session_run(struct otelprof *p, const struct options *o, double window, bool show,
		session_fn done, void *data);
/* Stop, process what is left, export, and flush within @timeout_ms. -1: without end, or
 * until a signal. */
int session_close(struct otelprof *p, int timeout_ms);
/* "taken 10 = exported 7 + filtered 2 + dropped 1 (ring 1)" */
void print_accounting(FILE *f, struct otelprof *p);
/* Print " (ring 3, memory 1)", or nothing. */
void print_drop_reasons(FILE *f, struct otelprof *p);
/* Print the outcome of the stacks: complete, cut, broken by reason. */
void print_stacks(FILE *f, struct otelprof *p);
/* Print why there is no sample; @command: of a program that was run. Returns STATUS_FAILED. */
int fail_no_samples(struct otelprof *p, const struct options *o, bool command);

#endif
