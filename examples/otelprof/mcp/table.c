/* SPDX-License-Identifier: Apache-2.0 */
/* The table of tools. */
#include <limits.h>

#include "base/macros.h"
#include "mcp/tools.h"

enum {
	SECONDS_MAX = 60,
	HZ_MAX = 1000,
	LINES_MAX = 200,
};

/* clang-format off */
#define FILE_ARGUMENT                                                                    \
	{ "file", ARGUMENT_FILE, NULL, "Path of a recording (OTLP), for example the one that record answers", true }
#define LINES_ARGUMENT                                                                   \
	{ "lines", ARGUMENT_NUMBER, "--rows", "The most lines to answer", false, 1, LINES_MAX }
#define USER_ARGUMENTS                                                                   \
	{ "user", ARGUMENT_TEXT, "--user", "Only processes of this user, by name or number" }, \
	{ "cgroup", ARGUMENT_TEXT, "--cgroup", "Only processes of this control group and of those below it, by its path" }
#define CHOICE_ARGUMENTS                                                                 \
	{ "pid", ARGUMENT_NUMBER, "--pid", "Only this process", false, 1, INT_MAX },      \
	{ "tree", ARGUMENT_NUMBER, "--tree", "Only this process and its descendants", false, 1, INT_MAX }, \
	{ "container", ARGUMENT_TEXT, "--container", "Only this container, by the first digits of its id or by name" }, \
	USER_ARGUMENTS
/* Arguments of report, callers, callees and diff. */
#define FILTER_ARGUMENTS                                                                 \
	{ "kind", ARGUMENT_TEXT, "--kind", "Samples of one kind only, named as in the kinds of record: locks, off_cpu, heap" }, \
	{ "pid", ARGUMENT_NUMBER, "--pid", "Only this process", false, 0, INT_MAX },      \
	{ "program", ARGUMENT_TEXT, "--program", "Only processes of this name" },         \
	{ "thread", ARGUMENT_TEXT, "--thread", "Only threads of this name or number" },   \
	{ "container", ARGUMENT_TEXT, "--container", "Only this container, by the first digits of its id or by name" }, \
	{ "pod", ARGUMENT_TEXT, "--pod", "Only this pod of Kubernetes, by its UID" },    \
	USER_ARGUMENTS,                                                                  \
	{ "focus", ARGUMENT_TEXTS, "--focus", "Only stacks with a frame whose function, module or source file matches this regular expression" }, \
	{ "ignore", ARGUMENT_TEXTS, "--ignore", "No stacks with such a frame" },          \
	{ "hide", ARGUMENT_TEXTS, "--hide", "All stacks, without such frames: those of an interpreter, as ^libpython" }, \
	{ "label", ARGUMENT_TEXTS, "--label", "Only samples with this attribute, KEY=VALUE, of their own (off_cpu.reason=futex) or of their process" }, \
	{ "trace", ARGUMENT_TEXT, "--trace", "Only this trace, by its id in hexadecimal digits" }, \
	{ "span", ARGUMENT_TEXT, "--span", "Only this span" },                            \
	{ "from", ARGUMENT_TEXT, "--from", "Only from this time on: seconds after the start, or 14:30:05" }, \
	{ "to", ARGUMENT_TEXT, "--to", "Only before this time" }
#define BY "function, line, file, module, program, container, service, "

const struct tool tools_table[] = {
	{
		.name = "record",
		.description = "Profile this host, or some processes, for some seconds, and report "
			       "where the time went: of a whole host by program first. Answers the "
			       "path of the recording too, for the other tools. For waits take the "
			       "kinds off_cpu or locks, and dump for a program that hangs.",
		.command = { "record", "--no-keep" },
		.arguments = {
			{ "seconds", ARGUMENT_NUMBER, "--duration",
			  "How long (default 10)", false, 1, SECONDS_MAX },
			CHOICE_ARGUMENTS,
			{ "frequency", ARGUMENT_NUMBER, "--frequency",
			  "Samples a second and CPU (default 99)", false, 1, HZ_MAX },
			{ "comm", ARGUMENT_TEXT, "--comm", "Only threads of this name" },
			{ "kinds", ARGUMENT_KINDS, "--kinds",
			  "Kinds of samples, with commas: cpu, off_cpu (waits), locks, block_io, "
			  "page_faults, heap, wall, ..." },
		},
		.answer = ANSWER_RECORD,
		.seconds = 90,
	},
	{
		.name = "dump",
		.description = "What all threads of processes do at this moment: stacks in any "
			       "language with lines, states, and what each waits for. For a program "
			       "that hangs.",
		.command = { "dump" },
		.arguments = {
			CHOICE_ARGUMENTS,
			{ "program", ARGUMENT_TEXT, "--program", "Only processes of this name" },
			{ "all", ARGUMENT_FLAG, "--all", "Also frames of the kernel and of runtimes" },
		},
		.seconds = 30,
	},
	{
		.name = "top",
		.description = "The functions that take the CPUs now, by process, over a few seconds.",
		.command = { "top", "--json", "--once" },
		.arguments = {
			{ "seconds", ARGUMENT_NUMBER, "--duration",
			  "How long (default 5)", false, 1, SECONDS_MAX },
			LINES_ARGUMENT,
			CHOICE_ARGUMENTS,
			{ "kinds", ARGUMENT_KINDS, "--kinds", "Kinds of samples, as for record" },
		},
		.answer = ANSWER_JSON,
		.seconds = 90,
	},
	{
		.name = "report",
		.description = "Where the time of a recording went: hottest path, functions, calls, "
			       "and what is missing; of all of it, or of a part.",
		.command = { "report", "--no-lines-cache" },
		.arguments = {
			FILE_ARGUMENT,
			{ "by", ARGUMENT_TEXT, "--by",
			  "Rows by " BY "process, thread, trace or label:KEY" },
			{ "tree", ARGUMENT_FLAG, "--tree", "The tree of calls, no rows" },
			FILTER_ARGUMENTS,
			LINES_ARGUMENT,
		},
		.answer = ANSWER_REPORT,
		.seconds = 60,
	},
	{
		.name = "callers",
		.description = "Who calls a function of a recording: with the kind locks, who waits.",
		.command = { "report", "--no-lines-cache" },
		.arguments = {
			FILE_ARGUMENT,
			{ "function", ARGUMENT_TEXT, "--callers", "Its name, or a part of it", true },
			FILTER_ARGUMENTS,
			LINES_ARGUMENT,
		},
		.answer = ANSWER_REPORT,
		.seconds = 60,
	},
	{
		.name = "callees",
		.description = "What a function of a recording calls.",
		.command = { "report", "--no-lines-cache" },
		.arguments = {
			FILE_ARGUMENT,
			{ "function", ARGUMENT_TEXT, "--callees", "Its name, or a part of it", true },
			FILTER_ARGUMENTS,
			LINES_ARGUMENT,
		},
		.answer = ANSWER_REPORT,
		.seconds = 60,
	},
	{
		.name = "diff",
		.description = "What grew and what shrank from one recording to another.",
		.command = { "diff", "--no-lines-cache" },
		.arguments = {
			{ "before", ARGUMENT_FILE, NULL, "Path of the first recording", true },
			{ "after", ARGUMENT_FILE, NULL, "Path of the second recording", true },
			{ "by", ARGUMENT_TEXT, "--by", "Rows by " BY "or label:KEY" },
			FILTER_ARGUMENTS,
			LINES_ARGUMENT,
		},
		.answer = ANSWER_REPORT,
		.seconds = 60,
	},
	{
		.name = "doctor",
		.description = "What of the profiler works on this machine, and what is missing.",
		.command = { "doctor" },
		.seconds = 30,
	},
};
/* clang-format on */
const size_t tools_table_len = OP_ARRAY_SIZE(tools_table);
