/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tools of `otelprof mcp`. Each runs this program again with its own arguments. So
 * an assistant gets the same output as a person, and a failure of one call ends only
 * that call. The host is not changed, except for a directory of recordings, which is
 * removed at the end.
 */
#ifndef OTELPROF_MCP_TOOLS_H
#define OTELPROF_MCP_TOOLS_H

#include <json-c/json.h>
#include <stdbool.h>

#include "base/strbuf.h"

/* A descriptor to be read while a program runs, and the function that reads it. */
struct meanwhile {
	int fd; /* -1: none */
	/* Returns false to end the program; may set fd to -1. */
	bool (*fn)(void *data, struct meanwhile *m);
	void *data;
};

struct tools {
	char *program;	 /* path of this program */
	char *directory; /* for recordings; NULL before the first one */
	unsigned int recordings;
	struct recording_paths *paths;
	bool probes; /* kinds may be probes and events of perf */
	struct meanwhile meanwhile;
};

/* Returns 0, or STATUS_FAILED after a message. */
int tools_init(struct tools *t);
/* Removes the recordings. */
void tools_deinit(struct tools *t);

/* The answer to tools/list: an array, owned by the caller. NULL without memory. */
struct json_object *tools_list(const struct tools *t);
bool tools_know(const char *name);
/* Call a tool. @arguments may be NULL. @ret gets its text, or a sentence about the
 * error. *@ret_data is an object that the caller owns, or stays NULL. Returns true on
 * success. */
bool tools_call(struct tools *t, const char *name, struct json_object *arguments,
		struct op_strbuf *ret, struct json_object **ret_data);

/* The table. */

enum argument_type {
	ARGUMENT_TEXT,
	ARGUMENT_TEXTS, /* one text, or a list: the option is repeated */
	ARGUMENT_KINDS,
	ARGUMENT_NUMBER,
	ARGUMENT_FLAG,
	ARGUMENT_FILE,
};

/* An argument of a tool; it becomes an option of the command, or a file after the
 * options. */
struct argument {
	const char *name;
	enum argument_type type;
	const char *option; /* NULL: it is a file */
	const char *description;
	bool required;
	long long min;
	long long max;
};

enum tool_answer {
	ANSWER_TEXT,
	ANSWER_JSON,   /* what the command prints is JSON */
	ANSWER_REPORT, /* it reads a recording: adds the next calls, and JSON */
	ANSWER_RECORD, /* it makes a recording, then does the same */
};

struct tool {
	const char *name;
	const char *description;
	const char *command[4]; /* the words after the program's name */
	struct argument arguments[24];
	enum tool_answer answer;
	double seconds; /* time limit in addition to the time of recording */
};

extern const struct tool tools_table[];
extern const size_t tools_table_len;

/* Replace the next commands in @text, a report of @file, by calls of tools. Put them
 * into @data, which is the same report as JSON, with the programs if all were recorded.
 * @programs: a report by program, or NULL. @pid: the process that was just recorded, or
 * NULL. */
void tools_add_next(struct op_strbuf *text, struct json_object *data, const char *file,
		    struct json_object *programs, struct json_object *pid);
/* Add the next calls for the process to @text, the message of a recording that failed. */
void tools_add_dump(struct op_strbuf *text, struct json_object *pid);

/* Runs a program and keeps its output. */

/*
 * Run @argv for at most @seconds. Its output is added to @ret, cut at a limit with a
 * sentence; after a failure its standard error is added, too. Returns true if it exited
 * with 0.
 */
bool run_program(char **argv, double seconds, struct meanwhile *meanwhile,
		 struct op_strbuf *ret);

#endif
