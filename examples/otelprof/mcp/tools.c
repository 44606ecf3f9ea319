/* SPDX-License-Identifier: Apache-2.0 */
/* The table of tools, and how a call becomes a command line of this program. */
#include "mcp/tools.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "common.h"
#include "mcp/tools.h"

enum {
	SECONDS_MAX = 60,
	SECONDS_DEFAULT = 10,
	HZ_MAX = 1000,
	LINES_MAX = 200,
	RECORDINGS_MAX = 16, /* kept at once; the oldest is removed */
	ARGUMENTS_MAX = 24,
	TEXT_MAX = 64,
};

enum argument_type {
	ARGUMENT_TEXT,
	ARGUMENT_KINDS,
	ARGUMENT_NUMBER,
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

struct tool {
	const char *name;
	const char *description;
	const char *command[4]; /* the words after the program's name */
	struct argument arguments[8];
	bool records;	/* makes a recording and reports on it */
	double seconds; /* time limit in addition to the time of recording */
};

#define FILE_ARGUMENT                                                                    \
	{                                                                                \
		"file", ARGUMENT_FILE, NULL,                                             \
			"Path of a recording (OTLP), such as record answers", true       \
	}
#define PID_ARGUMENT(min)                                                                \
	{                                                                                \
		"pid", ARGUMENT_NUMBER, "--pid", "Only this process", false, min,        \
			INT_MAX                                                          \
	}
#define LINES_ARGUMENT                                                                   \
	{                                                                                \
		"lines", ARGUMENT_NUMBER, "--lines", "At most so many lines", false, 1,  \
			LINES_MAX                                                        \
	}

static const struct tool all[] = {
	{
		.name = "record",
		.description = "Profile this host, or one process, for some seconds, and "
			       "report where the time went. Answers the path of the "
			       "recording too, for the other tools.",
		.command = { "record" },
		.arguments = {
			{ "seconds", ARGUMENT_NUMBER, "--duration",
			  "How long; 10 where it is left out", false, 1, SECONDS_MAX },
			PID_ARGUMENT(1),
			{ "frequency", ARGUMENT_NUMBER, "--frequency",
			  "Samples a second and CPU; 99 where it is left out", false, 1,
			  HZ_MAX },
			{ "comm", ARGUMENT_TEXT, "--comm", "Only threads of this name" },
			{ "kinds", ARGUMENT_KINDS, "--kinds",
			  "Kinds of samples, with commas: cpu, page_faults, ..." },
		},
		.records = true,
		.seconds = 90,
	},
	{
		.name = "top",
		.description = "The functions that take the CPUs now, by process, over "
			       "a few seconds.",
		.command = { "top", "--json", "--once" },
		.arguments = {
			{ "seconds", ARGUMENT_NUMBER, "--duration",
			  "How long; 5 where it is left out", false, 1, SECONDS_MAX },
			LINES_ARGUMENT,
			PID_ARGUMENT(1),
		},
		.seconds = 90,
	},
	{
		.name = "report",
		.description = "Where the time of a recording went: hottest path, "
			       "functions, calls, and what is missing.",
		.command = { "report", "--format=markdown", "--no-lines-cache" },
		.arguments = {
			FILE_ARGUMENT,
			{ "by", ARGUMENT_TEXT, "--by",
			  "Rows by function, module, process, program, thread, container "
			  "or service" },
			{ "kind", ARGUMENT_TEXT, "--kind", "Type of the samples" },
			PID_ARGUMENT(0),
			{ "program", ARGUMENT_TEXT, "--program",
			  "Only processes of this name" },
			LINES_ARGUMENT,
		},
		.seconds = 60,
	},
	{
		.name = "callers",
		.description = "Who calls a function of a recording.",
		.command = { "report", "--format=markdown", "--no-lines-cache" },
		.arguments = {
			FILE_ARGUMENT,
			{ "function", ARGUMENT_TEXT, "--callers",
			  "Its name, or a part of it", true },
			LINES_ARGUMENT,
		},
		.seconds = 60,
	},
	{
		.name = "callees",
		.description = "What a function of a recording calls.",
		.command = { "report", "--format=markdown", "--no-lines-cache" },
		.arguments = {
			FILE_ARGUMENT,
			{ "function", ARGUMENT_TEXT, "--callees",
			  "Its name, or a part of it", true },
			LINES_ARGUMENT,
		},
		.seconds = 60,
	},
	{
		.name = "diff",
		.description = "What grew and what shrank from one recording to another.",
		.command = { "diff", "--format=markdown" },
		.arguments = {
			{ "before", ARGUMENT_FILE, NULL, "Path of the first recording", true },
			{ "after", ARGUMENT_FILE, NULL, "Path of the second recording", true },
			{ "by", ARGUMENT_TEXT, "--by",
			  "Rows by function, module, program, container or service" },
			{ "kind", ARGUMENT_TEXT, "--kind", "Type of the samples" },
			LINES_ARGUMENT,
		},
		.seconds = 60,
	},
	{
		.name = "doctor",
		.description = "What of the profiler works on this machine, and what is "
			       "missing.",
		.command = { "doctor" },
		.seconds = 30,
	},
};

/* A command line under construction. */
struct line {
	const char *words[ARGUMENTS_MAX + 1];
	char numbers[ARGUMENTS_MAX][TEXT_MAX];
	size_t len;
};

static const struct tool *find(const char *name)
{
	size_t i;

	for (i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		if (strcmp(all[i].name, name) == 0)
			return &all[i];
	}
	return NULL;
}

bool tools_know(const char *name)
{
	return find(name) != NULL;
}

static void put_text(struct json_object *o, const char *key, const char *text)
{
	json_object_object_add(o, key, json_object_new_string(text));
}

static struct json_object *describe_arguments(const struct tool *tool)
{
	struct json_object *schema = json_object_new_object();
	struct json_object *properties = json_object_new_object();
	struct json_object *required = json_object_new_array();
	const struct argument *a;
	struct json_object *p;

	for (a = tool->arguments; a->name; a++) {
		p = json_object_new_object();
		put_text(p, "type", a->type == ARGUMENT_NUMBER ? "integer" : "string");
		put_text(p, "description", a->description);
		if (a->type == ARGUMENT_NUMBER) {
			json_object_object_add(p, "minimum",
					       json_object_new_int64(a->min));
			json_object_object_add(p, "maximum",
					       json_object_new_int64(a->max));
		}
		json_object_object_add(properties, a->name, p);
		if (a->required)
			json_object_array_add(required, json_object_new_string(a->name));
	}
	put_text(schema, "type", "object");
	json_object_object_add(schema, "properties", properties);
	json_object_object_add(schema, "required", required);
	json_object_object_add(schema, "additionalProperties",
			       json_object_new_boolean(false));
	return schema;
}

struct json_object *tools_list(void)
{
	struct json_object *list = json_object_new_array(), *tool, *hints;
	size_t i;

	for (i = 0; i < sizeof(all) / sizeof(all[0]); i++) {
		tool = json_object_new_object();
		hints = json_object_new_object();
		put_text(tool, "name", all[i].name);
		put_text(tool, "description", all[i].description);
		json_object_object_add(tool, "inputSchema", describe_arguments(&all[i]));
		json_object_object_add(hints, "readOnlyHint",
				       json_object_new_boolean(true));
		json_object_object_add(tool, "annotations", hints);
		json_object_array_add(list, tool);
	}
	return list;
}

static void add_word(struct line *l, const char *word)
{
	if (l->len < ARGUMENTS_MAX)
		l->words[l->len++] = word;
}

/* Add an argument. Returns NULL, or what is wrong with its value. */
static const char *add_argument(struct line *l, const struct argument *a,
				struct json_object *value)
{
	const char *text;
	struct stat st;
	int64_t n;

	if (a->type == ARGUMENT_NUMBER) {
		if (!json_object_is_type(value, json_type_int))
			return "must be an integer";
		n = json_object_get_int64(value);
		if (n < a->min || n > a->max)
			return "is out of its range";
		(void)snprintf(l->numbers[l->len], TEXT_MAX, "%" PRId64, n);
		text = l->numbers[l->len];
	} else {
		if (!json_object_is_type(value, json_type_string))
			return "must be a string";
		text = json_object_get_string(value);
		if (strlen(text) != (size_t)json_object_get_string_len(value) || !*text)
			return "must be text without a zero byte";
		/* Probes and events of perf have a ':', and change what they look at. */
		if (a->type == ARGUMENT_KINDS && strchr(text, ':'))
			return "takes kinds by their names: no probe, no event of perf";
		if (a->type == ARGUMENT_FILE && stat(text, &st) == 0 &&
		    !S_ISREG(st.st_mode))
			return "must be a file";
	}
	if (a->option)
		add_word(l, a->option);
	add_word(l, text);
	return NULL;
}

/* An argument that a tool has not would be left out in silence, and the answer be another one
 * than was asked for. */
static bool check_names(const struct tool *tool, struct json_object *arguments,
			struct op_strbuf *ret)
{
	struct json_object_iterator i, end;
	const struct argument *a;
	const char *name;

	if (!arguments)
		return true;
	i = json_object_iter_begin(arguments);
	end = json_object_iter_end(arguments);
	for (; !json_object_iter_equal(&i, &end); json_object_iter_next(&i)) {
		name = json_object_iter_peek_name(&i);
		for (a = tool->arguments; a->name && strcmp(a->name, name) != 0; a++)
			;
		if (a->name)
			continue;
		op_strbuf_printf(ret, "%s has no argument %s", tool->name,
				 strlen(name) < TEXT_MAX ? name : "of that name");
		for (a = tool->arguments; a->name; a++)
			op_strbuf_printf(ret, "%s%s",
					 a == tool->arguments ? "; it takes " : ", ",
					 a->name);
		return false;
	}
	return true;
}

/* Add the words for @arguments: options first, then "--" and the files in order. */
static bool add_arguments(struct line *l, const struct tool *tool,
			  struct json_object *arguments, struct op_strbuf *ret)
{
	const struct argument *a;
	struct json_object *value;
	const char *wrong;
	int files;

	for (files = 0; files < 2; files++) {
		if (files)
			add_word(l, "--");
		for (a = tool->arguments; a->name; a++) {
			if ((a->type == ARGUMENT_FILE) != files)
				continue;
			if (!json_object_object_get_ex(arguments, a->name, &value)) {
				if (!a->required)
					continue;
				op_strbuf_printf(ret, "%s needs the argument %s",
						 tool->name, a->name);
				return false;
			}
			wrong = add_argument(l, a, value);
			if (wrong) {
				op_strbuf_printf(ret, "the argument %s of %s %s", a->name,
						 tool->name, wrong);
				return false;
			}
		}
	}
	return true;
}

/* A path for a new recording; the oldest recording makes room. */
static char *new_recording(struct tools *t)
{
	_cleanup_free_ char *old = NULL;
	char *path = NULL;

	if (!t->directory) {
		t->directory = strdup("/tmp/otelprof-mcp-XXXXXX");
		if (!t->directory || !mkdtemp(t->directory)) {
			free(t->directory);
			t->directory = NULL;
			return NULL;
		}
	}
	if (t->recordings >= RECORDINGS_MAX &&
	    asprintf(&old, "%s/%u.otlp", t->directory, t->recordings - RECORDINGS_MAX) >
		    0)
		(void)unlink(old);
	if (asprintf(&path, "%s/%u.otlp", t->directory, t->recordings) < 0)
		return NULL;
	t->recordings++;
	return path;
}

static bool run_words(const struct tools *t, const struct line *l, double seconds,
		      struct op_strbuf *ret)
{
	char *argv[ARGUMENTS_MAX + 2] = { t->program };
	size_t i;

	for (i = 0; i < l->len; i++)
		argv[i + 1] = (char *)l->words[i];
	return run_program(argv, seconds, ret);
}

static bool report_recording(const struct tools *t, const char *path,
			     struct op_strbuf *ret)
{
	struct line l = {
		.words = { "report", "--format=markdown", "--no-lines-cache", path },
		.len = 4,
	};

	op_strbuf_reset(ret);
	op_strbuf_printf(ret, "The recording is %s\n\n", path);
	return run_words(t, &l, SECONDS_MAX, ret);
}

bool tools_call(struct tools *t, const char *name, struct json_object *arguments,
		struct op_strbuf *ret)
{
	const struct tool *tool = find(name);
	_cleanup_free_ char *path = NULL;
	struct line l = { .len = 0 };
	size_t i;

	if (!check_names(tool, arguments, ret))
		return false;
	for (i = 0; tool->command[i]; i++)
		add_word(&l, tool->command[i]);
	if (tool->records) {
		path = new_recording(t);
		if (!path) {
			op_strbuf_printf(ret, "there is no place for a recording: %s",
					 strerror(errno));
			return false;
		}
		add_word(&l, "-o");
		add_word(&l, path);
	}
	if (!add_arguments(&l, tool, arguments, ret))
		return false;
	/* A trailing "--" would mean that a command follows. */
	if (strcmp(l.words[l.len - 1], "--") == 0)
		l.len--;
	if (!run_words(t, &l, tool->seconds, ret))
		return false;
	return !tool->records || report_recording(t, path, ret);
}

int tools_init(struct tools *t)
{
	char path[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);

	*t = (struct tools){ 0 };
	if (n <= 0)
		return fail("cannot find this program: %s", strerror(errno));
	path[n] = 0;
	t->program = strdup(path);
	return t->program ? 0 : fail("out of memory");
}

void tools_deinit(struct tools *t)
{
	_cleanup_closedir_ DIR *dir = t->directory ? opendir(t->directory) : NULL;
	struct dirent *e;

	while (dir && (e = readdir(dir)))
		(void)unlinkat(dirfd(dir), e->d_name, 0);
	if (t->directory)
		(void)rmdir(t->directory);
	free(t->directory);
	free(t->program);
}
