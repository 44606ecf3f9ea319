/* SPDX-License-Identifier: Apache-2.0 */
/* Turns a call of a tool into a command line of this program, and its output into an
 * answer. */
#include "mcp/tools.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "common.h"
#include "mcp/tools.h"
#include "recording/read/requests.h"

enum {
	REPORT_SECONDS = 60,
	RECORDINGS_MAX = 16, /* recordings at once; the oldest is removed */
	ARGUMENTS_MAX = 64,
	TEXT_MAX = 64,
};

/* A command line under construction. */
struct line {
	const char *words[ARGUMENTS_MAX + 1];
	char numbers[ARGUMENTS_MAX][TEXT_MAX];
	char why[TEXT_MAX]; /* what is wrong with an argument */
	size_t len;
};

static const struct tool *find(const char *name)
{
	size_t i;

	for (i = 0; i < tools_table_len; i++) {
		if (strcmp(tools_table[i].name, name) == 0)
			return &tools_table[i];
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

static const char *type_of(const struct argument *a)
{
	return a->type == ARGUMENT_NUMBER  ? "integer"
	       : a->type == ARGUMENT_FLAG  ? "boolean"
	       : a->type == ARGUMENT_TEXTS ? "array"
					   : "string";
}

static struct json_object *describe_arguments(const struct tool *tool)
{
	struct json_object *schema = json_object_new_object();
	struct json_object *properties = json_object_new_object();
	struct json_object *required = json_object_new_array();
	const struct argument *a;
	struct json_object *p, *items;

	for (a = tool->arguments; a->name; a++) {
		p = json_object_new_object();
		put_text(p, "type", type_of(a));
		if (a->type == ARGUMENT_TEXTS) {
			items = json_object_new_object();
			put_text(items, "type", "string");
			json_object_object_add(p, "items", items);
		}
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

struct json_object *tools_list(const struct tools *t)
{
	struct json_object *list = json_object_new_array(), *tool, *hints;
	const struct tool *e;

	for (e = tools_table; e < tools_table + tools_table_len; e++) {
		tool = json_object_new_object();
		hints = json_object_new_object();
		put_text(tool, "name", e->name);
		put_text(tool, "description", e->description);
		json_object_object_add(tool, "inputSchema", describe_arguments(e));
		/* A probe changes the program in which it is. */
		json_object_object_add(hints, "readOnlyHint",
				       json_object_new_boolean(
					       !t->probes || e->answer != ANSWER_RECORD));
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

/* The command tells more of a file that is not there. Returns NULL, or what is wrong. */
static const char *check_file(const struct tools *t, const char *path)
{
	int r = recording_paths_look(t->paths, path);

	return r == -ENOTSUP	 ? "must be a file"
	       : r == -ETIMEDOUT ? "is on a file system that does not answer"
				 : NULL;
}

/* Add a text of an argument. Returns NULL, or what is wrong with it. */
static const char *add_text(const struct tools *t, struct line *l,
			    const struct argument *a, struct json_object *value)
{
	const char *text = json_object_get_string(value);

	if (!json_object_is_type(value, json_type_string))
		return "must be a string";
	if (strlen(text) != (size_t)json_object_get_string_len(value) || !*text)
		return "must be text without a zero byte";
	/* Probes and events of perf have a ':', and change what they measure. */
	if (a->type == ARGUMENT_KINDS && !t->probes &&
	    (strchr(text, ':') || strstr(text, "probes")))
		return "takes kinds by their names: no probe, no event of perf, which "
		       "'otelprof mcp --probes' allows";
	if (a->option)
		add_word(l, a->option);
	add_word(l, text);
	return a->type == ARGUMENT_FILE ? check_file(t, text) : NULL;
}

static const char *add_number(struct line *l, const struct argument *a,
			      struct json_object *value)
{
	int64_t n = json_object_get_int64(value);

	if (!json_object_is_type(value, json_type_int))
		return "must be an integer";
	if (n < a->min || n > a->max) {
		(void)snprintf(l->why, sizeof(l->why),
			       "is out of its range, %lld to %lld", a->min, a->max);
		return l->why;
	}
	if (l->len >= ARGUMENTS_MAX)
		return "is one too many";
	(void)snprintf(l->numbers[l->len], TEXT_MAX, "%" PRId64, n);
	add_word(l, a->option);
	add_word(l, l->numbers[l->len - 1]);
	return NULL;
}

/* Add an argument. Returns NULL, or what is wrong with its value. */
static const char *add_argument(const struct tools *t, struct line *l,
				const struct argument *a, struct json_object *value)
{
	const char *wrong = NULL;
	size_t i;

	if (a->type == ARGUMENT_NUMBER)
		return add_number(l, a, value);
	if (a->type == ARGUMENT_FLAG) {
		if (!json_object_is_type(value, json_type_boolean))
			return "must be true or false";
		if (json_object_get_boolean(value))
			add_word(l, a->option);
		return NULL;
	}
	if (a->type != ARGUMENT_TEXTS || !json_object_is_type(value, json_type_array))
		return add_text(t, l, a, value);
	for (i = 0; !wrong && i < json_object_array_length(value); i++)
		wrong = l->len + 2 > ARGUMENTS_MAX
				? "has too many texts"
				: add_text(t, l, a, json_object_array_get_idx(value, i));
	return wrong;
}

/* An argument that a tool does not have must not be ignored: the answer would be
 * another one than the assistant wants. */
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
static bool add_arguments(const struct tools *t, struct line *l, const struct tool *tool,
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
			wrong = add_argument(t, l, a, value);
			if (wrong) {
				op_strbuf_printf(ret, "the argument %s of %s %s", a->name,
						 tool->name, wrong);
				return false;
			}
		}
	}
	return true;
}

/* A path for a new recording. Removes the oldest one if there are too many. */
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

static bool run_words(struct tools *t, const struct line *l, double seconds,
		      struct op_strbuf *ret)
{
	char *argv[ARGUMENTS_MAX + 2] = { t->program };
	size_t i;

	for (i = 0; i < l->len; i++)
		argv[i + 1] = (char *)l->words[i];
	return run_program(argv, seconds, &t->meanwhile, ret);
}

/* The line with --format=@format behind the command's name. */
static struct line with_format(const struct line *l, const char *format)
{
	struct line ret = *l;

	if (ret.len < ARGUMENTS_MAX) {
		memmove(ret.words + 2, ret.words + 1, (ret.len - 1) * sizeof(*ret.words));
		ret.words[1] = format;
		ret.len++;
	}
	return ret;
}

/* The command's output as JSON. NULL if it fails. */
static struct json_object *run_json(struct tools *t, const struct line *l)
{
	_cleanup_(op_strbuf_deinit) struct op_strbuf text = { 0 };

	if (!run_words(t, l, REPORT_SECONDS, &text))
		return NULL;
	op_strbuf_add(&text, "", 1);
	return text.failed ? NULL : json_tokener_parse(text.data);
}

/* Answer with the report of the line: as Markdown, and as an object. @by_program: with
 * programs. @pid: as for tools_add_next(). */
static bool report(struct tools *t, const struct line *l, const char *file,
		   bool by_program, struct json_object *pid, struct op_strbuf *ret,
		   struct json_object **ret_data)
{
	const struct line as_text = with_format(l, "--format=markdown");
	const struct line as_json = with_format(l, "--format=json");
	const struct line programs = {
		.words = { "report", "--format=json", "--by=program", "--no-lines",
			   file },
		.len = 5,
	};
	struct json_object *data, *found;

	if (!run_words(t, &as_text, REPORT_SECONDS, ret))
		return false;
	data = run_json(t, &as_json);
	if (!data)
		return true;
	/* The text has a shorter tree. */
	json_object_object_del(data, "tree");
	if (!file) {
		*ret_data = data;
		return true;
	}
	found = by_program ? run_json(t, &programs) : NULL;
	tools_add_next(ret, data, file, found, pid);
	json_object_put(found);
	*ret_data = data;
	return true;
}

static struct json_object *argument(struct json_object *arguments, const char *name)
{
	struct json_object *value = NULL;

	return json_object_object_get_ex(arguments, name, &value) ? value : NULL;
}

/* Are all processes recorded? */
static bool is_whole_host(struct json_object *arguments)
{
	static const char *const choices[] = { "pid",  "tree",	 "container",
					       "user", "cgroup", "comm" };
	size_t i;

	for (i = 0; i < sizeof(choices) / sizeof(choices[0]); i++)
		if (argument(arguments, choices[i]))
			return false;
	return true;
}

static bool report_recording(struct tools *t, const char *path,
			     struct json_object *arguments, struct op_strbuf *ret,
			     struct json_object **ret_data)
{
	const struct line l = { .words = { "report", "--no-lines-cache", path },
				.len = 3 };

	op_strbuf_reset(ret);
	op_strbuf_printf(ret, "The recording is %s\n\n", path);
	return report(t, &l, path, is_whole_host(arguments), argument(arguments, "pid"),
		      ret, ret_data);
}

static bool answer(struct tools *t, const struct tool *tool, const struct line *l,
		   struct json_object *arguments, const char *path, struct op_strbuf *ret,
		   struct json_object **ret_data)
{
	struct json_object *file = argument(arguments, "file");
	struct json_object *pid = argument(arguments, "pid");

	if (tool->answer == ANSWER_REPORT)
		return report(t, l, file ? json_object_get_string(file) : NULL, false,
			      NULL, ret, ret_data);
	if (!run_words(t, l, tool->seconds, ret)) {
		if (tool->answer == ANSWER_RECORD && pid)
			tools_add_dump(ret, pid);
		return false;
	}
	if (tool->answer == ANSWER_RECORD)
		return report_recording(t, path, arguments, ret, ret_data);
	if (tool->answer == ANSWER_JSON) {
		op_strbuf_add(ret, "", 1);
		if (!ret->failed) {
			*ret_data = json_tokener_parse(ret->data);
			ret->len--;
		}
	}
	return true;
}

bool tools_call(struct tools *t, const char *name, struct json_object *arguments,
		struct op_strbuf *ret, struct json_object **ret_data)
{
	const struct tool *tool = find(name);
	_cleanup_free_ char *path = NULL;
	struct line l = { .len = 0 };
	size_t i;

	if (!check_names(tool, arguments, ret))
		return false;
	for (i = 0; tool->command[i]; i++)
		add_word(&l, tool->command[i]);
	if (tool->answer == ANSWER_RECORD) {
		path = new_recording(t);
		if (!path) {
			op_strbuf_printf(ret, "there is no place for a recording: %s",
					 strerror(errno));
			return false;
		}
		add_word(&l, "-o");
		add_word(&l, path);
	}
	if (!add_arguments(t, &l, tool, arguments, ret))
		return false;
	/* A trailing "--" would announce a command. */
	if (strcmp(l.words[l.len - 1], "--") == 0)
		l.len--;
	return answer(t, tool, &l, arguments, path, ret, ret_data);
}

int tools_init(struct tools *t)
{
	char path[PATH_MAX];
	ssize_t n = readlink("/proc/self/exe", path, sizeof(path) - 1);

	*t = (struct tools){ .meanwhile = { .fd = -1 } };
	if (n <= 0)
		return fail("cannot find this program: %s", strerror(errno));
	path[n] = 0;
	t->program = strdup(path);
	t->paths = recording_paths_new();
	return t->program && t->paths ? 0 : fail("out of memory");
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
	t->paths = recording_paths_free(t->paths);
}
