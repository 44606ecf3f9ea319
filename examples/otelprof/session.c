/* SPDX-License-Identifier: Apache-2.0 */
/* A profiling session: open, run, close, and account for its samples. */
#include "base/rows/rows.h"
#include "choose/rules.h"
#include "common.h"
#include "near.h"
#include "time_namespace.h"

#include <errno.h>
#include <inttypes.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum {
	/* a signal that arrives just before the wait is noticed after this */
	POLL_MS = 1000,
	FAILED_MAX = 20, /* polls or exports in a row; after these it gives up */
	PAUSE_NS = 100000000,
	FIRST_NICE = -10,
	KEY_BYTES = 64,
	/* size of heap blocks from which on each is mapped by itself */
	LARGE_BYTES = 128 << 10,
};
#define PROGRESS_S 0.2
/* The first window is short, so that results appear soon. */
#define FIRST_WINDOW_S 0.5

static void on_log(void *userdata, int level, const char *message)
{
	(void)userdata;
	if (level <= OTELPROF_LOG_ERROR)
		(void)fail("%s", message);
	else
		note("%s%s", level == OTELPROF_LOG_WARNING ? "warning: " : "", message);
}

static int set_probes(struct otelprof *p, const struct options *o)
{
	size_t len = 0;
	const char *const *probes = otelprof_settings_get_probes(o->settings, &len);
	int r = len ? otelprof_set_probes(p, probes, len) : 0;

	return r < 0 ? fail_library(p, "cannot take that probe", r) : 0;
}

int session_open(const struct options *o, struct otelprof **ret)
{
	struct otelprof_error_info why = { .size = sizeof(why) };
	struct otelprof_config config;
	struct otelprof *p = NULL;
	int r;

	otelprof_config_init(&config, sizeof(config));
	(void)otelprof_settings_get_config(o->settings, &config);
	config.log = on_log;
	take_clocks_of_host();
	r = otelprof_init(&config, &why, &p);
	if (r < 0)
		return fail_init(&why, r);
	r = rules_apply(o, p);
	if (!r)
		r = set_probes(p, o);
	if (r) {
		(void)otelprof_free(p);
		return r;
	}
	*ret = p;
	return 0;
}

static const char *kind_name(const void *names, size_t i)
{
	(void)names;
	return op_word_kinds[i].name;
}

/* Set the values of the command line. */
static int set_given(const struct options *o, struct otelprof_settings *settings)
{
	struct otelprof_error_info why = { .size = sizeof(why) };
	char key[KEY_BYTES], *c;
	const char *near;
	size_t i;

	for (i = 0; i < o->given_len; i++) {
		const struct given *g = &o->given[i];

		(void)snprintf(key, sizeof(key), "%s", g->name);
		for (c = key; *c; c++)
			if (*c == '-')
				*c = '_';
		if (otelprof_settings_set(settings, key, g->value, &why) == 0)
			continue;
		(void)fail("--%s: %s", g->name,
			   *why.message ? why.message : "out of memory");
		if (strcmp(key, "kinds") == 0 &&
		    (near = near_name(g->value, kind_name, NULL)))
			note("did you mean --kinds %s?", near);
		return usage_hint(o->command);
	}
	return 0;
}

static int check_stacks(const struct options *o, const struct otelprof_settings *settings)
{
	const uint64_t none = OTELPROF_NO_KERNEL_STACKS | OTELPROF_NO_USER_STACKS;
	struct otelprof_config config;

	otelprof_config_init(&config, sizeof(config));
	(void)otelprof_settings_get_config(settings, &config);
	if ((config.flags & none) != none)
		return 0;
	(void)fail("without kernel_stacks and user_stacks there are no frames");
	return usage_hint(o->command);
}

int session_settings(const struct options *o, struct otelprof_settings **ret)
{
	struct otelprof_error_info why = { .size = sizeof(why) };
	struct otelprof_settings *settings = NULL;
	int r = otelprof_settings_new(&settings);

	if (r == 0)
		r = otelprof_settings_set(settings, "sample_rate_hz", o->rate, &why);
	if (r == 0 && o->config_path)
		r = otelprof_settings_read_file(settings, o->config_path, &why);
	if (r == 0)
		r = otelprof_settings_read_environment(settings, &why);
	if (r == 0 && *why.message)
		note("warning: %s: it is ignored", why.message);
	r = r < 0 ? fail("%s", *why.message ? why.message : "out of memory")
		  : set_given(o, settings);
	if (!r)
		r = check_stacks(o, settings);
	if (r) {
		(void)otelprof_settings_free(settings);
		return r;
	}
	*ret = settings;
	return 0;
}

static void show_progress(struct otelprof *p, double seconds)
{
	struct otelprof_stats st;

	otelprof_stats_init(&st, sizeof(st));
	if (otelprof_get_stats(p, &st) == 0)
		(void)fprintf(stderr, "\rsampling: %.1f s, %" PRIu64 " samples \033[K",
			      seconds, st.samples_taken - st.samples_filtered);
}

/* A random number between 0.9 and 1.1 times @window. */
static double jittered(double window)
{
	return window * (0.9 + 0.2 * (double)arc4random_uniform(1001) / 1000.0);
}

int session_try(struct otelprof *p, struct tries *t, int r)
{
	const struct timespec pause = { .tv_nsec = PAUSE_NS };

	t->failed = r < 0 ? t->failed + 1 : 0;
	t->error = r;
	if (t->failed == FAILED_MAX)
		return fail_library(p, t->gave_up, r);
	if (!t->failed)
		return 0;
	note("warning: %s failed: %s; going on", t->what, otelprof_strerror(r));
	(void)nanosleep(&pause, NULL);
	return 0;
}

/* Poll once, for at most @left_s. Returns 0 or the library's error. */
static int poll_once(struct otelprof *p, double left_s)
{
	int ms = left_s * 1000 < POLL_MS ? (int)(left_s * 1000) + 1 : POLL_MS;
	int r = otelprof_poll(p, ms);

	return r < 0 && r != -EINTR ? r : 0;
}

/* Loading programs parses the kernel's types, which leaves megabytes of free memory in the
 * heap. Return them to the system. The library leaves the heap to its host program. */
static void trim_heap(void)
{
#ifdef __GLIBC__
	(void)malloc_trim(0);
#endif
}

/*
 * Let large blocks, such as the index of a file's names while it is made, return to the
 * system when they are freed. By default the C library keeps blocks as large as the
 * largest that was ever freed.
 */
static void set_heap(void)
{
#ifdef __GLIBC__
	(void)mallopt(M_MMAP_THRESHOLD, LARGE_BYTES);
#endif
}

static int run_loop(struct otelprof *p, const struct options *o, double window, bool show,
		    session_fn done, void *data)
{
	double start = now_seconds(), now = start;
	double end = o->seconds > 0 ? start + o->seconds : 1e300;
	double next_export =
		start + jittered(window < FIRST_WINDOW_S ? window : FIRST_WINDOW_S);
	double next_show = start;
	struct tries polls = TRIES_POLL;
	struct tries exports = TRIES_EXPORT;
	int r = 0;

	set_heap();
	while (!r && now < end && !signal_seen() && !(done && done(data))) {
		double next = end < next_export ? end : next_export;

		next = show && next_show < next ? next_show : next;
		r = session_try(p, &polls, poll_once(p, next - now));
		now = now_seconds();
		if (!r && now >= next_export) {
			r = session_try(p, &exports, otelprof_export(p));
			next_export = now + jittered(window);
			trim_heap();
		}
		if (show && now >= next_show) {
			show_progress(p, now - start);
			next_show = now + PROGRESS_S;
		}
	}
	/* Did it not recover before the end? */
	return r || !polls.failed ? r : fail_library(p, polls.gave_up, polls.error);
}

/* While this thread waits for a CPU the ring fills, and stacks are cut for lack of
 * space. It needs a CPU only briefly, so raise its priority, unless the user has chosen
 * another. */
static bool go_first(void)
{
	return getpriority(PRIO_PROCESS, 0) == 0 &&
	       setpriority(PRIO_PROCESS, 0, FIRST_NICE) == 0;
}

int session_run(struct otelprof *p, const struct options *o, double window, bool show,
		session_fn done, void *data)
{
	bool first = go_first();
	int r;

	if (o->verbose)
		note("sampling"); /* for scripts that wait for it */
	r = run_loop(p, o, window, show && isatty(STDERR_FILENO), done, data);
	if (first)
		(void)setpriority(PRIO_PROCESS, 0, 0);
	if (show && isatty(STDERR_FILENO))
		(void)fputs("\r\033[K", stderr);
	return r;
}

static void note_given_up(void *userdata, const char *name, const char *sentence,
			  uint64_t count)
{
	bool *given_up = userdata;

	(void)sentence;
	if (count && strcmp(name, "given_up") == 0)
		*given_up = true;
}

/* Are all undelivered requests in files, for the next run? */
static bool all_spilled(struct otelprof *p)
{
	struct otelprof_stats st;
	bool given_up = false;

	otelprof_stats_init(&st, sizeof(st));
	return otelprof_get_stats(p, &st) == 0 && st.samples_spilled &&
	       otelprof_drops(p, note_given_up, &given_up) == 0 && !given_up;
}

/* Without a limit, the first signal ends the wait. */
static int flush_until(struct otelprof *p, int timeout_ms)
{
	int seen = signals_count();
	int r;

	do
		r = otelprof_flush(p, timeout_ms < 0 ? POLL_MS : timeout_ms);
	while (r == -ETIMEDOUT && timeout_ms < 0 && signals_count() == seen);
	return r;
}

int session_close(struct otelprof *p, int timeout_ms)
{
	int r, failed = 0;

	(void)otelprof_stop(p);
	r = otelprof_export(p);
	if (r < 0)
		failed = fail_library(p, "cannot export", r);
	/* also requests that were queued before */
	r = flush_until(p, timeout_ms);
	if (r < 0)
		(void)otelprof_abandon(p); /* the accounting shows how much */
	if (r == -ETIMEDOUT && all_spilled(p))
		return failed;
	if (r < 0)
		failed = fail_library(p, "not everything was delivered", r);
	return failed;
}

/* Where to print drop reasons, and the separator before the next one. */
struct reasons {
	FILE *f;
	const char *separator;
};

static void print_drop(void *userdata, const char *name, const char *sentence,
		       uint64_t count)
{
	struct reasons *r = userdata;

	(void)sentence;
	if (!count)
		return;
	(void)fprintf(r->f, "%s%s %" PRIu64, r->separator, name, count);
	r->separator = ", ";
}

void print_drop_reasons(FILE *f, struct otelprof *p)
{
	struct reasons r = { f, " (" };

	(void)otelprof_drops(p, print_drop, &r);
	(void)fputs(*r.separator == ',' ? ")" : "", f);
}

void print_accounting(FILE *f, struct otelprof *p)
{
	struct otelprof_stats st;

	otelprof_stats_init(&st, sizeof(st));
	if (otelprof_get_stats(p, &st) < 0)
		return;
	(void)fprintf(f,
		      "samples: taken %" PRIu64 " = exported %" PRIu64
		      " + filtered %" PRIu64 " + pending %" PRIu64 " + dropped %" PRIu64,
		      st.samples_taken, st.samples_exported, st.samples_filtered,
		      st.samples_pending, st.samples_dropped);
	print_drop_reasons(f, p);
	if (st.samples_restored || st.samples_spilled)
		(void)fprintf(f,
			      " + left for the next run %" PRIu64
			      "; of earlier runs %" PRIu64,
			      st.samples_spilled, st.samples_restored);
	(void)fputc('\n', f);
}
