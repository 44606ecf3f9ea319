/* SPDX-License-Identifier: Apache-2.0 */
/* Sums the functions of a recording while it is made, and prints the summary. */
#include "summary.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "common.h"

enum {
	LINES_SHOWN = 5,
	NAME_COLUMNS = 60,
	MODULE_COLUMNS = 20,
	/* functions of one recording; further ones are not summed */
	FUNCTIONS_MAX = 100000,
};

static int look(void *userdata, const void *request, size_t len, uint64_t samples)
{
	struct summary *s = userdata;

	(void)samples;
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
	s->start = now_seconds();
	return otelprof_exporter_callback(p, &config);
}

static void print_functions(const struct function_sums *sums)
{
	const struct function_row *row = sums->rows;
	const char *module;
	size_t i;

	for (i = 0; i < sums->len && i < LINES_SHOWN && row->self_ns; i++, row++) {
		module = *row->module ? row->module : row->file;
		module = strrchr(module, '/') ? strrchr(module, '/') + 1 : module;
		(void)fprintf(stderr, "%6.1f%%  ",
			      100.0 * (double)row->self_ns / (double)sums->ns);
		print_safe(stderr, module, strlen(module), MODULE_COLUMNS);
		(void)fputc(' ', stderr);
		print_safe(stderr, row->function, strlen(row->function), -NAME_COLUMNS);
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

static void print_quality(const struct summary *s, struct otelprof *p)
{
	double seconds = now_seconds() - s->start;
	struct otelprof_stats st;
	uint64_t all;

	otelprof_stats_init(&st, sizeof(st));
	if (otelprof_get_stats(p, &st) < 0)
		return;
	all = st.stacks_complete + st.stacks_truncated + st.stacks_broken;
	if (all)
		(void)fprintf(stderr, "%6.1f%%  of the stacks are whole%s\n",
			      100.0 * (double)st.stacks_complete / (double)all,
			      st.stacks_complete == all ? "" : " (-v says why not)");
	if (seconds > 0)
		(void)fprintf(stderr, "%6.1f%%  of one CPU went to otelprof itself\n",
			      100.0 * own_seconds() / seconds);
}

void summary_print(struct summary *s, struct otelprof *p)
{
	if (!s->sums.len || !s->sums.samples)
		return;
	functions_sort(&s->sums, FUNCTIONS_BY_SELF);
	print_functions(&s->sums);
	print_quality(s, p);
}

void summary_clear(struct summary *s)
{
	functions_clear(&s->sums);
}
