/* SPDX-License-Identifier: Apache-2.0 */
/* otelprof report: prints where a recording's time went. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "browse/browse.h"
#include "formats.h"
#include "near.h"
#include "recording/tree/missing.h"
#include "recording/tree/source/source.h"
#include "recordings/command.h"
#include "recordings/filters.h"
#include "recordings/last.h"
#include "recordings/source.h"

enum {
	OPTION_FORMAT = OPTION_OWN,
	OPTION_BY,
	OPTION_TREE_ONLY,
	OPTION_CALLERS,
	OPTION_CALLEES,
	OPTION_SOURCE,
	OPTION_TUI,
	OPTION_NO_TUI,
	OPTION_MIN,
	OPTION_NO_LINES,
	ROWS_DEFAULT = 20,
	TREE_ROWS_DEFAULT = 60,
};

static int help(FILE *f)
{
	(void)fputs(
		"Usage: otelprof report [OPTIONS] [FILE...]\n\n"
		"Shows where the time of recordings went: the answer, the hottest functions, the\n"
		"calls, and how good the stacks are. FILE is a recording of 'otelprof record -o\n"
		"FILE.otlp' or 'otelprof sink --dir'. \"-\" is standard input. Several are added\n"
		"up. Without FILE it is the last recording of this user. A terminal gets a whole\n"
		"screen, unless an option asks for a table or a tree.\n\n",
		f);
	format_help(f, FORM_REPORT, 25, "%s");
	(void)fputs(
		"      --by WHAT          rows by function, line, file, module, process, program\n"
		"                         (processes of one name together), thread, container,\n"
		"                         service, trace or label:KEY (an attribute)\n"
		"      --tree             the tree of calls from the outermost frame, no rows\n"
		"      --callers NAME     who calls this function (or a part of its name)\n"
		"      --callees NAME     what this function calls\n"
		"      --source [WHAT]    a source file, or a function of one, with the time of\n"
		"                         its lines, by default where your code is hottest\n"
		"      --tui, --no-tui    a whole screen, or text on a terminal, too\n"
		"  -n, --rows N           at most N rows (20; of a tree 60)\n"
		"      --min PERCENT      omit what has less than this share of the whole (0.1)\n",
		f);
	filters_help(f, 25, FILTERS_VIEWS);
	(void)fputs(
		"      --no-lines         no source lines and inlined functions of native code\n"
		"      --symbols DIR      more files with debug info, by name or build id\n"
		"      --lines-time S     look lines up for at most S seconds (60)\n"
		"      --lines-memory M   leave out debug info that takes more MiB (1024)\n"
		"      --lines-cache DIR  keep what was looked up there (~/.cache/otelprof)\n"
		"      --no-lines-cache   keep nothing, and use nothing that was kept\n"
		"  -h, --help             show this text\n\n"
		"Exit status: 0 shown, 1 nothing to show (with the reason), 2 usage.\n",
		f);
	return STATUS_OK;
}

struct options_of_report {
	struct view_request request;
	struct filter filter;
	struct filter rest; /* the filter without the parts that a view applies itself */
	const struct op_form *form;
	bool tree_only;
	bool by_given;
	bool text; /* an option is set that a screen does not have */
	bool tui;
	bool no_tui;
	bool source;
	const char *source_of; /* NULL: the file with the hottest line of own code */
	struct recording_request read;
	long long lines;
	double min_percent;
};

static int take_by(struct options_of_report *o, const char *arg)
{
	char list[VIEW_BY_BYTES];

	if (view_by_parse(arg, &o->request.by, &o->read.label_key) == 0) {
		o->by_given = true;
		return 0;
	}
	(void)fail("--by takes %s, not \"%s\"", view_by_list(list), arg);
	return usage_hint("report");
}

static int take(struct options_of_report *o, int c, const char *arg)
{
	switch (c) {
	case OPTION_TUI:
	case OPTION_NO_TUI:
		o->tui = c == OPTION_TUI;
		o->no_tui = !o->tui;
		return 0;
	case OPTION_FORMAT:
		o->text = true;
		return format_by_name("report", arg, FORM_REPORT, &o->form);
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
	case OPTION_SOURCE:
		o->source = true;
		o->source_of = arg;
		return 0;
	case OPTION_NO_LINES:
		o->read.lines.wanted = false;
		return 0;
	case OPTION_MIN:
		o->text = true;
		return percent_parse("report", "--min", arg, &o->min_percent);
	case 'n':
		o->text = true;
		return rows_parse("report", arg, &o->lines);
	default:
		if (filters_has(c))
			return filters_take("report", c, arg, &o->filter);
		return lines_take("report", c, arg, &o->read.lines);
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
		{ "source", optional_argument, NULL, OPTION_SOURCE },
		{ "tui", no_argument, NULL, OPTION_TUI },
		{ "no-tui", no_argument, NULL, OPTION_NO_TUI },
		{ "stdio", no_argument, NULL, OPTION_NO_TUI }, /* perf's name */
		{ "rows", required_argument, NULL, 'n' },
		{ "lines", required_argument, NULL, 'n' },
		{ "min", required_argument, NULL, OPTION_MIN },
		{ "no-lines", no_argument, NULL, OPTION_NO_LINES },
		LINES_LONG,
		FILTERS_LONG,
		{ NULL, 0, NULL, 0 },
	};
	int c, r = 0;

	while (!r &&
	       (c = getopt_long(argc, argv, "hn:" FILTER_LETTERS, longs, NULL)) != -1) {
		if (c == 'h') {
			*ret_help = true;
			return help(stdout);
		}
		r = c == '?' ? near_option("report", argv[optind - 1], longs)
			     : take(o, c, optarg);
	}
	if (r)
		return r;
	if (o->source && !o->source_of && optind < argc && source_is_named(argv[optind]))
		o->source_of = argv[optind++];
	if (o->source && (o->request.function || o->tree_only || o->by_given ||
			  o->form != &op_form_text)) {
		(void)fail("--source cannot be combined with --by, --tree, --callers, "
			   "--callees or --format");
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

	r.limit = (size_t)(o->lines ? o->lines : ROWS_DEFAULT);
	r.tree_limit = (size_t)(o->lines ? o->lines : TREE_ROWS_DEFAULT);
	o->form->report(&r, stdout);
	return end_output();
}

/* Is the output a terminal, and is no option set that a screen does not have? */
static bool wants_screen(const struct options_of_report *o)
{
	const char *term = getenv("TERM");

	if (o->no_tui || o->by_given || o->tree_only || o->request.function || o->source)
		return false;
	return o->tui || (!o->text && isatty(STDIN_FILENO) && isatty(STDOUT_FILENO) &&
			  term && strcmp(term, "dumb") != 0);
}

/* Show @v on a whole screen, or else as text. */
static int show_or_browse(const struct options_of_report *o, struct view *v,
			  char *const *files, size_t len)
{
	const struct op_collect *c = v->c;
	int r;

	if (!wants_screen(o))
		return show(o, v, files, len);
	signals_catch();
	view_clear(v); /* the screen makes its own views */
	r = browse(c, &o->request,
		   len == 1 ? recording_title(files[0]) : "several recordings");
	if (r == -ENOTSUP && o->tui)
		return fail("this is no terminal for a whole screen");
	if (r != -ENOTSUP)
		return r;
	r = view_make_or_say(c, &o->request, "what was recorded", v);
	return r ? r : show(o, v, files, len);
}

/* Read the files and print the report. */
static int report_of(struct options_of_report *o, char *const *files, size_t len)
{
	struct recording rec = { 0 };
	struct view v = { 0 };
	int r = recording_load(files, len, &o->read, &rec);

	if (!r)
		r = view_make_or_say(
			rec.c, &o->request,
			len == 1 ? recording_title(files[0]) : "what was recorded", &v);
	if (!r)
		r = o->source ? source_show(&v, o->source_of, o->min_percent)
			      : show_or_browse(o, &v, files, len);
	view_clear(&v);
	recording_clear(&rec);
	return r;
}

int command_report(int argc, char **argv)
{
	struct options_of_report o = { .form = &op_form_text,
				       .min_percent = 0.1,
				       .read = { .lines = { .wanted = true } } };
	bool helped = false;
	char *last = NULL;
	int r = parse(&o, argc, argv, &helped);

	if (r || helped) {
		filter_clear(&o.filter);
		return r;
	}
	o.request.min_percent = o.min_percent;
	o.rest = filters_for_view(&o.filter, &o.request);
	o.read.filter = filters_any(&o.rest);
	o.read.detail =
		o.request.by == VIEW_BY_TRACE ? OP_COLLECT_TRACES : OP_COLLECT_LOCATIONS;
	if (optind < argc) {
		r = report_of(&o, argv + optind, (size_t)(argc - optind));
	} else {
		last = last_find();
		r = last ? report_of(&o, &last, 1) : STATUS_FAILED;
		free(last);
	}
	filter_clear(&o.filter);
	return r;
}
