/* SPDX-License-Identifier: Apache-2.0 */
/* Explains why a recording has no samples. */
#include "common.h"

#include <inttypes.h>

static void first_missing(void *userdata, const struct otelprof_doctor_row *row)
{
	char *text = userdata;

	if (row->state == OTELPROF_DOCTOR_MISSING && !*text)
		(void)snprintf(text, 256, "%s needs %s", row->feature, row->needs);
}

/* Why there is no sample of each kind other than CPU samples. */
static const struct {
	uint64_t kind;
	const char *none;
} none_of[] = {
	{ OTELPROF_KIND_OFF_CPU,
	  "no wait of theirs ended; '--kinds threads' shows where their threads are" },
	{ OTELPROF_KIND_WALL,
	  "no wait of theirs ended; '--kinds threads' shows where their threads are" },
	{ OTELPROF_KIND_LOCKS,
	  "no wait for a lock ended; '--kinds threads' shows where their "
	  "threads are" },
	{ OTELPROF_KIND_KERNEL_LOCKS, "they waited for no lock inside the kernel" },
	{ OTELPROF_KIND_HEAP,
	  "no program has the allocation sampler loaded: start it with "
	  "LD_PRELOAD=libotelprof-heap.so.0 in its environment (Go programs need to "
	  "import runtime/pprof or net/http/pprof, or Go does not sample)" },
	{ OTELPROF_KIND_BLOCK_IO, "they made no requests to block devices" },
	{ OTELPROF_KIND_SIGNALS, "no signal ended one of them" },
	{ OTELPROF_KIND_GOROUTINES, "no Go program is among them" },
	{ OTELPROF_KIND_GOROUTINE_WAITS, "no Go program is among them" },
	{ OTELPROF_KIND_PROBES, "none of them passed the probes" },
	{ OTELPROF_KIND_PAGE_FAULTS, "they had no page fault" },
	{ OTELPROF_KIND_THREADS, "none of them was there at the end" },
	{ OTELPROF_KIND_WAKERS, "they woke no other thread" },
};

/* Why the rules let no sample pass. */
static const char *none_chosen(uint64_t kinds, bool command)
{
	size_t i;

	for (i = 0; i < sizeof(none_of) / sizeof(none_of[0]); i++)
		if (!(kinds & OTELPROF_KIND_CPU) && kinds & none_of[i].kind)
			return none_of[i].none;
	return command ? "the command used too little CPU time; a higher rate (-F) takes more, "
			 "and '--kinds off_cpu' what waits"
		       : "none of the chosen processes ran on a CPU; '--kinds threads' shows "
			 "where they are";
}

static uint64_t kinds_of(const struct options *o)
{
	struct otelprof_config config;

	otelprof_config_init(&config, sizeof(config));
	if (o->settings)
		(void)otelprof_settings_get_config(o->settings, &config);
	return config.kinds ? config.kinds : OTELPROF_KIND_CPU;
}

int fail_no_samples(struct otelprof *p, const struct options *o, bool command)
{
	struct otelprof_stats st;
	char missing[256] = "";
	char reasons[256] = "";
	FILE *f;

	otelprof_stats_init(&st, sizeof(st));
	(void)otelprof_get_stats(p, &st);
	if (st.samples_dropped) {
		f = fmemopen(reasons, sizeof(reasons), "w");
		if (f) {
			print_drop_reasons(f, p);
			(void)fclose(f);
		}
		return fail("no samples: all %" PRIu64
			    " were dropped%s; run 'otelprof doctor'",
			    st.samples_dropped, reasons);
	}
	if (st.samples_taken && o->rules_len)
		return fail("no samples: %s (%" PRIu64
			    " samples of others were filtered)",
			    none_chosen(kinds_of(o), command), st.samples_filtered);
	if (st.samples_taken)
		return fail("no samples: the machine was idle all the time");
	if (!(kinds_of(o) & OTELPROF_KIND_CPU))
		return fail("no samples: %s", none_chosen(kinds_of(o), command));
	(void)otelprof_doctor(NULL, first_missing, missing);
	if (*missing)
		return fail("no samples: %s; see 'otelprof doctor'", missing);
	if (o->rules_len)
		return fail("no samples: %s", none_chosen(kinds_of(o), command));
	return fail("no samples: the kernel gave none; see 'otelprof doctor'");
}
