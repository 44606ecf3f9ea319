/* SPDX-License-Identifier: Apache-2.0 */
/* Sums the functions of a recording while it is made, and prints the summary and the
 * outcomes of its stacks. */
#include "record/summary.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "base/macros.h"
#include "common.h"
#include "recording/tree/view.h"
#include "recording/write/report.h"

enum {
	LINES_SHOWN = 5,
	COLUMNS_PIPE = 120,
	COLUMNS_MIN = 60,
	FILE_BYTES = 4096,
	FILES_SHOWN = 10,
	REASONS_SHOWN = 3, /* why stacks are not whole, and files without symbols */
	REASONS_MAX = 64,
	NAME_COLUMNS = 60,
};

static double own_seconds(void)
{
	struct rusage u;

	if (getrusage(RUSAGE_SELF, &u) < 0)
		return 0;
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
	       (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

/* Reasons why stacks are not whole, with counts. */
struct reasons {
	struct {
		const char *name;
		const char *sentence;
		uint64_t count;
	} of[REASONS_MAX];
	size_t len;
};

/* The texts are from a static table of the library. */
static void take_reason(void *userdata, const char *name, const char *sentence,
			uint64_t count)
{
	struct reasons *r = userdata;
	size_t i;

	if (!count || r->len == REASONS_MAX)
		return;
	for (i = r->len++; i && r->of[i - 1].count < count; i--)
		r->of[i] = r->of[i - 1];
	r->of[i].name = name;
	r->of[i].sentence = sentence;
	r->of[i].count = count;
}

static void print_whole(struct otelprof *p, const struct otelprof_stats *st)
{
	uint64_t all = st->stacks_complete + st->stacks_truncated + st->stacks_broken;
	struct reasons why = { .len = 0 };
	size_t i;

	if (!all)
		return;
	(void)fprintf(stderr, "%6.1f%%  of the stacks are whole%s\n",
		      100.0 * (double)st->stacks_complete / (double)all,
		      st->stacks_complete == all ? "" : "; of the others:");
	(void)otelprof_unwind_errors(p, take_reason, &why);
	take_reason(
		&why, "truncated",
		"They were cut at --max-frames, or where the copy of a first sample's "
		"stack ends.",
		st->stacks_truncated);
	for (i = 0; i < why.len && i < REASONS_SHOWN; i++)
		(void)fprintf(stderr, "%14.1f%%  %s: %s\n",
			      100.0 * (double)why.of[i].count / (double)all,
			      why.of[i].name, why.of[i].sentence);
}

static void print_named(const struct view *v)
{
	const struct sum *file;
	char path[FILE_BYTES];
	const char *name;
	size_t i;

	if (!v->frames)
		return;
	(void)fprintf(stderr, "%6.1f%%  of the frames have names%s\n",
		      view_named_percent(v),
		      v->frames_unnamed ? "; of the others, files without symbols:" : "");
	for (i = 0; i < v->unnamed.items.len && i < REASONS_SHOWN; i++) {
		file = &v->unnamed.items.data[i];
		view_text(v->c, (uint32_t)file->key, path, sizeof(path));
		name = strrchr(path, '/') ? strrchr(path, '/') + 1 : path;
		name = *name ? name : "[no file]";
		(void)fprintf(stderr, "%14.1f%%  ",
			      100.0 * (double)file->value / (double)v->frames);
		print_safe(stderr, name, strlen(name), -NAME_COLUMNS);
		(void)fputc('\n', stderr);
	}
	if (v->frames_unnamed)
		(void)fputs("         " SYMBOLS_HINT "\n", stderr);
}

void summary_begin(struct summary *s)
{
	s->start = now_seconds();
	s->start_cpu = own_seconds();
}

void summary_end(struct summary *s)
{
	s->end = now_seconds();
	s->end_cpu = own_seconds();
}

/* The start and the end of a recording cost the same, however long it is. */
static void print_cost(const struct summary *s)
{
	double seconds = s->end - s->start;

	if (seconds > 0)
		(void)fprintf(
			stderr,
			"%6.1f%%  of one CPU went to otelprof itself, and %.2f s to "
			"its start and its end\n",
			100.0 * (s->end_cpu - s->start_cpu) / seconds,
			own_seconds() - (s->end_cpu - s->start_cpu));
}

/* Samples that rules and rates left out are not lost, and not in the whole. */
static void print_lost(const struct otelprof_stats *st)
{
	uint64_t all = st->samples_taken - st->samples_filtered;
	double percent = all ? 100.0 * (double)st->samples_dropped / (double)all : 0;

	if (percent > 0 && percent < 0.1)
		(void)fputs("  <0.1%  of the samples were lost\n", stderr);
	else if (all)
		(void)fprintf(stderr, "%6.1f%%  of the samples were lost\n", percent);
}

/* A limit that may cut stacks as long as a process runs. A process that is read again counts
 * again, so the number is none of mappings. */
static void print_unseen(const struct otelprof_stats *st)
{
	if (st->mappings_unseen)
		(void)fprintf(
			stderr,
			"         mappings of code were left out %" PRIu64
			" times, past 16,384 of a process or its share;\n"
			"         stacks that reach them end with native_no_mapping\n",
			st->mappings_unseen);
}

static void print_quality(const struct summary *s, const struct view *v,
			  struct otelprof *p)
{
	struct otelprof_stats st;

	otelprof_stats_init(&st, sizeof(st));
	if (otelprof_get_stats(p, &st) < 0)
		return;
	(void)fputc('\n', stderr);
	print_whole(p, &st);
	if (v->guessed)
		(void)fprintf(stderr,
			      "%6.1f%%  of the stacks go by a guess: callers may be "
			      "missing or wrong\n",
			      view_guessed_percent(v));
	if (v->approximate)
		(void)fprintf(stderr,
			      "%6.1f%%  of the stacks have the nearest function that the "
			      "runtime reports;\n         " REPORT_JAVA_HINT "\n",
			      view_percent(v, v->approximate));
	print_named(v);
	print_lost(&st);
	print_unseen(&st);
	print_cost(s);
}

static int columns_of_terminal(void)
{
	struct winsize ws = { 0 };

	if (ioctl(STDERR_FILENO, TIOCGWINSZ, &ws) < 0 || !ws.ws_col)
		return COLUMNS_PIPE;
	return OP_MAX(ws.ws_col, COLUMNS_MIN);
}

void summary_print(const struct summary *s, const struct recording *r, struct otelprof *p)
{
	const struct view_request request = { .kind = NULL };
	bool colour = colour_wanted(stderr);
	const struct answer_style style = {
		.columns = columns_of_terminal(),
		.bold = colour ? "\033[1m" : "",
		.plain = colour ? "\033[0m" : "",
		.cpus = (unsigned int)get_nprocs(),
		.rows = LINES_SHOWN,
	};
	struct answer answer;
	struct view v = { 0 };

	if (view_make(r->c, &request, &v) == 0) {
		if (answer_make(&v, &answer) == 0)
			report_print_answer(&answer, &style, stderr);
		print_quality(s, &v, p);
	}
	view_clear(&v);
}

static void print_reason(void *userdata, const char *name, const char *sentence,
			 uint64_t count)
{
	(void)fprintf(userdata, "  %8" PRIu64 "  %s: %s\n", count, name, sentence);
}

/* Print the limits that were reached, if any. */
static void print_limits(FILE *f, const struct otelprof_stats *st)
{
	const struct {
		uint64_t count;
		const char *name;
		const char *text;
	} limits[] = {
		{ st->reads_stalled, "reads_stalled",
		  "reads of other processes did not end in time" },
		{ st->reads_refused, "reads_refused",
		  "reads of processes that had stalled were skipped" },
		{ st->tables_failed, "tables_failed",
		  "unwind tables could not be made, or exceeded a share" },
		{ st->processes_unseen, "processes_unseen",
		  "processes were past max_processes" },
		{ st->executables_unseen, "executables_unseen",
		  "executables were past the limit" },
		{ st->mappings_unseen, "mappings_unseen",
		  "mappings of code were past the limit of a process" },
		{ st->events_lost, "events_lost",
		  "process events were lost, and processes read again" },
		{ st->names_evicted, "names_evicted",
		  "names of executables were dropped to free memory" },
		{ st->tables_evicted, "tables_evicted",
		  "unwind tables were dropped to free memory" },
		{ st->processes_evicted, "processes_evicted",
		  "processes were dropped to free memory" },
		{ st->names_postponed, "names_postponed",
		  "frames got no name yet, to stay within a budget" },
		{ st->tables_postponed, "tables_postponed",
		  "unwind tables were made later, to stay within a budget" },
		{ st->memory_over, "memory_over",
		  "checks found memory above memory_limit_bytes" },
		{ st->contexts_lost, "contexts_lost",
		  "samples' links or labels could not be read or kept" },
		{ st->labels_cut, "labels_cut", "labels were too long or too many" },
		{ st->contexts_refused, "contexts_refused",
		  "processes with links or labels were past the limit" },
	};
	bool any = false;
	size_t i;

	for (i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		if (!limits[i].count)
			continue;
		if (!any)
			(void)fputs("limits that were reached:\n", f);
		any = true;
		(void)fprintf(f, "  %8" PRIu64 "  %s: %s\n", limits[i].count,
			      limits[i].name, limits[i].text);
	}
}

/* State of printing files: how many were shown, and the sum of the others. */
struct files {
	FILE *f;
	unsigned int shown;
	uint64_t rest;
};

static void print_file(void *userdata, const struct otelprof_unwind_file *row)
{
	struct files *files = userdata;
	const char *file = row->file && *row->file ? row->file : "no file";

	if (!row->file || files->shown == FILES_SHOWN) {
		files->rest += row->count;
		return;
	}
	if (!files->shown++)
		(void)fputs("where they ended early:\n", files->f);
	(void)fprintf(files->f, "  %8" PRIu64 "  ", row->count);
	print_safe(files->f, file, strlen(file), 0);
	(void)fputs(": ", files->f);
	print_text(files->f, row->reason);
	(void)fputc('\n', files->f);
}

void print_stacks(FILE *f, struct otelprof *p)
{
	struct files files = { .f = f };
	struct otelprof_stats st;

	otelprof_stats_init(&st, sizeof(st));
	if (otelprof_get_stats(p, &st) < 0)
		return;
	(void)fprintf(f,
		      "stacks: complete %" PRIu64 ", cut %" PRIu64 ", broken %" PRIu64
		      "%s\n",
		      st.stacks_complete, st.stacks_truncated, st.stacks_broken,
		      st.stacks_broken ? ":" : "");
	(void)otelprof_unwind_errors(p, print_reason, f);
	print_limits(f, &st);
	(void)otelprof_unwind_files(p, print_file, &files);
	if (files.rest)
		(void)fprintf(f, "  %8" PRIu64 "  elsewhere\n", files.rest);
}
