/* SPDX-License-Identifier: Apache-2.0 */
/* otelprof export: a daemon in the foreground that sends profiles over gRPC or HTTP. */
#include "common.h"
#include "control/control.h"
#include "notify.h"
#include "reload.h"

#include <malloc.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"

enum {
	FLUSH_MS = 10000, /* less than the 30 s for which orchestrators wait */
	/* The next run sends requests in files, so the end need not wait. */
	FLUSH_SPILLED_MS = 500,
	OPTION_INTERVAL = OPTION_OWN,
	OPTION_CONTROL,
	OPTION_CONTROL_GROUP,
	HEAP_KEEPS_BYTES = 128 * 1024,
};
#define DEFAULT_INTERVAL_S 5.0

struct export
{
	struct options o;
	double interval;
	struct reload reload;
	struct notify notify;
	const char *control; /* the control socket's path; NULL: none */
	const char *control_group;
};

static int help(FILE *f, const struct options *o)
{
	(void)fputs(
		"Usage: otelprof export [OPTIONS]\n\n"
		"Profiles this host and sends OpenTelemetry Profiles until SIGTERM or Ctrl-C.\n"
		"Then it sends what is left and prints what became of every sample.\n\n"
		"      --interval S            seconds between exports (5)\n"
		"      --control[=PATH]        a socket for 'otelprof ctl'\n"
		"                              (" CONTROL_PATH ")\n"
		"      --control-group G       the socket's group (this process's group)\n",
		f);
	options_help(f, o);
	(void)fputs(
		"\nThe environment variables OTEL_EXPORTER_OTLP_* and\n"
		"OTEL_EXPORTER_OTLP_PROFILES_* are read. Options win over them. At SIGHUP the\n"
		"file of --config and the variables are read again.\n",
		f);
	return STATUS_OK;
}

static int take(void *data, int c, char *arg)
{
	struct export *e = data;

	if (c == OPTION_INTERVAL)
		return parse_seconds("export", "--interval", arg, &e->interval);
	if (c == OPTION_CONTROL)
		e->control = arg ? arg : CONTROL_PATH;
	else
		e->control_group = arg;
	return 0;
}

static int parse(struct export *e, int argc, char **argv)
{
	static const struct option longs[] = {
		{ "interval", required_argument, NULL, OPTION_INTERVAL },
		{ "control", optional_argument, NULL, OPTION_CONTROL },
		{ "control-group", required_argument, NULL, OPTION_CONTROL_GROUP },
		{ NULL, 0, NULL, 0 },
	};
	int r = options_parse(&e->o, argc, argv, "", longs, take, e);

	if (!r && optind < argc) {
		(void)fail("export does not take \"%s\"", argv[optind]);
		return usage_hint("export");
	}
	return r;
}

/* Between polls. */
static bool go_on(void *data)
{
	struct export *e = data;

	reload_check(&e->reload);
	return notify_alive(&e->notify);
}

static double rate_of(struct otelprof *p)
{
	struct otelprof_stats s;

	otelprof_stats_init(&s, sizeof(s));
	if (otelprof_get_stats(p, &s) < 0 || !s.sample_period_ns)
		return 0;
	return 1e9 / (double)s.sample_period_ns;
}

/* The drop reason with the most samples. */
struct reason {
	const char *name;
	const char *sentence;
	uint64_t count;
};

static void most_dropped(void *userdata, const char *name, const char *sentence,
			 uint64_t count)
{
	struct reason *most = userdata;

	if (count > most->count)
		*most = (struct reason){ name, sentence, count };
}

/* Fail if there were samples to deliver and none was delivered. An empty queue does not
 * show what a server refused. */
static int check_delivered(struct otelprof *p)
{
	struct reason most = { "unknown", "", 0 };
	struct otelprof_stats st;

	otelprof_stats_init(&st, sizeof(st));
	if (otelprof_get_stats(p, &st) < 0 || st.samples_exported || st.samples_spilled ||
	    st.samples_taken <= st.samples_filtered)
		return 0;
	(void)otelprof_drops(p, most_dropped, &most);
	return fail("nothing was delivered; %s: %s", most.name, most.sentence);
}

static bool has_spill_dir(const struct export *e)
{
	struct otelprof_otlp_config otlp;

	otelprof_otlp_config_init(&otlp, sizeof(otlp));
	return otelprof_settings_get_otlp(e->reload.settings, &otlp) == 0 &&
	       otlp.spill_dir && *otlp.spill_dir;
}

/* With a spill directory the end takes a second at most: it waits neither for names nor
 * for the destination. */
static int end(struct export *e, struct otelprof *p)
{
	if (!has_spill_dir(e))
		return session_close(p, FLUSH_MS);
	(void)otelprof_stop_within(p, 0);
	return session_close(p, FLUSH_SPILLED_MS);
}

static int run(struct export *e, struct otelprof *p)
{
	int r = reload_begin(&e->reload, p), closed;
	struct control control = { .fd = -1 };

	if (r)
		return r;
	r = otelprof_start(p);
	if (r < 0)
		return fail_library(p, "cannot start sampling", r);
	if (e->control && control_open(&control, p, e->control, e->control_group))
		return STATUS_FAILED;
	note("profiling at %.0f Hz, exporting every %g s", rate_of(p), e->interval);
	notify_open(&e->notify);
	notify_send("READY=1");
	r = session_run(p, &e->o, e->interval, false, go_on, e);
	notify_send("STOPPING=1");
	control_close(&control);
	if (signal_seen())
		note("%s: sending what is left", strsignal(signal_seen()));
	closed = end(e, p);
	if (!r && !closed)
		closed = check_delivered(p);
	print_accounting(stderr, p);
	return r ? r : closed;
}

/*
 * Use one heap. If each of gRPC's threads had one, each would keep memory that it needs
 * only for moments. Also limit the free memory that the heap keeps: the kernel's types,
 * 6 MB, are freed at the start, and glibc would then raise its limits and never return
 * memory again.
 */
static void use_one_heap(void)
{
#ifdef __GLIBC__
	(void)mallopt(M_ARENA_MAX, 1);
	(void)mallopt(M_MMAP_THRESHOLD, HEAP_KEEPS_BYTES);
	(void)mallopt(M_TRIM_THRESHOLD, HEAP_KEEPS_BYTES);
#endif
}

static void export_clear(struct export *e)
{
	reload_end(&e->reload);
	options_clear(&e->o);
}

int command_export(int argc, char **argv)
{
	_cleanup_(export_clear) struct export e = {
		.o = { .command = "export", .rate = "20", .exports = true },
		.interval = DEFAULT_INTERVAL_S,
	};
	struct otelprof *p = NULL;
	int r = parse(&e, argc, argv);

	if (r)
		return r == OPTIONS_HELP ? help(stdout, &e.o) : r;
	e.reload.o = &e.o;
	signals_catch();
	reload_catch(&e.reload);
	use_one_heap();
	r = reload_read(&e.reload);
	e.o.settings = e.reload.settings;
	if (!r)
		r = session_open(&e.o, &p);
	if (!r)
		r = run(&e, p);
	(void)otelprof_free(p);
	return r;
}
