/* SPDX-License-Identifier: Apache-2.0 */
/* otelprof report: prints where the time of a recording went. */
#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common.h"
#include "recording/read/recording.h"
#include "recording/tree/missing.h"
#include "recording/write/write.h"
#include "report/command.h"

enum {
	OPTION_FORMAT = OPTION_OWN,
	OPTION_BY,
	OPTION_TREE_ONLY,
	OPTION_CALLERS,
	OPTION_CALLEES,
	OPTION_KIND,
	OPTION_MIN,
	OPTION_PROGRAM,
	OPTION_THREAD,
	OPTION_NO_LINES,
	OPTION_SYMBOLS,
	OPTION_LINES_TIME,
	OPTION_LINES_MEMORY,
	OPTION_LINES_CACHE,
	OPTION_NO_LINES_CACHE,
	ROWS_DEFAULT = 20,
	TREE_ROWS_DEFAULT = 60,
	ROWS_MAX = 1000000,
	MEMORY_MAX_MIB = 1 << 20,
	MIB_SHIFT = 20,
};

static int help(FILE *f)
{
	(void)fputs(
		"Usage: otelprof report [OPTIONS] FILE...\n\n"
		"Shows where the time of recordings went: the hottest functions, the calls, and\n"
		"how good the stacks are. FILE is of 'otelprof record -o FILE.otlp' or of\n"
		"'otelprof sink --dir'; \"-\" is standard input. Several are added up.\n\n"
		"      --format NAME      text, markdown (small, for assistants) or json\n"
		"      --by WHAT          rows by function, module, process, program (processes\n"
		"                         of one name together), thread, container, service or\n"
		"                         trace\n"
		"      --tree             the tree of calls from the outermost frame, no rows\n"
		"      --callers NAME     who calls this function (a part of its name will do)\n"
		"      --callees NAME     what this function calls\n"
		"  -n, --lines N          at most N lines (20; of a tree 60)\n"
		"      --min PERCENT      omit what has less than this share of the whole (0.1)\n"
		"      --kind TYPE        one kind of samples, where FILE has several\n"
		"  -p, --pid PID          only this process\n"
		"      --program NAME     only processes of this name\n"
		"      --thread NAME      only threads of this name\n"
		"      --container ID     only this container (the beginning of its id will do)\n"
		"      --no-lines         no source lines and inlined functions of native code\n"
		"      --symbols DIR      more files with debug info, by name or build id\n"
		"      --lines-time S     at most so many seconds looking lines up (60)\n"
		"      --lines-memory M   leave out debug info that takes more MiB (1024)\n"
		"      --lines-cache DIR  keep what was looked up there (~/.cache/otelprof)\n"
		"      --no-lines-cache   keep nothing, and use nothing that was kept\n"
		"  -h, --help             show this text\n\n"
		"Exit status: 0 shown, 1 nothing to show (with the reason), 2 usage.\n",
		f);
	return STATUS_OK;
}

int form_parse(const char *command, const char *name, enum report_form *ret)
{
	static const char *const names[] = { "text", "markdown", "json" };
	size_t i;

	for (i = 0; i < sizeof(names) / sizeof(names[0]); i++) {
		if (strcmp(names[i], name) == 0) {
			*ret = (enum report_form)i;
			return 0;
		}
	}
	(void)fail("--format takes text, markdown or json, not \"%s\"", name);
	return usage_hint(command);
}

int percent_parse(const char *command, const char *option, const char *arg, double *ret)
{
	char *end = NULL;
	double v = strtod(arg, &end);

	if (end == arg || *end || !isfinite(v) || v < 0 || v > 100) {
		(void)fail("%s takes a number from 0 to 100, not \"%s\"", option, arg);
		return usage_hint(command);
	}
	*ret = v;
	return 0;
}

int memory_parse(const char *command, const char *arg, uint64_t *ret)
{
	long long n = 0;
	int r = parse_number(command, "--lines-memory", arg, 1, MEMORY_MAX_MIB, &n);

	*ret = (uint64_t)n << MIB_SHIFT;
	return r;
}

void view_say_kinds(const struct op_collect *c)
{
	char type[64];
	uint32_t i;

	for (i = 0; i < c->kinds.len; i++)
		note("there are samples of %s", missing_kind(c, i, type, sizeof(type)));
}

int view_make_or_say(const struct op_collect *c, const struct view_request *request,
		     const char *what, struct view *ret)
{
	int r = view_make(c, request, ret);

	if (!r)
		return 0;
	if (r != -ENOENT)
		return fail("out of memory");
	if (!c->stacks.len)
		return fail("%s has no samples", what);
	missing_say(ret, what);
	return STATUS_FAILED;
}

struct options_of_report {
	struct view_request request;
	enum report_form form;
	bool tree_only;
	bool by_given;
	struct recording_lines lines_of;
	long long lines;
	double min_percent;
};

static int take_by(struct options_of_report *o, const char *arg)
{
	if (view_by_parse(arg, &o->request.by) == 0) {
		o->by_given = true;
		return 0;
	}
	(void)fail("--by takes function, module, process, program, thread, container, "
		   "service or trace, not \"%s\"",
		   arg);
	return usage_hint("report");
}

static int take(struct options_of_report *o, int c, const char *arg)
{
	long long n = 0;
	int r;

	switch (c) {
	case OPTION_FORMAT:
		return form_parse("report", arg, &o->form);
	case OPTION_BY:
		return take_by(o, arg);
	case OPTION_TREE_ONLY:
		o->tree_only = true;
		return 0;
	case OPTION_CALLERS:
	case OPTION_CALLEES:
		if (!*arg) {
			(void)fail("%s takes the name of a function",
				   c == OPTION_CALLERS ? "--callers" : "--callees");
			return usage_hint("report");
		}
		if (o->request.function) {
			(void)fail(
				"--callers and --callees take one function, of one of them");
			return usage_hint("report");
		}
		o->request.tree = c == OPTION_CALLERS ? VIEW_CALLERS : VIEW_CALLEES;
		o->request.function = arg;
		return 0;
	case OPTION_KIND:
		o->request.kind = arg;
		return 0;
	case OPTION_NO_LINES:
		o->lines_of.wanted = false;
		return 0;
	case OPTION_SYMBOLS:
		o->lines_of.request.directory = arg;
		o->lines_of.told = true;
		return 0;
	case OPTION_LINES_TIME:
		return parse_seconds("report", "--lines-time", arg,
				     &o->lines_of.request.seconds);
	case OPTION_LINES_MEMORY:
		return memory_parse("report", arg, &o->lines_of.request.memory);
	case OPTION_LINES_CACHE:
		o->lines_of.request.cache = arg;
		return 0;
	case OPTION_NO_LINES_CACHE:
		o->lines_of.request.no_cache = true;
		return 0;
	case OPTION_PROGRAM:
		o->request.program = arg;
		return 0;
	case OPTION_THREAD:
		o->request.thread = arg;
		return 0;
	case OPTION_CONTAINER:
		o->request.container = arg;
		return 0;
	case OPTION_MIN:
		return percent_parse("report", "--min", arg, &o->min_percent);
	case 'n':
		return parse_number("report", "-n", arg, 1, ROWS_MAX, &o->lines);
	case 'p':
		r = parse_number("report", "-p", arg, 0, INT_MAX, &n);
		if (!r)
			o->request.pid = n;
		return r;
	default:
		return usage_hint("report");
	}
}

static int parse(struct options_of_report *o, int argc, char **argv, bool *ret_help)
{
	static const struct option longs[] = {
		{ "help", no_argument, NULL, 'h' },
		{ "format", required_argument, NULL, OPTION_FORMAT },
		{ "by", required_argument, NULL, OPTION_BY },
		{ "tree", no_argument, NULL, OPTION_TREE_ONLY },
		{ "callers", required_argument, NULL, OPTION_CALLERS },
		{ "callees", required_argument, NULL, OPTION_CALLEES },
		{ "lines", required_argument, NULL, 'n' },
		{ "min", required_argument, NULL, OPTION_MIN },
		{ "kind", required_argument, NULL, OPTION_KIND },
		{ "pid", required_argument, NULL, 'p' },
		{ "program", required_argument, NULL, OPTION_PROGRAM },
		{ "thread", required_argument, NULL, OPTION_THREAD },
		{ "container", required_argument, NULL, OPTION_CONTAINER },
		{ "no-lines", no_argument, NULL, OPTION_NO_LINES },
		{ "symbols", required_argument, NULL, OPTION_SYMBOLS },
		{ "lines-time", required_argument, NULL, OPTION_LINES_TIME },
		{ "lines-memory", required_argument, NULL, OPTION_LINES_MEMORY },
		{ "lines-cache", required_argument, NULL, OPTION_LINES_CACHE },
		{ "no-lines-cache", no_argument, NULL, OPTION_NO_LINES_CACHE },
		{ NULL, 0, NULL, 0 },
	};
	int c, r = 0;

	while (!r && (c = getopt_long(argc, argv, "hn:p:", longs, NULL)) != -1) {
		if (c == 'h') {
			*ret_help = true;
			return help(stdout);
		}
		r = take(o, c, optarg);
	}
	if (r)
		return r;
	if (optind == argc) {
		(void)fail("report takes a recording");
		return usage_hint("report");
	}
	if ((o->request.function || o->tree_only) && o->by_given) {
		(void)fail("--by cannot be combined with --tree, --callers or --callees");
		return usage_hint("report");
	}
	return 0;
}

static int show(const struct options_of_report *o, const struct view *v,
		char *const *files, size_t files_len)
{
	bool tree_only = o->tree_only || o->request.function;
	struct report r = {
		.v = v,
		.files = files,
		.files_len = files_len,
		.min_percent = o->min_percent,
		.show_rows = !tree_only,
		.show_tree = !o->by_given,
	};

	r.limit = (size_t)(o->lines    ? o->lines
			   : tree_only ? TREE_ROWS_DEFAULT
				       : ROWS_DEFAULT);
	if (o->form == FORM_MARKDOWN)
		report_markdown(&r, stdout);
	else if (o->form == FORM_JSON)
		report_json(&r, stdout);
	else
		report_text(&r, stdout);
	return fflush(stdout) == 0 && !ferror(stdout)
		       ? STATUS_OK
		       : fail("cannot write: %s", strerror(errno));
}

int command_report(int argc, char **argv)
{
	struct options_of_report o = { .request = { .pid = -1 },
				       .min_percent = 0.1,
				       .lines_of = { .wanted = true } };
	struct op_collect *c = NULL;
	struct view v = { 0 };
	bool helped = false;
	int r = parse(&o, argc, argv, &helped);

	if (r || helped)
		return r;
	o.request.min_percent = o.min_percent;
	r = recording_collect(argv + optind, (size_t)(argc - optind),
			      o.request.by == VIEW_BY_TRACE ? OP_COLLECT_TRACES
							    : OP_COLLECT_LOCATIONS,
			      &o.lines_of, &c);
	if (!r)
		r = view_make_or_say(c, &o.request,
				     argc - optind == 1 ? recording_title(argv[optind])
							: "what was recorded",
				     &v);
	if (!r)
		r = show(&o, &v, argv + optind, (size_t)(argc - optind));
	view_clear(&v);
	(void)op_collect_free(c);
	return r;
}
