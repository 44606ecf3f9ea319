/* SPDX-License-Identifier: Apache-2.0 */
/* otelprof record: profiles into a file, for some time or as long as a command runs. */
#include "choose/children.h"
#include "choose/rules.h"
#include "common.h"
#include "formats.h"
#include "record/child.h"
#include "record/summary.h"
#include "recordings/last.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cleanup.h"
#include "base/strbuf.h"
#include "record/keep.h"
#include "recording/write/output.h"

enum {
	DEFAULT_SECONDS = 10,
	DEFAULT_PATH_BYTES = 32,
	FLUSH_MS = -1 /* the reader of a pipe may take long */
};
/* Time for looking up lines at the end, unless they are in the cache. */
#define LINES_S	    10.0
#define LINES_BYTES (UINT64_C(256) << 20)
#define WINDOW_S    5.0 /* memory is bounded by a window, not by the whole recording */

struct record {
	struct options o;
	const char *path;
	char default_path[DEFAULT_PATH_BYTES]; /* without -o */
	const struct op_form *format;
	char **argv; /* the command to run, or NULL */
	struct child child;
	struct summary summary;
	struct keep keep;
	struct output *out; /* requests, for a format that is made at the end */
	struct otelprof_settings *settings;
	bool quiet;
	bool no_keep;
	bool open;  /* show the page in a browser */
	bool hangs; /* the only samples are the threads at the end */
	bool told;  /* note that the first interrupt was the command's */
};

enum {
	OPTION_FORMAT = OPTION_OWN,
	OPTION_NO_KEEP,
	OPTION_OPEN,
};

static int help(FILE *f, const struct options *o)
{
	(void)fputs(
		"Usage: otelprof record [OPTIONS] [-- COMMAND [ARGUMENT...]]\n\n"
		"Profiles this host into a file. With a COMMAND: runs it and profiles it and\n"
		"its children until it ends. Without: for 10 seconds, or until Ctrl-C.\n\n"
		"  -o, --output FILE           the output file (profile.html), \"-\" is standard\n"
		"                              output, an older file is kept as FILE.old\n",
		f);
	format_help(f, FORM_RECORD, 30, "%s (by the ending of FILE)");
	(void)fputs(
		"  -q, --quiet                 no summary at the end\n"
		"      --open                  show the page in a browser\n"
		"      --no-keep               keep no copy for 'otelprof report' without FILE\n",
		f);
	options_help(f, o);
	(void)fputs(
		"\nhtml is one page with a flame graph, for any browser. pprof is for\n"
		"'go tool pprof', folded is text for flame graph scripts. otlp is each request\n"
		"after its length as 4 bytes, big endian.\n"
		"\nUnder sudo a COMMAND runs as the user who called sudo.\n"
		"\nExit status: that of COMMAND, 1 if the profiling failed, 2 for a mistake in\n"
		"the options. After -d seconds COMMAND gets SIGTERM. The first Ctrl-C goes to\n"
		"COMMAND, the second one ends the recording.\n",
		f);
	return STATUS_OK;
}

static int settle_output(struct record *rec)
{
	if (!rec->format && rec->path)
		return format_by_ending("record", rec->path, FORM_RECORD, &rec->format);
	if (!rec->format)
		return format_by_name("record", "html", FORM_RECORD, &rec->format);
	return 0;
}

static int take(void *data, int c, char *arg)
{
	struct record *rec = data;

	if (c == OPTION_FORMAT)
		return format_by_name("record", arg, FORM_RECORD, &rec->format);
	if (c == 'q')
		rec->quiet = true;
	else if (c == OPTION_NO_KEEP)
		rec->no_keep = true;
	else if (c == OPTION_OPEN)
		rec->open = true;
	else
		rec->path = arg;
	return 0;
}

static int parse(struct record *rec, int argc, char **argv)
{
	static const struct option longs[] = {
		{ "output", required_argument, NULL, 'o' },
		{ "format", required_argument, NULL, OPTION_FORMAT },
		{ "quiet", no_argument, NULL, 'q' },
		{ "open", no_argument, NULL, OPTION_OPEN },
		{ "no-keep", no_argument, NULL, OPTION_NO_KEEP },
		{ NULL, 0, NULL, 0 },
	};
	/* "+": words after the first one that is not an option belong to the command. */
	int r = options_parse(&rec->o, argc, argv, "+o:q", longs, take, rec);

	if (r)
		return r;
	if (optind < argc)
		rec->argv = argv + optind;
	if (rec->argv && rec->o.includes) {
		(void)fail("give either a command or what to sample, not both");
		return usage_hint("record");
	}
	if (!rec->argv && rec->o.seconds <= 0)
		rec->o.seconds = DEFAULT_SECONDS;
	r = settle_output(rec);
	if (!r && rec->open &&
	    (strcmp(rec->format->name, "html") != 0 ||
	     (rec->path && !strcmp(rec->path, "-")))) {
		(void)fail("--open is for a page: html, in a file");
		return usage_hint("record");
	}
	if (!r && !rec->path) {
		(void)snprintf(rec->default_path, sizeof(rec->default_path), "profile%s",
			       rec->format->endings[0]);
		rec->path = rec->default_path;
	}
	return r;
}

/* Lines of folded stacks have no place for a unit. */
static void tell_of_one_kind(const struct record *rec)
{
	struct otelprof_config config;

	otelprof_config_init(&config, sizeof(config));
	(void)otelprof_settings_get_config(rec->settings, &config);
	if (rec->format->one_kind && config.kinds & (config.kinds - 1))
		note("warning: %s will have one kind of samples, those of the CPUs if "
		     "there are any; -o FILE.otlp keeps all",
		     rec->path);
}

/* Formats other than the requests themselves are made at the end, when lines are known. */
static int open_file(struct record *rec, struct otelprof *p)
{
	struct otelprof_file_config config;
	int r;

	tell_of_one_kind(rec);
	rec->keep.only = form_reads(rec->format);
	if (rec->keep.only)
		return output_begin(rec->path, &rec->out);
	otelprof_file_config_init(&config, sizeof(config));
	config.path = rec->path;
	config.format = rec->format->library->format;
	r = otelprof_exporter_file(p, &config);
	return r < 0 ? fail_library(p, "cannot record", r) : 0;
}

/* Between polls. */
static bool is_done(void *data)
{
	struct record *rec = data;

	if (rec->argv && !rec->told && signals_interrupt_was_spared()) {
		rec->told = true;
		note("interrupted: recording until the command ends; again to end it");
	}
	return rec->argv && child_ended(&rec->child);
}

/* What write_recording() needs. */
struct writing {
	const struct record *rec;
	const struct recording *of;
};

static int write_recording(void *data, int fd)
{
	const struct writing *w = data;

	return form_write(w->rec->format, w->of, w->rec->path, fd);
}

/* Read the recording, with lines, for the summary and the output. */
static int load(const struct record *rec, struct recording *ret)
{
	struct recording_request request = {
		.detail = form_detail(rec->format),
		.timed = rec->format->timed,
		.times = rec->format->library && rec->format->library->timed,
		.lines = { .wanted = true,
			   .request = { .seconds = LINES_S, .memory = LINES_BYTES } },
	};
	int r;

	if (request.detail < OP_COLLECT_LOCATIONS)
		request.detail = OP_COLLECT_LOCATIONS;
	r = keep_load(&rec->keep, &request, ret);
	if (r || ret->c->stacks.len < ret->c->stacks_max ||
	    form_detail(rec->format) == request.detail)
		return r;
	/* Stacks that differ only in addresses are one for this format. */
	note("there are too many stacks to keep their lines apart");
	recording_clear(ret);
	*ret = (struct recording){ 0 };
	request.detail = form_detail(rec->format);
	request.lines.wanted = false;
	return keep_load(&rec->keep, &request, ret);
}

/* Make the output of the recording. An interrupt does not shorten it. */
static int finish_output(struct record *rec, const struct recording *of)
{
	struct writing w = { rec, of };
	struct output *out = rec->out;

	rec->out = NULL;
	return output_end(out, of->c ? write_recording : NULL, &w);
}

/* A command without samples has not failed: keep its exit status. */
static int tell_of_none(struct record *rec, struct otelprof *p)
{
	if (rec->argv && child_cannot_run(&rec->child))
		return STATUS_FAILED;
	return fail_no_samples(p, &rec->o, rec->argv) && rec->argv ? 0 : STATUS_FAILED;
}

/* Samples that rules leave out are not lost. */
static void tell_of_lost(struct otelprof *p, const struct otelprof_stats *st)
{
	(void)fprintf(stderr, "lost: %" PRIu64 " of %" PRIu64 " samples",
		      st->samples_dropped, st->samples_taken - st->samples_filtered);
	print_drop_reasons(stderr, p);
	(void)fputc('\n', stderr);
}

/* The words of @argv as they were typed, for a heading. NULL: none. */
static char *command_line(char *const *argv)
{
	struct op_strbuf line = { 0 };
	size_t i;

	for (i = 0; argv && argv[i]; i++)
		op_strbuf_printf(&line, "%s%s", i ? " " : "", argv[i]);
	return line.data;
}

/* Write the output and print the summary. @status: how the session ended. Returns the exit status. */
static int report(struct record *rec, struct otelprof *p, int status)
{
	_cleanup_free_ char *command = command_line(rec->argv);
	struct recording of = { 0 };
	struct otelprof_stats st;
	int r = 0;

	otelprof_stats_init(&st, sizeof(st));
	(void)otelprof_get_stats(p, &st);
	if (rec->keep.bytes && (rec->out || !rec->quiet))
		r = load(rec, &of);
	if (of.c) {
		of.c->command = command;
		of.c->none_lost = !st.samples_dropped;
	}
	if (!r)
		r = finish_output(rec, &of);
	status = status ? status : r;
	/* First, since who left out the process that works finds its answer there. */
	if (!rec->quiet)
		children_tell(&rec->o);
	if (!status && !st.samples_exported)
		status = tell_of_none(rec, p);
	else if (!status)
		note("%" PRIu64 " sample%s in %s%s", st.samples_exported,
		     st.samples_exported == 1 ? "" : "s", rec->path,
		     rec->hangs ? ": nothing ran, these are threads at the end"
				  "; --kinds off_cpu records earlier waits"
				: "");
	if (!rec->quiet && of.c)
		summary_print(&rec->summary, &of, p);
	if (rec->o.verbose)
		print_accounting(stderr, p);
	else if (st.samples_dropped)
		tell_of_lost(p, &st);
	if (rec->o.verbose)
		print_stacks(stderr, p);
	recording_clear(&of);
	return status;
}

#define WAIT_KINDS (OTELPROF_KIND_OFF_CPU | OTELPROF_KIND_WALL | OTELPROF_KIND_LOCKS)

/* Does it record waits, which are known only when they end? */
static bool records_waits(uint64_t kinds)
{
	return kinds & WAIT_KINDS;
}

static uint64_t kinds_of(const struct record *rec)
{
	struct otelprof_config config;

	otelprof_config_init(&config, sizeof(config));
	(void)otelprof_settings_get_config(rec->settings, &config);
	return config.kinds ?: OTELPROF_KIND_CPU;
}

/* The last export before the stop takes snapshots: make it at the end. */
static void take_last_snapshots(struct otelprof *p, uint64_t kinds)
{
	if (kinds & (OTELPROF_KIND_THREADS | OTELPROF_KIND_GOROUTINES))
		(void)otelprof_export(p);
}

/*
 * A process that hangs has no time on a CPU, and no wait that ends. Then the answer is
 * where its threads are at the end. With the kind threads, the stop counts waits that
 * have not ended.
 */
static void add_threads(struct record *rec, struct otelprof *p, uint64_t kinds)
{
	/* these supplement the requested kinds */
	bool asked_only = rec->format->one_kind || !strcmp(rec->format->name, "pprof");
	struct otelprof_stats st;
	bool none;

	otelprof_stats_init(&st, sizeof(st));
	if ((!rec->o.includes && !rec->argv) || (rec->argv && child_ended(&rec->child)) ||
	    (kinds & ~(WAIT_KINDS | OTELPROF_KIND_CPU)) || otelprof_get_stats(p, &st) < 0)
		return;
	/* Are these all samples? They are counted when their window ends. */
	if (st.samples_taken <= st.samples_filtered) {
		(void)otelprof_export(p);
		(void)otelprof_get_stats(p, &st);
	}
	none = st.samples_taken <= st.samples_filtered;
	if (!none && !records_waits(kinds))
		return;
	rec->hangs = none && !records_waits(kinds);
	if (otelprof_set_kinds(p, kinds | OTELPROF_KIND_THREADS) == 0 &&
	    (!asked_only || rec->hangs))
		(void)otelprof_export(p);
}

static int profile(struct record *rec, struct otelprof *p)
{
	struct older older = { NULL, NULL };
	int r = open_file(rec, p), closed;

	if (r)
		return r;
	r = keep_start(&rec->keep, p);
	if (r)
		return r;
	r = otelprof_start(p);
	if (r < 0)
		return fail_library(p, "cannot start sampling", r);
	summary_begin(&rec->summary);
	if (rec->argv) {
		r = child_go(&rec->child);
		if (r)
			return r;
	}
	/* The terminal belongs to the command, which may be drawing on it. */
	r = session_run(p, &rec->o, WINDOW_S, !rec->argv && !rec->quiet, is_done, rec);
	summary_end(&rec->summary);
	if (!r) {
		take_last_snapshots(p, kinds_of(rec));
		add_threads(rec, p, kinds_of(rec));
	}
	if (!rec->out)
		older_keep(rec->path, &older);
	closed = session_close(p, FLUSH_MS);
	older_end(rec->path, &older);
	return report(rec, p, r ? r : closed);
}

static void record_clear(struct record *rec)
{
	(void)otelprof_settings_free(rec->settings);
	(void)output_end(rec->out, NULL, NULL);
	keep_clear(&rec->keep);
	options_clear(&rec->o);
}

int command_record(int argc, char **argv)
{
	_cleanup_(record_clear) struct record rec = {
		.o = { .command = "record", .rate = "99" },
		.child = CHILD_NONE,
		.keep = KEEP_NONE,
	};
	struct otelprof *p = NULL;
	int r = parse(&rec, argc, argv);

	if (r)
		return r == OPTIONS_HELP ? help(stdout, &rec.o) : r;
	signals_catch();
	r = session_settings(&rec.o, &rec.settings);
	if (r)
		return r;
	rec.o.settings = rec.settings;
	/* Fork before the handle is made; the child executes when sampling has begun. */
	if (rec.argv) {
		signals_spare_interrupt();
		r = child_fork(&rec.child, rec.argv);
		if (!r)
			r = rules_include_tree(&rec.o, rec.child.pid);
	}
	if (!r)
		r = session_open(&rec.o, &p);
	if (!r)
		r = profile(&rec, p);
	(void)otelprof_free(p);
	if (!rec.no_keep && rec.keep.fd >= 0)
		last_keep(rec.keep.fd, rec.keep.bytes);
	if (!r && rec.open)
		child_open_page(rec.path);
	return rec.argv ? child_finish(&rec.child, r) : r;
}
