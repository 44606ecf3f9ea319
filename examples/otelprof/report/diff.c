/* SPDX-License-Identifier: Apache-2.0 */
/* otelprof diff: prints what grew and what shrank from one recording to another. */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/cleanup.h"
#include "common.h"
#include "export/format/html.h"
#include "export/format/kinds.h"
#include "report/command.h"
#include "report/output.h"
#include "report/recording.h"
#include "report/view.h"

enum {
	OPTION_FORMAT = OPTION_OWN,
	OPTION_BY,
	OPTION_KIND,
	OPTION_MIN,
	OPTION_TOTAL,
	ROWS_DEFAULT = 20,
	ROWS_MAX = 1000000,
	NAME_BYTES = 4096,
	VALUE_BYTES = 64,
	NAME_COLUMNS = 90,
	MODULE_COLUMNS = 18,
	SIDES = 2,
};

/* A row of one or both sides; values are shares of each side's total. */
struct change {
	char *name;
	char *module;
	double self[SIDES];
	double total[SIDES];
};

struct diff {
	struct view_request request;
	enum report_form form;
	long long lines;
	double min_percent;
	bool by_total;
	char *const *files;
	const char *page; /* NULL: a table on standard output */
	struct op_collect *recordings[SIDES];
	struct view views[SIDES];
	struct change *changes;
	size_t len;
};

static int help(FILE *f)
{
	(void)fputs(
		"Usage: otelprof diff [OPTIONS] BEFORE AFTER\n\n"
		"Compares two recordings: for each function its share of the time in both, and\n"
		"what has changed, the largest change first. Shares are compared, so recordings\n"
		"of different lengths are comparable.\n\n"
		"  -o, --output FILE   write a page with both as one flame graph: red grew, blue\n"
		"                      shrank; in place of the table\n"
		"      --format NAME   text, markdown or json\n"
		"      --by WHAT       function, module, program, container or service\n"
		"      --total         order by the time with what a function calls\n"
		"  -n, --lines N       at most N lines (20)\n"
		"      --min POINTS    omit smaller changes (0.1 per cent of the whole)\n"
		"      --kind TYPE     one kind of samples, where there are several\n"
		"  -h, --help          show this text\n\n"
		"Exit status: 0 compared, 1 not (with the reason), 2 usage.\n",
		f);
	return STATUS_OK;
}

static int compare_names(const void *a, const void *b)
{
	const struct change *x = a, *y = b;
	int c = strcmp(x->name, y->name);

	return c ? c : strcmp(x->module, y->module);
}

static double weight(const struct change *c, bool by_total)
{
	return by_total ? fabs(c->total[1] - c->total[0]) : fabs(c->self[1] - c->self[0]);
}

static int compare_changes(const void *a, const void *b, void *data)
{
	const struct diff *d = data;
	const struct change *x = a, *y = b;
	double p = weight(x, d->by_total), q = weight(y, d->by_total);

	if (p != q)
		return p > q ? -1 : 1;
	p = weight(x, !d->by_total);
	q = weight(y, !d->by_total);
	if (p != q)
		return p > q ? -1 : 1;
	return compare_names(a, b);
}

static int fill(struct change *c, const struct view *v, const struct view_row *row,
		int side)
{
	char name[NAME_BYTES];

	c->name = strdup(view_row_name(v, row, name, sizeof(name)));
	*name = 0;
	if (v->request.by == VIEW_BY_FUNCTION)
		view_module(v, row->label, name, sizeof(name));
	c->module = strdup(name);
	c->self[side] = view_percent(v, row->self);
	c->total[side] = view_percent(v, row->total);
	return c->name && c->module ? 0 : -ENOMEM;
}

/* Merge rows of one name and module. */
static void merge(struct diff *d)
{
	struct change *to;
	size_t i, n = 0;
	int side;

	qsort(d->changes, d->len, sizeof(*d->changes), compare_names);
	for (i = 0; i < d->len; i++) {
		to = n ? &d->changes[n - 1] : NULL;
		if (!to || compare_names(to, &d->changes[i]) != 0) {
			d->changes[n++] = d->changes[i];
			continue;
		}
		for (side = 0; side < SIDES; side++) {
			to->self[side] += d->changes[i].self[side];
			to->total[side] += d->changes[i].total[side];
		}
		free(d->changes[i].name);
		free(d->changes[i].module);
	}
	d->len = n;
}

static int compare_views(struct diff *d)
{
	const struct view_row *row;
	int side;

	d->changes = calloc(d->views[0].rows.len + d->views[1].rows.len + 1,
			    sizeof(*d->changes));
	if (!d->changes)
		return fail("out of memory");
	for (side = 0; side < SIDES; side++) {
		op_vec_foreach(row, &d->views[side].rows) {
			if (fill(&d->changes[d->len++], &d->views[side], row, side) < 0)
				return fail("out of memory");
		}
	}
	merge(d);
	qsort_r(d->changes, d->len, sizeof(*d->changes), compare_changes, d);
	return 0;
}

/* How many changes have the least that is shown. */
static size_t changes_large(const struct diff *d)
{
	size_t n = 0;

	while (n < d->len && weight(&d->changes[n], d->by_total) >= d->min_percent)
		n++;
	return n;
}

static size_t rows_to_show(const struct diff *d)
{
	size_t max = (size_t)(d->lines ? d->lines : ROWS_DEFAULT);
	size_t large = changes_large(d);

	return large < max ? large : max;
}

static void write_text(const struct diff *d, size_t n)
{
	bool colour = colour_wanted(stdout), functions;
	char what[VALUE_BYTES], a[VALUE_BYTES], b[VALUE_BYTES];
	const struct change *c;
	size_t large = changes_large(d), i;
	double delta;

	functions = d->request.by == VIEW_BY_FUNCTION;
	(void)printf("%s: %s before (%s), %s after (%s)\n\n",
		     view_what(&d->views[0], what, sizeof(what)),
		     view_value(&d->views[0], d->views[0].total, a, sizeof(a)),
		     recording_title(d->files[0]),
		     view_value(&d->views[1], d->views[1].total, b, sizeof(b)),
		     recording_title(d->files[1]));
	if (!n) {
		(void)printf("Nothing has changed by %g%% of the whole or more.\n",
			     d->min_percent);
		return;
	}
	(void)printf("%s%8s %8s %9s  %-*s%s%s\n", colour ? "\033[1m" : "", "BEFORE",
		     "AFTER", d->by_total ? "TOTAL" : "SELF",
		     functions ? MODULE_COLUMNS + 1 : 0, functions ? "MODULE" : "",
		     functions ? "FUNCTION" : view_by_name(d->request.by),
		     colour ? "\033[0m" : "");
	for (i = 0; i < n; i++) {
		const double *share;

		c = &d->changes[i];
		share = d->by_total ? c->total : c->self;
		delta = share[1] - share[0];
		(void)printf("%7.2f%% %7.2f%% %s%+8.2f%%%s  ", share[0], share[1],
			     !colour	 ? ""
			     : delta > 0 ? "\033[31m"
					 : "\033[34m",
			     delta, colour ? "\033[0m" : "");
		if (functions) {
			print_safe(stdout, c->module, strlen(c->module), MODULE_COLUMNS);
			(void)fputc(' ', stdout);
		}
		print_name(stdout, c->name, -NAME_COLUMNS);
		(void)fputc('\n', stdout);
	}
	if (n < large)
		(void)printf("  and %zu more (-n %zu shows all)\n", large - n, large);
}

static void write_markdown(const struct diff *d, size_t n)
{
	const struct change *c;
	char what[VALUE_BYTES];
	size_t large = changes_large(d), i;

	(void)printf(
		"# Profiles compared: `%s` (before), `%s` (after)\n\n"
		"%s. Shares of each recording's whole, in per cent; the change in points."
		"\n\n| self before | after | change | total before | after | change | %s | "
		"module |\n|---|---|---|---|---|---|---|---|\n",
		recording_title(d->files[0]), recording_title(d->files[1]),
		view_what(&d->views[0], what, sizeof(what)), view_by_name(d->request.by));
	for (i = 0; i < n; i++) {
		c = &d->changes[i];
		(void)printf("| %.2f | %.2f | %+.2f | %.2f | %.2f | %+.2f | `",
			     c->self[0], c->self[1], c->self[1] - c->self[0], c->total[0],
			     c->total[1], c->total[1] - c->total[0]);
		print_name(stdout, c->name, -NAME_COLUMNS);
		(void)printf("` | ");
		print_safe(stdout, c->module, strlen(c->module), 0);
		(void)printf(" |\n");
	}
	if (!n)
		(void)printf("\nNothing has changed by %g%% of the whole or more.\n",
			     d->min_percent);
	else if (n < large)
		(void)printf("\n%zu more are not shown.\n", large - n);
}

static void json_side(const char *key, const double share[SIDES])
{
	(void)printf(", \"%s_before\": %.4f, \"%s_after\": %.4f", key, share[0], key,
		     share[1]);
}

static void json_text(const struct view *v, const char *key, uint32_t string)
{
	size_t len;
	const char *text = op_collect_text(v->c, string, &len);

	(void)printf("\"%s\": ", key);
	print_json_string(stdout, text, len);
}

static void json_recording(const struct diff *d, int side, const char *key)
{
	const struct view *v = &d->views[side];

	(void)printf("  \"%s\": { \"file\": ", key);
	print_json_string(stdout, d->files[side], strlen(d->files[side]));
	(void)printf(", \"total\": %" PRId64 ", ", v->total);
	json_text(v, "unit", v->c->kinds.data[v->kind].unit);
	(void)printf(" },\n");
}

static void write_json(const struct diff *d, size_t n)
{
	const struct view *v = &d->views[0];
	const struct op_collect_kind *k = &v->c->kinds.data[v->kind];
	const struct change *c;
	size_t i;

	(void)printf("{\n  \"schema\": \"otelprof.diff\",\n  \"version\": 1,\n");
	json_recording(d, 0, "before");
	json_recording(d, 1, "after");
	(void)printf("  \"kind\": { ");
	json_text(v, "type", k->counted_type);
	(void)printf(", ");
	json_text(v, "unit", k->counted_unit);
	(void)printf(" },\n  \"by\": \"%s\",\n  \"changes\": [",
		     view_by_name(d->request.by));
	for (i = 0; i < n; i++) {
		c = &d->changes[i];
		(void)printf("%s\n    { \"name\": ", i ? "," : "");
		print_json_string(stdout, c->name, strlen(c->name));
		(void)printf(", \"module\": ");
		print_json_string(stdout, c->module, strlen(c->module));
		json_side("self_percent", c->self);
		json_side("total_percent", c->total);
		(void)printf(" }");
	}
	(void)printf("%s],\n  \"changes_known\": %zu\n}\n", n ? "\n  " : "", d->len);
}

static int take(struct diff *d, int c, const char *arg)
{
	switch (c) {
	case OPTION_FORMAT:
		return form_parse("diff", arg, &d->form);
	case OPTION_BY:
		if (view_by_parse(arg, &d->request.by) == 0 &&
		    d->request.by != VIEW_BY_PROCESS && d->request.by != VIEW_BY_THREAD &&
		    d->request.by != VIEW_BY_TRACE)
			return 0;
		(void)fail("--by takes function, module, program, container or service, "
			   "not \"%s\"",
			   arg);
		return usage_hint("diff");
	case OPTION_KIND:
		d->request.kind = arg;
		return 0;
	case OPTION_MIN:
		return percent_parse("diff", "--min", arg, &d->min_percent);
	case OPTION_TOTAL:
		d->by_total = true;
		return 0;
	case 'o':
		d->page = arg;
		return 0;
	case 'n':
		return parse_number("diff", "-n", arg, 1, ROWS_MAX, &d->lines);
	default:
		return usage_hint("diff");
	}
}

/* A name with another ending than a page's promises something else. */
static bool is_page(const char *path)
{
	const char *slash = strrchr(path, '/'), *dot = strrchr(path, '.');

	return !dot || (slash && dot < slash) || strcasecmp(dot, ".html") == 0 ||
	       strcasecmp(dot, ".htm") == 0;
}

static int parse(struct diff *d, int argc, char **argv, bool *ret_help)
{
	static const struct option longs[] = {
		{ "help", no_argument, NULL, 'h' },
		{ "output", required_argument, NULL, 'o' },
		{ "format", required_argument, NULL, OPTION_FORMAT },
		{ "by", required_argument, NULL, OPTION_BY },
		{ "total", no_argument, NULL, OPTION_TOTAL },
		{ "lines", required_argument, NULL, 'n' },
		{ "min", required_argument, NULL, OPTION_MIN },
		{ "kind", required_argument, NULL, OPTION_KIND },
		{ NULL, 0, NULL, 0 },
	};
	int c, r = 0;

	while (!r && (c = getopt_long(argc, argv, "hn:o:", longs, NULL)) != -1) {
		if (c == 'h') {
			*ret_help = true;
			return help(stdout);
		}
		r = take(d, c, optarg);
	}
	if (!r && argc - optind != SIDES) {
		(void)fail("diff takes two recordings");
		return usage_hint("diff");
	}
	if (!r && d->page && !is_page(d->page)) {
		(void)fail("diff -o writes a page: \"%s\" has to end with .html",
			   d->page);
		r = usage_hint("diff");
	}
	d->files = argv + optind;
	if (d->request.by > VIEW_BY_MODULE)
		d->by_total = true; /* a process has no self time */
	return r;
}

static int write_page(void *data, int fd)
{
	struct diff *d = data;
	int r = op_html_compare(d->recordings[0], d->recordings[1], fd);

	return r < 0 ? fail("cannot write %s: %s", d->page, strerror(-r)) : 0;
}

static int write_table(struct diff *d)
{
	size_t n;
	int r = compare_views(d);

	if (r)
		return r;
	n = rows_to_show(d);
	if (d->form == FORM_JSON)
		write_json(d, n);
	else if (d->form == FORM_MARKDOWN)
		write_markdown(d, n);
	else
		write_text(d, n);
	return fflush(stdout) == 0 && !ferror(stdout)
		       ? STATUS_OK
		       : fail("cannot write: %s", strerror(errno));
}

/* Of the other recording the same kind is shown: shares of two kinds say nothing. */
static int ask_for_same_kind(struct diff *d)
{
	const struct view *v = &d->views[0];
	const struct op_collect_kind *k = &v->c->kinds.data[v->kind];
	char type[VALUE_BYTES], unit[VALUE_BYTES];
	uint32_t kind;

	d->request.same_kind = v;
	if (op_collect_same_kind(d->recordings[1], v->c, v->kind, &kind) == 0)
		return 0;
	(void)fail("%s has no %s (%s), which would be compared with those of %s",
		   recording_title(d->files[1]),
		   view_text(v->c, k->counted_type, type, sizeof(type)),
		   view_text(v->c, k->counted_unit, unit, sizeof(unit)),
		   recording_title(d->files[0]));
	view_say_kinds(d->recordings[1]);
	return STATUS_FAILED;
}

static int run(struct diff *d)
{
	int side, r = 0;

	for (side = 0; !r && side < SIDES; side++)
		r = recording_collect(&d->files[side], 1, OP_COLLECT_FUNCTIONS, NULL,
				      &d->recordings[side]);
	if (!r)
		r = view_make_or_say(d->recordings[0], &d->request,
				     recording_title(d->files[0]), &d->views[0]);
	if (!r)
		r = ask_for_same_kind(d);
	if (!r)
		r = view_make_or_say(d->recordings[1], &d->request,
				     recording_title(d->files[1]), &d->views[1]);
	if (r)
		return r;
	if (!d->page)
		return write_table(d);
	op_collect_match_kinds(d->recordings[0], d->recordings[1]);
	return output_write(d->page, write_page, d);
}

int command_diff(int argc, char **argv)
{
	struct diff d = { .request = { .pid = -1 }, .min_percent = 0.1 };
	bool helped = false;
	size_t i;
	int side, r = parse(&d, argc, argv, &helped);

	if (r || helped)
		return r;
	r = run(&d);
	for (i = 0; i < d.len; i++) {
		free(d.changes[i].name);
		free(d.changes[i].module);
	}
	free(d.changes);
	for (side = 0; side < SIDES; side++) {
		view_clear(&d.views[side]);
		(void)op_collect_free(d.recordings[side]);
	}
	return r;
}
