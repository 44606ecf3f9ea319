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

/* The options of every command that profiles. */
struct options {
	const char *command;
	uint32_t rate_hz;
	bool rate_given;			     /* rate_hz is no default */
	double seconds;				     /* 0: until a signal */
	uint64_t kinds;				     /* OTELPROF_KIND_*; 0: the default */
	const char *layouts_dir;		     /* NULL: none */
	uint32_t cpu_budget_permille;		     /* 0: none */
	const char *service_name;		     /* NULL: each executable's */
	const struct otelprof_attribute *attributes; /* valid until the program ends */
	size_t attributes_len;
	int verbose;
	const char *config_path; /* of --config; NULL: none */
	/* what no option says; NULL: nothing. Borrowed until session_open() returns */
	const struct otelprof_settings *settings;
	struct otelprof_rule rules[OPTION_RULES_MAX]; /* texts as those of attributes */
	size_t rules_len;
	size_t includes; /* of them, by options that include: they come first */
	const char *probes[OTELPROF_PROBES_MAX]; /* valid until the program ends */
	size_t probes_len;
	/* Settings of struct otelprof_config; 0: its default. */
	uint64_t flags;
	uint64_t runtimes_off;
	uint64_t memory_budget_bytes;
	uint64_t symbol_budget_bytes;
	uint64_t memory_limit_bytes;
	uint64_t off_cpu_min_ns;
	uint32_t max_frames;
	const char *environment[OTELPROF_ENVIRONMENT_MAX];
	size_t environment_len;
};

#define SHARED_SHORT "hvd:F:p:"
enum {
	OPTION_CGROUP = 256,
	OPTION_CONTAINER,
	OPTION_POD,
	OPTION_COMM,
	OPTION_KINDS,
	OPTION_TREE,
	OPTION_USER,
	OPTION_EXCLUDE,
	OPTION_RULE,
	OPTION_LAYOUTS,
	OPTION_CPU_BUDGET,
	OPTION_SERVICE_NAME,
	OPTION_ATTRIBUTE,
	OPTION_ALL_KERNEL,
	OPTION_ALL_USER,
	OPTION_IDLE,
	OPTION_WAKERS,
	OPTION_AWAIT_CHAINS,
	OPTION_MAX_FRAMES,
	OPTION_NO_RUNTIME,
	OPTION_NO_NATIVE_NAMES,
	OPTION_OFF_CPU_MIN,
	OPTION_MEMORY_BUDGET,
	OPTION_MEMORY_LIMIT,
	OPTION_SYMBOL_BUDGET,
	OPTION_COMMAND_LINE,
	OPTION_ENVIRONMENT,
	OPTION_CONFIG,
	OPTION_OWN
};
#define SHARED_LONG                                                                      \
	{ "help", no_argument, NULL, 'h' }, { "verbose", no_argument, NULL, 'v' },       \
		{ "duration", required_argument, NULL, 'd' },                            \
		{ "frequency", required_argument, NULL, 'F' },                           \
		{ "pid", required_argument, NULL, 'p' },                                 \
		{ "cgroup", required_argument, NULL, OPTION_CGROUP },                    \
		{ "container", required_argument, NULL, OPTION_CONTAINER },              \
		{ "pod", required_argument, NULL, OPTION_POD },                          \
		{ "kinds", required_argument, NULL, OPTION_KINDS },                      \
		{ "kind", required_argument, NULL, OPTION_KINDS },                       \
		{ "tree", required_argument, NULL, OPTION_TREE },                        \
		{ "user", required_argument, NULL, OPTION_USER },                        \
		{ "exclude", required_argument, NULL, OPTION_EXCLUDE },                  \
		{ "rule", required_argument, NULL, OPTION_RULE },                        \
		{ "layouts", required_argument, NULL, OPTION_LAYOUTS },                  \
		{ "cpu-budget", required_argument, NULL, OPTION_CPU_BUDGET },            \
		{ "service-name", required_argument, NULL, OPTION_SERVICE_NAME },        \
		{ "attribute", required_argument, NULL, OPTION_ATTRIBUTE },              \
		{ "all-kernel", no_argument, NULL, OPTION_ALL_KERNEL },                  \
		{ "all-user", no_argument, NULL, OPTION_ALL_USER },                      \
		{ "idle", no_argument, NULL, OPTION_IDLE },                              \
		{ "wakers", no_argument, NULL, OPTION_WAKERS },                          \
		{ "await-chains", no_argument, NULL, OPTION_AWAIT_CHAINS },              \
		{ "max-frames", required_argument, NULL, OPTION_MAX_FRAMES },            \
		{ "no-runtime", required_argument, NULL, OPTION_NO_RUNTIME },            \
		{ "no-native-names", no_argument, NULL, OPTION_NO_NATIVE_NAMES },        \
		{ "off-cpu-min", required_argument, NULL, OPTION_OFF_CPU_MIN },          \
		{ "memory-budget", required_argument, NULL, OPTION_MEMORY_BUDGET },      \
		{ "symbol-budget", required_argument, NULL, OPTION_SYMBOL_BUDGET },      \
		{ "memory-limit", required_argument, NULL, OPTION_MEMORY_LIMIT },        \
		{ "command-line", no_argument, NULL, OPTION_COMMAND_LINE },              \
		{ "environment", required_argument, NULL, OPTION_ENVIRONMENT },          \
		{ "config", required_argument, NULL, OPTION_CONFIG },                    \
	{                                                                                \
		"comm", required_argument, NULL, OPTION_COMM                             \
	}
extern const char shared_help[];
/* How rules are judged, the same everywhere. */
#define RULES_SENTENCE                                                                      \
	"Of the rules that match a process, the last to include or exclude decides\n"       \
	"whether it is sampled and the last with a rate decides how often, and a process\n" \
	"that no rule includes or excludes is sampled only if no rule includes.\n"

/* Parse an option that commands share. Returns 0, or STATUS_USAGE after a message. */
int options_take(struct options *o, int c, const char *arg);
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

/* Catch the first SIGINT or SIGTERM, which signal_seen() returns; the second one ends the
 * program. */
void signals_catch(void);
int signal_seen(void);

/* Read the file of --config, if there is one, and the environment above it. Returns 0, or
 * STATUS_FAILED after a message. */
int session_settings(const char *path, struct otelprof_settings **ret);
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
/* Take what a try returned; one that failed is told of, and followed by a pause. Returns 0, or
 * STATUS_FAILED where it is time to give up, said. */
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
/* Stop, process what is left, export, and flush within @timeout_ms. -1: without end, but for a
 * signal that comes meanwhile. */
int session_close(struct otelprof *p, int timeout_ms);
/* "taken 10 = exported 7 + filtered 2 + dropped 1 (ring 1)" */
void print_accounting(FILE *f, struct otelprof *p);
/* Print the outcome of the stacks: complete, cut, broken by reason. */
void print_stacks(FILE *f, struct otelprof *p);
/* Print why there is no sample; @command: of a program that was run. Returns STATUS_FAILED. */
int fail_no_samples(struct otelprof *p, const struct options *o, bool command);

#endif
