/* SPDX-License-Identifier: Apache-2.0 */
/*
 * otelprof mcp: offers the tools of tools.c over the Model Context Protocol, revisions
 * 2024-11-05 to 2025-06-18, on standard input and output: one JSON-RPC 2.0 message a
 * line. While a tool runs, pings are answered and calls can be cancelled. Other
 * messages wait.
 */
#include <errno.h>
#include <json-c/json.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "common.h"
#include "mcp/input.h"
#include "mcp/tools.h"

enum {
	OPTION_PROBES = OPTION_OWN,
	DEPTH_MAX = 32,
	QUEUE_MAX = 64, /* messages that wait; beyond that, reading pauses */
	/* Codes of JSON-RPC 2.0, section 5.1. */
	RPC_PARSE_ERROR = -32700,
	RPC_INVALID_REQUEST = -32600,
	RPC_NO_METHOD = -32601,
	RPC_INVALID_PARAMS = -32602,
};

static const char instructions[] =
	"Profiles of this Linux host. Begin with record (or top), which shows where the "
	"CPU time goes, then ask callers or report with another grouping or a filter; diff "
	"compares two recordings. A program that is slow and takes no CPU waits: record it "
	"with the kinds off_cpu,locks. One that hangs: dump. Self is time in a function "
	"itself, total with what it calls.";

struct server {
	struct tools tools;
	struct input input;
	char *line;		   /* the current one */
	struct json_object *queue; /* messages that were read while a tool ran */
	size_t queue_at;
	struct json_object *running; /* the id of the current call, or NULL */
	bool cancelled;		     /* that call */
	struct json_object *batch;   /* answers that are sent together, or NULL */
};

static int help(FILE *f)
{
	(void)fputs(
		"Usage: otelprof mcp [OPTIONS]\n\n"
		"Answers the Model Context Protocol on standard input and output, so that an\n"
		"assistant can profile this host and read recordings: the tools record, dump,\n"
		"top, report, callers, callees, diff and doctor. Nothing on the host is changed.\n\n"
		"      --probes   let the assistant set probes and use events of perf, which\n"
		"                 change the programs that they are in\n"
		"  -h, --help     show this text\n",
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

/* Send an answer in which @key has @value. Takes @value, borrows @id. */
static void answer(struct server *s, struct json_object *id, const char *key,
		   struct json_object *value)
{
	struct json_object *m = json_object_new_object();

	json_object_object_add(m, "jsonrpc", json_object_new_string("2.0"));
	json_object_object_add(m, "id", json_object_get(id));
	json_object_object_add(m, key, value);
	if (s->batch)
		json_object_array_add(s->batch, m);
	else
		send_message(m);
}

static void refuse(struct server *s, struct json_object *id, int code,
		   const char *message)
{
	struct json_object *error = json_object_new_object();

	json_object_object_add(error, "code", json_object_new_int(code));
	json_object_object_add(error, "message", json_object_new_string(message));
	answer(s, id, "error", error);
}

static const char *text_of(struct json_object *o, const char *key)
{
	struct json_object *value;

	if (!json_object_object_get_ex(o, key, &value) ||
	    !json_object_is_type(value, json_type_string))
		return NULL;
	return json_object_get_string(value);
}

static void initialize(struct server *s, struct json_object *id,
		       struct json_object *params)
{
	static const char *const revisions[] = { "2025-06-18", "2025-03-26",
						 "2024-11-05" };
	struct json_object *result = json_object_new_object();
	struct json_object *server = json_object_new_object();
	struct json_object *can = json_object_new_object();
	const char *asked = text_of(params, "protocolVersion"), *revision = revisions[0];
	size_t i;

	/* For an unknown revision answer with the newest, and let the client decide. */
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
	answer(s, id, "result", result);
}

static void list_tools(struct server *s, struct json_object *id)
{
	struct json_object *result = json_object_new_object();

	json_object_object_add(result, "tools", tools_list(&s->tools));
	answer(s, id, "result", result);
}

static void take_meanwhile(struct server *s);

/* Call a tool and answer with its text. The commands print only valid UTF-8. */
static void call_tool(struct server *s, struct json_object *id,
		      struct json_object *params)
{
	_cleanup_(op_strbuf_deinit) struct op_strbuf text = { 0 };
	struct json_object *arguments = NULL, *result, *content, *item, *data = NULL;
	const char *name = text_of(params, "name");
	bool good;

	if (!name || !tools_know(name)) {
		refuse(s, id, RPC_INVALID_PARAMS, "there is no tool of that name");
		return;
	}
	if (json_object_object_get_ex(params, "arguments", &arguments) && arguments &&
	    !json_object_is_type(arguments, json_type_object)) {
		refuse(s, id, RPC_INVALID_PARAMS, "the arguments are not an object");
		return;
	}
	s->running = id;
	s->cancelled = false;
	/* Messages that came with the call are not waited for below. */
	take_meanwhile(s);
	good = !s->cancelled && tools_call(&s->tools, name, arguments, &text, &data);
	s->running = NULL;
	if (s->cancelled) {
		json_object_put(data);
		return; /* a cancelled call gets no answer */
	}
	result = json_object_new_object();
	content = json_object_new_array();
	item = json_object_new_object();
	json_object_object_add(item, "type", json_object_new_string("text"));
	json_object_object_add(
		item, "text",
		json_object_new_string_len(text.data ? text.data : "", (int)text.len));
	json_object_array_add(content, item);
	json_object_object_add(result, "content", content);
	if (good && data && json_object_is_type(data, json_type_object))
		json_object_object_add(result, "structuredContent",
				       json_object_get(data));
	json_object_put(data);
	json_object_object_add(result, "isError", json_object_new_boolean(!good));
	answer(s, id, "result", result);
}

/* Is it a message of JSON-RPC 2.0, with an id that an answer can have? */
static bool is_request(struct json_object *message)
{
	struct json_object *id = NULL, *version = NULL;

	if (!json_object_is_type(message, json_type_object) ||
	    !text_of(message, "method"))
		return false;
	/* one without a version counts as 2.0 */
	if (json_object_object_get_ex(message, "jsonrpc", &version) &&
	    (!json_object_is_type(version, json_type_string) ||
	     strcmp(json_object_get_string(version), "2.0") != 0))
		return false;
	return !json_object_object_get_ex(message, "id", &id) ||
	       json_object_is_type(id, json_type_string) ||
	       json_object_is_type(id, json_type_int) ||
	       json_object_is_type(id, json_type_double);
}

static void handle(struct server *s, struct json_object *message)
{
	struct json_object *id = NULL, *params = NULL;
	const char *method;

	if (!is_request(message)) {
		refuse(s, NULL, RPC_INVALID_REQUEST, "this is not a request");
		return;
	}
	method = text_of(message, "method");
	/* A message without an id is a notification, which gets no answer. */
	if (!json_object_object_get_ex(message, "id", &id))
		return;
	(void)json_object_object_get_ex(message, "params", &params);
	if (strcmp(method, "initialize") == 0)
		initialize(s, id, params);
	else if (strcmp(method, "ping") == 0)
		answer(s, id, "result", json_object_new_object());
	else if (strcmp(method, "tools/list") == 0)
		list_tools(s, id);
	else if (strcmp(method, "tools/call") == 0)
		call_tool(s, id, params);
	else
		refuse(s, id, RPC_NO_METHOD, "there is no such method");
}

/* A message, or several in an array, which get one answer. */
static void handle_message(struct server *s, struct json_object *message)
{
	struct json_object *answers;
	size_t i;

	if (!json_object_is_type(message, json_type_array) ||
	    !json_object_array_length(message)) {
		handle(s, message);
		return;
	}
	s->batch = json_object_new_array();
	for (i = 0; i < json_object_array_length(message) && !signal_seen(); i++)
		handle(s, json_object_array_get_idx(message, i));
	answers = s->batch;
	s->batch = NULL;
	if (json_object_array_length(answers))
		send_message(answers);
	else
		json_object_put(answers);
}

/* Does anything but blanks follow? */
static bool rest_of(const char *line)
{
	return line[strspn(line, " \t\r")];
}

/* The message of a line; NULL, after an error answer, if it is none. */
static struct json_object *parse_line(struct server *s, ssize_t len)
{
	struct json_object *batch = s->batch, *message = NULL;
	struct json_tokener *tok;

	if (!len)
		return NULL;
	tok = len < 0 ? NULL : json_tokener_new_ex(DEPTH_MAX);
	if (tok) {
		json_tokener_set_flags(tok, JSON_TOKENER_VALIDATE_UTF8);
		message = json_tokener_parse_ex(tok, s->line, (int)len + 1);
		if (message && rest_of(s->line + json_tokener_get_parse_end(tok))) {
			json_object_put(message);
			message = NULL;
		}
		json_tokener_free(tok);
	}
	if (message)
		return message;
	/* It is not an answer in the current batch. */
	s->batch = NULL;
	if (len < 0)
		refuse(s, NULL, RPC_INVALID_REQUEST, "this line is too long");
	else
		refuse(s, NULL, RPC_PARSE_ERROR, "this line is not JSON");
	s->batch = batch;
	return NULL;
}

static bool is_method(struct json_object *message, const char *name)
{
	const char *method = json_object_is_type(message, json_type_object)
				     ? text_of(message, "method")
				     : NULL;

	return method && strcmp(method, name) == 0;
}

/* Does it cancel the current call? */
static bool cancels(const struct server *s, struct json_object *message)
{
	struct json_object *params = NULL, *id = NULL;

	return is_method(message, "notifications/cancelled") &&
	       json_object_object_get_ex(message, "params", &params) &&
	       json_object_object_get_ex(params, "requestId", &id) && s->running &&
	       json_object_equal(id, s->running);
}

static size_t waiting(const struct server *s)
{
	return json_object_array_length(s->queue) - s->queue_at;
}

/* Of the lines that were read, handle urgent ones at once, and queue the rest. */
static void take_meanwhile(struct server *s)
{
	struct json_object *message, *batch = s->batch;
	ssize_t len;

	while ((len = input_take(&s->input, s->line)) != -EAGAIN) {
		message = parse_line(s, len);
		if (!message)
			continue;
		s->cancelled |= cancels(s, message);
		if (!is_method(message, "ping")) {
			json_object_array_add(s->queue, message);
			continue;
		}
		s->batch = NULL;
		handle(s, message);
		s->batch = batch;
		json_object_put(message);
	}
}

/* While a tool runs. */
static bool read_meanwhile(void *data, struct meanwhile *m)
{
	struct server *s = data;

	input_fill(&s->input);
	take_meanwhile(s);
	if (s->input.ended || waiting(s) >= QUEUE_MAX)
		m->fd = -1;
	return !s->cancelled;
}

/* The next message, or NULL at the end. */
static struct json_object *next_message(struct server *s)
{
	struct json_object *message = NULL;
	ssize_t len;

	if (waiting(s))
		return json_object_get(
			json_object_array_get_idx(s->queue, s->queue_at++));
	json_object_put(s->queue);
	s->queue = json_object_new_array();
	s->queue_at = 0;
	while (!message) {
		len = input_take(&s->input, s->line);
		if (len != -EAGAIN)
			message = parse_line(s, len);
		else if (s->input.ended)
			return NULL;
		else
			input_fill(&s->input);
	}
	return message;
}

static int serve(struct server *s)
{
	struct json_object *message;

	if (input_init(&s->input))
		return fail("out of memory");
	s->line = malloc(INPUT_LINE_BYTES + 1);
	if (!s->line)
		return fail("out of memory");
	s->queue = json_object_new_array();
	s->tools.meanwhile = (struct meanwhile){ -1, read_meanwhile, s };
	while (!signal_seen() && (message = next_message(s))) {
		s->tools.meanwhile.fd = s->input.ended ? -1 : STDIN_FILENO;
		handle_message(s, message);
		json_object_put(message);
		if (ferror(stdout))
			return fail("cannot write: %s", strerror(errno));
	}
	return STATUS_OK;
}

static void server_deinit(struct server *s)
{
	json_object_put(s->queue);
	input_deinit(&s->input);
	free(s->line);
	tools_deinit(&s->tools);
}

int command_mcp(int argc, char **argv)
{
	static const struct option longs[] = {
		{ "help", no_argument, NULL, 'h' },
		{ "probes", no_argument, NULL, OPTION_PROBES },
		{ NULL, 0, NULL, 0 },
	};
	struct server s = { 0 };
	bool probes = false;
	int c, r;

	while ((c = getopt_long(argc, argv, "h", longs, NULL)) != -1) {
		if (c != OPTION_PROBES)
			return c == 'h' ? help(stdout) : usage_hint("mcp");
		probes = true;
	}
	if (optind < argc) {
		(void)fail("mcp does not take \"%s\"", argv[optind]);
		return usage_hint("mcp");
	}
	signals_catch();
	r = tools_init(&s.tools);
	s.tools.probes = probes;
	if (!r)
		r = serve(&s);
	server_deinit(&s);
	return r;
}
