/* SPDX-License-Identifier: Apache-2.0 */
/* Sums the functions of a recording while it is made, and prints the summary; and what became
 * of its stacks. */
#include "record/summary.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "common.h"

enum {
	LINES_SHOWN = 5,
	FILES_SHOWN = 10,
	REASONS_SHOWN = 3, /* why stacks are not whole, and files without symbols */
	REASONS_MAX = 64,
	NAME_COLUMNS = 60,
	MODULE_COLUMNS = 20,
	/* functions of one recording; further ones are not summed */
	FUNCTIONS_MAX = 100000,
};

static int look(void *userdata, const void *request, size_t len, uint64_t samples)
{
	struct summary *s = userdata;

	if (s->sums.len < FUNCTIONS_MAX)
		(void)functions_add(&s->sums, request, len);
	return -ECANCELED; /* we only look at the request */
}

int summary_watch(struct summary *s, struct otelprof *p)
{
	struct otelprof_callback_config config;

	otelprof_callback_config_init(&config, sizeof(config));
	config.fn = look;
	config.userdata = s;
	s->sums.owner = OWNER_ALL;
	s->sums.quality = &s->quality;
	s->start = now_seconds();
	return otelprof_exporter_callback(p, &config);
}

static void print_functions(const struct function_sums *sums)
{
	const struct function_row *row = sums->rows;
	const char *module;
	size_t i;

	for (i = 0; i < sums->len && i < LINES_SHOWN && row->self_value; i++, row++) {
		module = *row->module ? row->module : row->file;
		module = strrchr(module, '/') ? strrchr(module, '/') + 1 : module;
		(void)fprintf(stderr, "%6.1f%%  ",
			      100.0 * (double)row->self_value / (double)sums->value);
		print_safe(stderr, module, strlen(module), MODULE_COLUMNS);
		(void)fputc(' ', stderr);
		print_name(stderr, row->function, -NAME_COLUMNS);
		(void)fputc('\n', stderr);
	}
}

static double own_seconds(void)
{
	struct rusage u;

	if (getrusage(RUSAGE_SELF, &u) < 0)
		return 0;
	return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
	       (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

/* Why stacks are not whole: reasons and how often. */
struct reasons {
	struct {
		const char *name;
		const char *sentence;
		uint64_t count;
	} of[REASONS_MAX];
	size_t len;
};

/* The texts are those of a table of the library and stay. */
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
	take_reason(&why, "truncated", "They were cut at --max-frames.",
		    st->stacks_truncated);
	for (i = 0; i < why.len && i < REASONS_SHOWN; i++)
		(void)fprintf(stderr, "%14.1f%%  %s: %s\n",
			      100.0 * (double)why.of[i].count / (double)all,
			      why.of[i].name, why.of[i].sentence);
}

static void print_named(struct quality *q)
{
	size_t i;

	if (!q->frames)
		return;
	quality_sort(q);
	(void)fprintf(stderr, "%6.1f%%  of the frames have names%s\n",
		      100.0 * (double)(q->frames - q->unnamed) / (double)q->frames,
		      q->unnamed ? "; of the others, files without symbols:" : "");
	for (i = 0; i < q->files_len && i < REASONS_SHOWN; i++) {
		(void)fprintf(stderr, "%14.1f%%  ",
			      100.0 * (double)q->files[i].frames / (double)q->frames);
		print_safe(stderr, q->files[i].name, strlen(q->files[i].name),
			   -NAME_COLUMNS);
		(void)fputc('\n', stderr);
	}
}

static void print_quality(struct summary *s, struct otelprof *p)
{
	double seconds = now_seconds() - s->start;
	struct otelprof_stats st;

	otelprof_stats_init(&st, sizeof(st));
	if (otelprof_get_stats(p, &st) < 0)
		return;
	print_whole(p, &st);
	if (s->quality.guessed)
		(void)fprintf(stderr,
			      "%6.1f%%  of the stacks go by a guess: callers may be "
			      "missing or wrong\n",
			      100.0 * (double)s->quality.guessed /
				      (double)s->quality.samples);
	print_named(&s->quality);
	if (st.samples_taken)
		(void)fprintf(stderr, "%6.1f%%  of the samples were lost\n",
			      100.0 * (double)st.samples_dropped /
				      (double)st.samples_taken);
	if (seconds > 0)
		(void)fprintf(stderr, "%6.1f%%  of one CPU went to otelprof itself\n",
			      100.0 * own_seconds() / seconds);
}

void summary_print(struct summary *s, struct otelprof *p)
{
	if (!s->quality.frames)
		return;
	functions_sort(&s->sums, FUNCTIONS_BY_SELF);
	print_functions(&s->sums);
	print_quality(s, p);
}

void summary_clear(struct summary *s)
{
	functions_clear(&s->sums);
	quality_clear(&s->quality);
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
		  "reads of processes that stalled others were not made" },
		{ st->tables_failed, "tables_failed",
		  "unwind tables could not be made, or were past a share" },
		{ st->processes_unseen, "processes_unseen",
		  "processes were past max_processes" },
		{ st->executables_unseen, "executables_unseen",
		  "executables were past the limit" },
		{ st->events_lost, "events_lost",
		  "process events were lost, and processes read again" },
		{ st->names_evicted, "names_evicted",
		  "names of executables were given up to make room" },
		{ st->tables_evicted, "tables_evicted",
		  "unwind tables were given up to make room" },
		{ st->processes_evicted, "processes_evicted",
		  "processes were given up to make room" },
		{ st->names_postponed, "names_postponed",
		  "frames got no name yet, to stay within a budget" },
		{ st->tables_postponed, "tables_postponed",
		  "unwind tables were made later, to stay within a budget" },
		{ st->memory_over, "memory_over",
		  "looks at which memory was above memory_limit_bytes" },
		{ st->contexts_lost, "contexts_lost",
		  "samples' links or labels could not be read, or had no room" },
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
