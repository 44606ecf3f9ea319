/* SPDX-License-Identifier: Apache-2.0 */
/* otelprof diff: prints the changes from one recording to another. */
#include <string.h>
#include <strings.h>

#include "formats.h"
#include "recording/write/output.h"
#include "recordings/command.h"
#include "recordings/filters.h"

enum {
	OPTION_FORMAT = OPTION_OWN,
	OPTION_BY,
	OPTION_MIN,
	OPTION_NO_LINES,
	OPTION_TOTAL,
	ROWS_DEFAULT = 20,
};

struct options_of_diff {
	struct view_request request;
	struct filter filter;
	struct filter rest; /* the filter without the parts that a view applies itself */
	const struct op_form *form;
	long long lines;
	const char *page; /* NULL: a table on standard output */
	struct diff diff;
};

static int help(FILE *f)
{
	(void)fputs(
		"Usage: otelprof diff [OPTIONS] BEFORE AFTER\n\n"
		"Compares the share of each function in two recordings, the largest change\n"
		"first. The recordings may have different lengths.\n\n"
		"  -o, --output FILE   in place of the table write a page with both as one flame\n"
		"                      graph: red grew, blue shrank\n",
		f);
	format_help(f, FORM_DIFF, 22, "%s");
	(void)fputs(
		"      --by WHAT       function, line, file, module, program, container, service\n"
		"                      or label:KEY (an attribute)\n"
		"      --total         order by the time with what a function calls\n"
		"  -n, --rows N        at most N rows (20)\n"
		"      --min POINTS    omit smaller changes (0.1 per cent of the whole)\n"
		"      --no-lines      no source lines and inlined functions of native code\n",
		f);
	filters_help(f, 22, FILTERS_VIEWS);
	(void)fputs("  -h, --help          show this text\n\n"
		    "Exit status: 0 compared, 1 not (with the reason), 2 usage.\n",
		    f);
	return STATUS_OK;
}

static int take(struct options_of_diff *d, int c, const char *arg)
{
	switch (c) {
	case OPTION_FORMAT:
		return format_by_name("diff", arg, FORM_DIFF, &d->form);
	case OPTION_BY:
		/* two recordings have no process, thread or trace in common */
		if (view_by_parse(arg, &d->request.by, &d->diff.read.label_key) == 0 &&
		    d->request.by != VIEW_BY_PROCESS && d->request.by != VIEW_BY_THREAD &&
		    d->request.by != VIEW_BY_TRACE)
			return 0;
		(void)fail("--by takes function, line, file, module, program, container, "
			   "service or label:KEY, not \"%s\"",
			   arg);
		return usage_hint("diff");
	case OPTION_NO_LINES:
		d->diff.read.lines.wanted = false;
		return 0;
	case OPTION_MIN:
		return percent_parse("diff", "--min", arg, &d->diff.min_percent);
	case OPTION_TOTAL:
		d->diff.by_total = true;
		return 0;
	case 'o':
		d->page = arg;
		return 0;
	case 'n':
		return rows_parse("diff", arg, &d->lines);
	default:
		return filters_has(c) ? filters_take("diff", c, arg, &d->filter)
				      : lines_take("diff", c, arg, &d->diff.read.lines);
	}
}

/* Is @path a page's name? Another ending would promise another format. */
static bool is_page(const char *path)
{
	const char *slash = strrchr(path, '/'), *dot = strrchr(path, '.');

	return !dot || (slash && dot < slash) || strcasecmp(dot, ".html") == 0 ||
	       strcasecmp(dot, ".htm") == 0;
}

static int parse(struct options_of_diff *d, int argc, char **argv, bool *ret_help)
{
	static const struct option longs[] = {
		{ "help", no_argument, NULL, 'h' },
		{ "output", required_argument, NULL, 'o' },
		{ "format", required_argument, NULL, OPTION_FORMAT },
		{ "by", required_argument, NULL, OPTION_BY },
		{ "total", no_argument, NULL, OPTION_TOTAL },
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
	       (c = getopt_long(argc, argv, "hn:o:" FILTER_LETTERS, longs, NULL)) != -1) {
		if (c == 'h') {
			*ret_help = true;
			return help(stdout);
		}
		r = take(d, c, optarg);
	}
	if (!r && argc - optind != DIFF_SIDES) {
		(void)fail("diff takes two recordings");
		return usage_hint("diff");
	}
	if (!r && d->page && !is_page(d->page)) {
		(void)fail("diff -o writes a page: \"%s\" has to end with .html",
			   d->page);
		r = usage_hint("diff");
	}
	d->diff.files = argv + optind;
	d->diff.limit = (size_t)d->lines;
	d->rest = filters_for_view(&d->filter, &d->request);
	d->diff.read.filter = filters_any(d->page ? &d->filter : &d->rest);
	if (!view_by_frames(d->request.by))
		d->diff.by_total = true; /* a process has no self time */
	return r;
}

static int write_page(void *data, int fd)
{
	struct options_of_diff *d = data;

	return diff_page(&d->diff, d->page, fd);
}

int command_diff(int argc, char **argv)
{
	struct options_of_diff d = {
		.form = &op_form_text,
		.lines = ROWS_DEFAULT,
		.diff = { .min_percent = 0.1, .read = { .lines = { .wanted = true } } }
	};
	bool helped = false;
	int r = parse(&d, argc, argv, &helped);

	if (r || helped) {
		filter_clear(&d.filter);
		return r;
	}
	r = diff_make(&d.diff, &d.request);
	if (!r && d.page) {
		r = output_write(d.page, d.diff.files, DIFF_SIDES, write_page, &d);
	} else if (!r) {
		d.form->diff(&d.diff, stdout);
		r = end_output();
	}
	diff_clear(&d.diff);
	filter_clear(&d.filter);
	return r;
}
