/* SPDX-License-Identifier: Apache-2.0 */
/* otelprof top: prints the functions that use the CPUs, or where other kinds of events are,
 * again and again on a terminal. */
#include "top/top.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "recording/write/report.h"
#include "recordings/filters.h"

enum {
	DEFAULT_ROWS = 20,
	ROWS_MAX = 100000,
	FLUSH_MS = 5000,
	SCREEN_LINES_KEPT = 4, /* headings, and the line of the cursor */
	OTHER_COLUMNS = 56,
	FUNCTION_COLUMNS_MIN = 24,
	FUNCTION_COLUMNS_PIPE = 120,
	ANSWER_COLUMNS = 120,
	ANSWER_ROWS = 3,
	OPTION_JSON = OPTION_OWN,
	OPTION_ONCE,
};
#define ONCE_S	  5.0
#define REFRESH_S 2.0

static int help(FILE *f, const struct options *o)
{
	(void)fputs(
		"Usage: otelprof top [OPTIONS]\n\n"
		"Shows what takes the CPUs: first your own code, with its hot lines, then all\n"
		"functions by process. A terminal shows a new table every 2 seconds until q, a\n"
		"pipe gets one table of 5 seconds. With --kinds there is a table for each type\n"
		"of samples, in its own unit.\n\n"
		"  -n, --rows N                at most N functions (20, or as many as fit)\n"
		"  -1, --once                  one table, on a terminal too\n"
		"      --json                  for programs: one object, once\n",
		f);
	filters_help(f, 30, FILTERS_LIVE);
	options_help(f, o);
	(void)fputs(
		"\nSELF is time in the function itself, TOTAL with what it calls. -d gives\n"
		"the seconds of one table. On a terminal h shows the keys: by process, program,\n"
		"container or thread, order, filter, search, pause.\n",
		f);
	return STATUS_OK;
}

static int take(void *data, int c, char *arg)
{
	struct top *t = data;

	if (c == 'n')
		return parse_number("top", "-n", arg, 1, ROWS_MAX, &t->rows);
	if (c == '1')
		t->live = false;
	else if (filters_has(c))
		return filters_take("top", c, arg, &t->filter);
	else
		t->json = true;
	return 0;
}

static int parse(struct top *t, int argc, char **argv)
{
	static const struct option longs[] = {
		{ "rows", required_argument, NULL, 'n' },
		{ "lines", required_argument, NULL, 'n' },
		{ "once", no_argument, NULL, '1' },
		{ "json", no_argument, NULL, OPTION_JSON },
		FILTERS_LIVE_LONG,
		{ NULL, 0, NULL, 0 },
	};
	int r = options_parse(&t->o, argc, argv, "n:1", longs, take, t);

	if (!r && optind < argc) {
		(void)fail("top does not take \"%s\"", argv[optind]);
		return usage_hint("top");
	}
	if (t->json)
		t->live = false;
	if (t->o.seconds <= 0)
		t->o.seconds = t->live ? REFRESH_S : ONCE_S;
	return r;
}

/* Keep a copy of @request if it fits. */
static int keep(struct top_window *w, const void *request, size_t len)
{
	void *more;

	if (len > TOP_WINDOW_BYTES - w->bytes) {
		w->full = true;
		return 0;
	}
	if (w->len == w->cap) {
		more = reallocarray(w->requests, w->cap + 64, sizeof(*w->requests));
		if (!more)
			return -ENOMEM;
		w->requests = more;
		w->cap += 64;
	}
	w->requests[w->len].data = malloc(len);
	if (!w->requests[w->len].data)
		return -ENOMEM;
	memcpy(w->requests[w->len].data, request, len);
	w->requests[w->len++].len = len;
	w->bytes += len;
	return 0;
}

void top_window_clear(struct top_window *w)
{
	size_t i;

	for (i = 0; i < w->len; i++)
		free(w->requests[i].data);
	free(w->requests);
	*w = (struct top_window){ 0 };
}

/* The samples that pass the filter. */
static int take_request(void *data, const void *request, size_t len)
{
	struct top *t = data;
	int r = keep(&t->window, request, len);

	return r || t->live ? r : kinds_add(&t->kinds, request, len);
}

static int on_request(void *userdata, const void *request, size_t len, uint64_t samples)
{
	struct top *t = userdata;

	t->seen += samples;
	return t->filtering ? filter_run_add(t->filtering, request, len)
			    : take_request(t, request, len);
}

const struct kind_sums *top_kind(const struct top *t)
{
	static const struct kind_sums none = { .clock = true };
	const struct kind_sums *k = kinds_find(&t->kinds, &t->shown);

	return k ? k : &none;
}

double top_percent(const struct kind_sums *k, uint64_t value)
{
	return k->sums.value ? 100.0 * (double)value / (double)k->sums.value : 0;
}

void top_headline(const struct top *t, const struct kind_sums *k, char *buf, size_t size)
{
	char amount[KIND_AMOUNT_BYTES], lost[32] = "";

	if (t->lost > 0)
		(void)snprintf(lost, sizeof(lost), ", %.2g%% were lost", t->lost);
	if (k->clock)
		(void)snprintf(buf, size, "%" PRIu64 " samples in %.1f s at %u Hz%s",
			       k->sums.samples, t->measured, t->rate_hz, lost);
	else
		(void)snprintf(buf, size, "%s: %s (%s) in %.1f s%s", k->type,
			       kind_amount(k, k->sums.value, amount), k->unit,
			       t->measured, lost);
}

void top_measure(struct top *t, struct otelprof *p, double seconds)
{
	struct otelprof_stats st;
	uint64_t taken;

	t->measured = seconds;
	otelprof_stats_init(&st, sizeof(st));
	if (otelprof_get_stats(p, &st) < 0)
		return;
	if (st.sample_period_ns)
		t->rate_hz = (uint32_t)(1e9 / (double)st.sample_period_ns + 0.5);
	taken = st.samples_taken - st.samples_filtered;
	t->lost = taken > t->taken ? 100.0 * (double)(st.samples_dropped - t->dropped) /
					     (double)(taken - t->taken)
				   : 0;
	t->taken = taken;
	t->dropped = st.samples_dropped;
}

static size_t rows_to_show(const struct top *t, const struct function_sums *sums)
{
	struct winsize ws = { 0 };
	size_t max = DEFAULT_ROWS;

	if (t->rows)
		max = (size_t)t->rows;
	else if (t->live && ioctl(STDOUT_FILENO, TIOCGWINSZ, &ws) == 0 &&
		 ws.ws_row > SCREEN_LINES_KEPT)
		max = ws.ws_row - SCREEN_LINES_KEPT;
	return max < sums->len ? max : sums->len;
}

/* The columns left for a function's name; a pipe gets lines of a readable length. */
static int function_width(bool live)
{
	struct winsize ws = { 0 };

	if (live && ioctl(STDOUT_FILENO, TIOCGWINSZ, &ws) == 0 &&
	    ws.ws_col > OTHER_COLUMNS + FUNCTION_COLUMNS_MIN)
		return ws.ws_col - OTHER_COLUMNS;
	return live ? FUNCTION_COLUMNS_MIN : FUNCTION_COLUMNS_PIPE;
}

const char *top_module(const struct function_row *row)
{
	const char *path = *row->module ? row->module : row->file;
	const char *slash = strrchr(path, '/');

	return slash ? slash + 1 : path;
}

static void print_row(const struct kind_sums *k, const struct function_row *row,
		      int width)
{
	char amount[KIND_AMOUNT_BYTES];
	const char *module = top_module(row);

	(void)printf("%6.2f%% %6.2f%% ", top_percent(k, row->self_value),
		     top_percent(k, row->total_value));
	if (!k->clock)
		(void)printf("%10s ", kind_amount(k, row->total_value, amount));
	(void)printf("%7" PRId64 " ", row->id);
	print_safe(stdout, row->owner, strlen(row->owner), 15);
	(void)fputc(' ', stdout);
	print_safe(stdout, module, strlen(module), 14);
	(void)fputc(' ', stdout);
	print_name(stdout, row->function, -width);
	(void)fputc('\n', stdout);
}

static void print_kind(const struct top *t, const struct kind_sums *k)
{
	bool colour = colour_wanted(stdout);
	int width = function_width(t->live);
	size_t n = rows_to_show(t, &k->sums), i;
	char line[256];

	top_headline(t, k, line, sizeof(line));
	print_safe(stdout, line, strlen(line), 0);
	(void)printf("\n%s%7s %7s ", colour ? "\033[1m" : "", "SELF", "TOTAL");
	if (!k->clock)
		(void)printf("%10s ", "TOTAL");
	(void)printf("%7s %-15s %-14s %s%s\n", "PID", "PROCESS", "MODULE", "FUNCTION",
		     colour ? "\033[0m" : "");
	for (i = 0; i < n; i++)
		print_row(k, &k->sums.rows[i], width);
}

static void print_answer(const struct top *t, const struct top_window *w)
{
	struct top_answer a;

	top_answer_make(t, w, &a);
	top_answer_print(&a, ANSWER_COLUMNS, ANSWER_ROWS, colour_wanted(stdout), stdout);
	if (a.made)
		(void)fputc('\n', stdout);
	top_answer_clear(&a);
}

static void print_tables(const struct top *t)
{
	size_t i;

	if (t->live)
		(void)fputs("\033[H\033[J", stdout);
	print_answer(t, &t->window);
	if (!t->kinds.len)
		print_kind(t, top_kind(t));
	for (i = 0; i < t->kinds.len; i++) {
		if (i)
			(void)fputc('\n', stdout);
		print_kind(t, &t->kinds.of[i]);
	}
	(void)fflush(stdout);
}

static void json_text(const char *key, const char *value)
{
	(void)printf(", \"%s\": ", key);
	print_json_string(stdout, value, strlen(value));
}

/* @userdata: the separator before the next one. */
static void print_json_drop(void *userdata, const char *name, const char *sentence,
			    uint64_t count)
{
	const char **separator = userdata;

	if (!count)
		return;
	(void)printf("%s \"%s\": %" PRIu64, *separator, name, count);
	*separator = ",";
}

static void print_json_stats(struct otelprof *p)
{
	struct otelprof_stats st;
	const char *sep = "";

	otelprof_stats_init(&st, sizeof(st));
	(void)otelprof_get_stats(p, &st);
	(void)printf("  \"taken\": %" PRIu64 ",\n  \"exported\": %" PRIu64
		     ",\n  \"filtered\": %" PRIu64 ",\n  \"pending\": %" PRIu64
		     ",\n  \"dropped\": {",
		     st.samples_taken, st.samples_exported, st.samples_filtered,
		     st.samples_pending);
	(void)otelprof_drops(p, print_json_drop, &sep);
	(void)printf(" },\n");
}

static void print_json_functions(const struct top *t, const struct kind_sums *k)
{
	const char *suffix = k->clock ? "ns" : "value";
	const struct function_row *row;
	size_t n = rows_to_show(t, &k->sums), i;

	(void)printf("\"functions\": [");
	for (i = 0; i < n; i++) {
		row = &k->sums.rows[i];
		(void)printf("%s\n    { \"pid\": %" PRId64, i ? "," : "", row->id);
		json_text("process", row->owner);
		json_text("container_id", row->container_id);
		json_text("function", row->function);
		json_text("module", row->module);
		json_text("file", row->file);
		json_text("type", row->type);
		(void)printf(", \"self\": %" PRIu64 ", \"total\": %" PRIu64
			     ", \"self_%s\": %" PRIu64 ", \"total_%s\": %" PRIu64
			     ", \"self_percent\": %.2f, \"total_percent\": %.2f }",
			     row->self, row->total, suffix, row->self_value, suffix,
			     row->total_value, top_percent(k, row->self_value),
			     top_percent(k, row->total_value));
	}
	(void)printf("%s],\n  \"functions_known\": %zu", n ? "\n  " : "", k->sums.len);
}

/* Kinds other than the CPU clock, of which there is at most one: the first. */
static void print_json_kinds(const struct top *t)
{
	const struct kind_sums *k;
	const char *sep = "";
	size_t i;

	(void)printf("  \"kinds\": [");
	for (i = 0; i < t->kinds.len; i++) {
		k = &t->kinds.of[i];
		if (k->clock)
			continue;
		(void)printf("%s\n  { \"samples\": %" PRIu64 ", \"value\": %" PRIu64, sep,
			     k->sums.samples, k->sums.value);
		json_text("type", k->type);
		json_text("unit", k->unit);
		(void)printf(", ");
		print_json_functions(t, k);
		(void)printf(" }");
		sep = ",";
	}
	(void)printf("%s]\n}\n", *sep ? "\n  " : "");
}

static void print_json_answer(const struct top *t)
{
	struct top_answer a;

	top_answer_make(t, &t->window, &a);
	if (a.made) {
		(void)printf("  ");
		report_json_answer(&a.a, 0, stdout);
		(void)printf(",\n");
	}
	top_answer_clear(&a);
}

static void print_json(const struct top *t, struct otelprof *p)
{
	static const struct kind_sums none = { .clock = true };
	const struct kind_sums *cpu =
		t->kinds.len && t->kinds.of[0].clock ? &t->kinds.of[0] : &none;

	(void)printf("{\n  \"version\": 1,\n  \"seconds\": %.3f,\n  \"rate_hz\": %u,\n"
		     "  \"samples\": %" PRIu64 ",\n  \"cpu_ns\": %" PRIu64 ",\n",
		     t->measured, t->rate_hz, cpu->sums.samples, cpu->sums.value);
	print_json_stats(p);
	(void)printf("  ");
	print_json_functions(t, cpu);
	(void)printf(",\n");
	print_json_answer(t);
	print_json_kinds(t);
}

void top_sum(struct top *t, const struct top_window *w)
{
	size_t i;

	kinds_clear(&t->kinds);
	for (i = 0; i < w->len; i++)
		(void)kinds_add(&t->kinds, w->requests[i].data, w->requests[i].len);
	kinds_sort(&t->kinds, t->order);
}

/* Print one table after another until a signal; the last one is cut short. */
static int run_live(struct top *t, struct otelprof *p)
{
	struct tries exports = TRIES_EXPORT;
	double start = t->started;
	int r;

	do {
		r = session_run(p, &t->o, TOP_WINDOW_S, false, NULL, NULL);
		if (!r)
			r = session_try(p, &exports, otelprof_export(p));
		if (r)
			return r;
		if (exports.failed)
			continue; /* the next table contains this time, too */
		top_measure(t, p, now_seconds() - start);
		top_sum(t, &t->window);
		print_tables(t);
		top_window_clear(&t->window);
		start = now_seconds();
	} while (!signal_seen() && !ferror(stdout));
	return STATUS_OK;
}

static int run_once(struct top *t, struct otelprof *p)
{
	double start = t->started;
	int r = session_run(p, &t->o, TOP_WINDOW_S, true, NULL, NULL);
	double seconds = now_seconds() - start;

	if (!r)
		r = session_close(p, FLUSH_MS);
	if (r)
		return r;
	top_measure(t, p, seconds);
	kinds_sort(&t->kinds, t->order);
	if (t->json)
		print_json(t, p);
	if (!t->kinds.len && t->seen && t->filtering)
		return fail("no sample passes the filters, of %" PRIu64, t->seen);
	if (!t->kinds.len)
		return fail_no_samples(p, &t->o, false);
	if (!t->json)
		print_tables(t);
	return STATUS_OK;
}

static int run(struct top *t, struct otelprof *p)
{
	struct otelprof_callback_config config;
	int r;

	otelprof_callback_config_init(&config, sizeof(config));
	config.fn = on_request;
	config.userdata = t;
	if (filter_has_samples(&t->filter) || filter_has_frames(&t->filter))
		r = filter_run_new(&t->filter, FILTER_NAMES_TOO, take_request, t,
				   &t->filtering);
	else
		r = 0;
	if (r)
		return fail("out of memory");
	r = otelprof_exporter_callback(p, &config);
	if (r >= 0)
		r = otelprof_start(p);
	if (r < 0)
		return fail_library(p, "cannot start sampling", r);
	t->started = now_seconds(); /* before, the processes of the host were read */
	if (!t->live)
		return run_once(t, p);
	r = top_screen(t, p);
	return r == -ENOTSUP ? run_live(t, p) : r;
}

static void top_clear(struct top *t)
{
	(void)otelprof_settings_free(t->o.settings);
	kinds_clear(&t->kinds);
	top_window_clear(&t->window);
	t->filtering = filter_run_free(t->filtering);
	filter_clear(&t->filter);
	options_clear(&t->o);
}

int command_top(int argc, char **argv)
{
	_cleanup_(top_clear) struct top t = {
		.o = { .command = "top", .rate = "99" },
		.live = isatty(STDOUT_FILENO),
	};
	struct otelprof *p = NULL;
	int r = parse(&t, argc, argv);

	if (r)
		return r == OPTIONS_HELP ? help(stdout, &t.o) : r;
	signals_catch();
	r = session_settings(&t.o, &t.o.settings);
	if (!r)
		r = session_open(&t.o, &p);
	if (!r)
		r = run(&t, p);
	(void)otelprof_free(p);
	return r;
}
