/* SPDX-License-Identifier: Apache-2.0 */
/*
 * otelprof mcp: offers the tools of tools.c over the Model Context Protocol, revisions
 * 2024-11-05 to 2025-06-18, on standard input and output: one JSON-RPC 2.0 message a
 * line.
 */
#include <errno.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "common.h"
#include "mcp/tools.h"

enum {
	LINE_MAX_BYTES = 1 << 20,
	DEPTH_MAX = 32,
	/* Codes of JSON-RPC 2.0, section 5.1. */
	RPC_PARSE_ERROR = -32700,
	RPC_INVALID_REQUEST = -32600,
	RPC_NO_METHOD = -32601,
	RPC_INVALID_PARAMS = -32602,
};

static const char instructions[] =
	"Profiles of this Linux host. Begin with record (or top), which tells where the "
	"CPU time goes, then ask callers or report with another grouping; diff compares "
	"two recordings. Self is time in a function itself, total with what it calls.";

static int help(FILE *f)
{
	(void)fputs(
		"Usage: otelprof mcp\n\n"
		"Answers the Model Context Protocol on standard input and output, so that an\n"
		"assistant can profile this host and read recordings: the tools record, top,\n"
		"report, callers, callees, diff and doctor. Nothing on the host is changed.\n\n"
		"  -h, --help   show this text\n",
		f);
	return STATUS_OK;
}

static void send_message(struct json_object *message)
{
	/* Line breaks inside a text are escaped, so one line is one message. */
	(void)puts(json_object_to_json_string_ext(message, JSON_C_TO_STRING_PLAIN));
	(void)fflush(stdout);
	json_object_put(message);
}

/* Send an answer in which @key has @value; takes @value, borrows @id. */
static void answer(struct json_object *id, const char *key, struct json_object *value)
{
	struct json_object *m = json_object_new_object();

	json_object_object_add(m, "jsonrpc", json_object_new_string("2.0"));
	json_object_object_add(m, "id", json_object_get(id));
	json_object_object_add(m, key, value);
	send_message(m);
}

static void refuse(struct json_object *id, int code, const char *message)
{
	struct json_object *error = json_object_new_object();

	json_object_object_add(error, "code", json_object_new_int(code));
	json_object_object_add(error, "message", json_object_new_string(message));
	answer(id, "error", error);
}

static const char *text_of(struct json_object *o, const char *key)
{
	struct json_object *value;

	if (!json_object_object_get_ex(o, key, &value) ||
	    !json_object_is_type(value, json_type_string))
		return NULL;
	return json_object_get_string(value);
}

static void initialize(struct json_object *id, struct json_object *params)
{
	static const char *const revisions[] = { "2025-06-18", "2025-03-26",
						 "2024-11-05" };
	struct json_object *result = json_object_new_object();
	struct json_object *server = json_object_new_object();
	struct json_object *can = json_object_new_object();
	const char *asked = text_of(params, "protocolVersion"), *revision = revisions[0];
	size_t i;

	/* For an unknown revision we answer with the newest, and the client decides. */
	for (i = 0; asked && i < sizeof(revisions) / sizeof(revisions[0]); i++) {
		if (strcmp(asked, revisions[i]) == 0)
			revision = revisions[i];
	}
	json_object_object_add(can, "tools", json_object_new_object());
	json_object_object_add(server, "name", json_object_new_string("otelprof"));
	json_object_object_add(server, "version",
			       json_object_new_string(otelprof_version()));
	json_object_object_add(result, "protocolVersion",
			       json_object_new_string(revision));
	json_object_object_add(result, "capabilities", can);
	json_object_object_add(result, "serverInfo", server);
	json_object_object_add(result, "instructions",
			       json_object_new_string(instructions));
	answer(id, "result", result);
}

static void list_tools(struct json_object *id)
{
	struct json_object *result = json_object_new_object();

	json_object_object_add(result, "tools", tools_list());
	answer(id, "result", result);
}

/* Call a tool and answer with its text. The commands print only valid UTF-8. */
static void call_tool(struct tools *t, struct json_object *id, struct json_object *params)
{
	_cleanup_(op_strbuf_deinit) struct op_strbuf text = { 0 };
	struct json_object *arguments = NULL, *result, *content, *item;
	const char *name = text_of(params, "name");
	bool good;

	if (!name || !tools_know(name)) {
		refuse(id, RPC_INVALID_PARAMS, "there is no tool of that name");
		return;
	}
	if (json_object_object_get_ex(params, "arguments", &arguments) && arguments &&
	    !json_object_is_type(arguments, json_type_object)) {
		refuse(id, RPC_INVALID_PARAMS, "the arguments are no object");
		return;
	}
	good = tools_call(t, name, arguments, &text);
	result = json_object_new_object();
	content = json_object_new_array();
	item = json_object_new_object();
	json_object_object_add(item, "type", json_object_new_string("text"));
	json_object_object_add(
		item, "text",
		json_object_new_string_len(text.data ? text.data : "", (int)text.len));
	json_object_array_add(content, item);
	json_object_object_add(result, "content", content);
	json_object_object_add(result, "isError", json_object_new_boolean(!good));
	answer(id, "result", result);
}

static void handle(struct tools *t, struct json_object *message)
{
	struct json_object *id = NULL, *params = NULL;
	const char *method = text_of(message, "method");

	if (!json_object_is_type(message, json_type_object) || !method) {
		refuse(NULL, RPC_INVALID_REQUEST, "this is no request");
		return;
	}
	/* A message without an id is a notification, which gets no answer. */
	if (!json_object_object_get_ex(message, "id", &id))
		return;
	(void)json_object_object_get_ex(message, "params", &params);
	if (strcmp(method, "initialize") == 0)
		initialize(id, params);
	else if (strcmp(method, "ping") == 0)
		answer(id, "result", json_object_new_object());
	else if (strcmp(method, "tools/list") == 0)
		list_tools(id);
	else if (strcmp(method, "tools/call") == 0)
		call_tool(t, id, params);
	else
		refuse(id, RPC_NO_METHOD, "there is no such method");
}

static void handle_line(struct tools *t, const char *line, size_t len)
{
	struct json_tokener *tok = json_tokener_new_ex(DEPTH_MAX);
	struct json_object *message;

	if (!tok)
		return;
	json_tokener_set_flags(tok, JSON_TOKENER_VALIDATE_UTF8);
	message = json_tokener_parse_ex(tok, line, (int)len + 1);
	if (message) {
		handle(t, message);
		json_object_put(message);
	} else {
		refuse(NULL, RPC_PARSE_ERROR, "this line is no JSON");
	}
	json_tokener_free(tok);
}

/* Read one line without its newline. Returns its length; -EFBIG if it was too long and
 * skipped; -ENODATA at the end. */
static ssize_t read_line(char *line)
{
	size_t len = 0;
	int c;

	while ((c = getchar()) != EOF && c != '\n') {
		if (len < LINE_MAX_BYTES)
			line[len] = (char)c;
		len++;
	}
	if (c == EOF && (!len || signal_seen()))
		return -ENODATA;
	if (len >= LINE_MAX_BYTES)
		return -EFBIG;
	line[len] = 0;
	return (ssize_t)len;
}

static int serve(struct tools *t)
{
	_cleanup_free_ char *line = malloc(LINE_MAX_BYTES + 1);
	ssize_t len;

	if (!line)
		return fail("out of memory");
	while ((len = read_line(line)) != -ENODATA) {
		if (len == -EFBIG)
			refuse(NULL, RPC_INVALID_REQUEST, "this line is too long");
		else if (len)
			handle_line(t, line, (size_t)len);
		if (ferror(stdout))
			return fail("cannot write: %s", strerror(errno));
	}
	return STATUS_OK;
}

int command_mcp(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "help", no_argument, NULL, 'h' },
		{ NULL, 0, NULL, 0 },
	};
	struct tools t;
	int c, r;

	while ((c = getopt_long(argc, argv, "h", longs, NULL)) != -1)
		return c == 'h' ? help(stdout) : usage_hint("mcp");
	if (optind < argc) {
		(void)fail("mcp does not take \"%s\"", argv[optind]);
		return usage_hint("mcp");
	}
	signals_catch();
	r = tools_init(&t);
	if (!r)
		r = serve(&t);
	tools_deinit(&t);
	return r;
}
