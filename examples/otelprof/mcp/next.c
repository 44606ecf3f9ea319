/* SPDX-License-Identifier: Apache-2.0 */
/* Suggests the next calls of tools to an assistant. */
#include <string.h>

#include "mcp/tools.h"

enum {
	PROGRAMS_SHOWN = 8,
};

static struct json_object *member(struct json_object *o, const char *key)
{
	struct json_object *value = NULL;

	return o && json_object_object_get_ex(o, key, &value) ? value : NULL;
}

static struct json_object *first_row(struct json_object *report)
{
	struct json_object *rows = member(report, "rows");

	return rows && json_object_is_type(rows, json_type_array)
		       ? json_object_array_get_idx(rows, 0)
		       : NULL;
}

/* Add a call of @tool with @file, which may be NULL, and the argument @key = @value. */
static void add_call(struct json_object *calls, const char *tool, const char *file,
		     const char *key, struct json_object *value)
{
	struct json_object *call = json_object_new_object();
	struct json_object *arguments = json_object_new_object();

	json_object_object_add(call, "tool", json_object_new_string(tool));
	if (file)
		json_object_object_add(arguments, "file", json_object_new_string(file));
	json_object_object_add(arguments, key, json_object_get(value));
	json_object_object_add(call, "arguments", arguments);
	json_object_array_add(calls, call);
}

/* "web 50.0 %, python 40.0 %" */
static void put_programs(struct op_strbuf *text, struct json_object *programs)
{
	struct json_object *rows = member(programs, "rows"), *row;
	size_t len = rows ? json_object_array_length(rows) : 0, i;

	if (len)
		op_strbuf_puts(text, "\n## Programs\n");
	for (i = 0; i < len && i < PROGRAMS_SHOWN; i++) {
		row = json_object_array_get_idx(rows, i);
		op_strbuf_printf(text, "- %s: %.1f %%\n",
				 json_object_get_string(member(row, "name")),
				 json_object_get_double(member(row, "total_percent")));
	}
}

static void put_calls(struct op_strbuf *text, struct json_object *calls)
{
	size_t len = json_object_array_length(calls), i;
	struct json_object *call;

	op_strbuf_puts(text, "\n## Next\n");
	for (i = 0; i < len; i++) {
		call = json_object_array_get_idx(calls, i);
		op_strbuf_printf(
			text, "- %s %s\n", json_object_get_string(member(call, "tool")),
			json_object_to_json_string_ext(
				member(call, "arguments"),
				JSON_C_TO_STRING_PLAIN | JSON_C_TO_STRING_NOSLASHESCAPE));
	}
}

void tools_add_next(struct op_strbuf *text, struct json_object *data, const char *file,
		    struct json_object *programs, struct json_object *pid)
{
	static const char section[] = "\n## What to ask next";
	struct json_object *calls = json_object_new_array();
	struct json_object *line = json_object_new_string("line");
	struct json_object *by = member(data, "by"), *name;
	char *at;

	op_strbuf_add(text, "", 1);
	at = text->failed ? NULL : strstr(text->data, section);
	if (!text->failed)
		text->len = at ? (size_t)(at - text->data) : text->len - 1;
	put_programs(text, programs);
	name = member(first_row(data), "name");
	if (name && by && strcmp(json_object_get_string(by), "function") == 0) {
		add_call(calls, "callers", file, "function", name);
		add_call(calls, "report", file, "by", line);
	}
	name = member(first_row(programs), "name");
	if (name)
		add_call(calls, "report", file, "program", name);
	if (pid)
		add_call(calls, "dump", NULL, "pid", pid);
	if (json_object_array_length(calls))
		put_calls(text, calls);
	json_object_object_add(data, "file", json_object_new_string(file));
	if (programs)
		json_object_object_add(data, "programs",
				       json_object_get(member(programs, "rows")));
	json_object_object_add(data, "next", calls);
	json_object_put(line);
}

void tools_add_dump(struct op_strbuf *text, struct json_object *pid)
{
	struct json_object *calls = json_object_new_array();

	add_call(calls, "dump", NULL, "pid", pid);
	put_calls(text, calls);
	json_object_put(calls);
}
