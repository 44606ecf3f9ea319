/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Fatal signals end to end. New processes end in known places by known signals, one of them
 * with several threads; others end without a signal. The profile must have one sample for
 * each that a signal ended, with the place, the signal, its code and address, and no other.
 */
#include <string.h>

#include <otelprof/otelprof.h>

#include "kind_profile.h"
#include "test.h"
#include "victim.h"

enum {
	EACH = 5,
};

struct got {
	int64_t count[VICTIMS]; /* with the right place and attributes */
	int64_t all;
};

static const char *const PLACE_NAME[VICTIMS] = { "dies_of_segv", "dies_of_abort",
						 "waits_for_kill", "waits_for_kill" };
static const char *const SIGNAL_NAME[VICTIMS] = { "SIGSEGV", "SIGABRT", "SIGKILL",
						  "SIGTERM" };

static bool is_right(const struct kind_profile *profile, const struct otlp_sample_view *s,
		     enum victim v)
{
	const struct otlp_attribute *code = kind_attribute(profile, s, "signal.code");

	if (kind_frame(s, PLACE_NAME[v]) < 0 ||
	    !kind_says(profile, s, "signal.name", SIGNAL_NAME[v]))
		return false;
	switch (v) {
	case VICTIM_SEGV:
		return kind_says(profile, s, "signal.address", "0x1230") && code &&
		       code->integer == SEGV_MAPERR;
	case VICTIM_ABORT:
		return !kind_attribute(profile, s, "signal.address") && code &&
		       code->integer == SI_TKILL;
	default:
		return !code;
	}
}

static void add_sample(struct kind_profile *profile, const struct otlp_sample_view *s)
{
	struct got *got = profile->data;
	int v;

	CHECK(kind_is(s, "signals", "count"));
	got->all += s->value;
	for (v = 0; v < VICTIMS; v++)
		if (is_right(profile, s, (enum victim)v))
			break;
	if (v == VICTIMS || !got->count[v])
		kind_print(s);
	if (v < VICTIMS)
		got->count[v] += s->value;
}

/* The child, from which the victims are forked. */
static void serve(int from, int to)
{
	char mode;

	while (read(from, &mode, 1) == 1) {
		int status = victim_run((enum victim)mode);

		(void)!write(to, &status, sizeof(status));
	}
}

/* Run victims of each mode in turn. */
static void run_all(struct otelprof *p, const struct kind_child *c)
{
	static const int ended_by[VICTIMS] = { SIGSEGV, SIGABRT, SIGKILL, SIGTERM };
	int i;

	for (i = 0; i < EACH; i++) {
		char mode;

		for (mode = 0; mode < VICTIM_MODES; mode++) {
			int want = mode < VICTIMS ? ended_by[(int)mode] : 0;
			int status;

			kind_child_ask(p, c, &mode, 1, &status, sizeof(status));
			CHECK_INT(status, want);
		}
	}
}

static void test_one_for_each_process(void)
{
	struct kind_child c = kind_child_start(serve);
	struct otelprof_rule rule = { .size = sizeof(rule),
				      .kind = OTELPROF_MATCH_TREE,
				      .number = (uint64_t)c.pid };
	struct got got = { 0 };
	struct kind_profile profile = { .fn = add_sample, .data = &got };
	struct otelprof_config config;
	struct otelprof *p;
	int v;

	otelprof_config_init(&config, sizeof(config));
	config.kinds = OTELPROF_KIND_SIGNALS;
	p = kind_start(&config, c.pid, &profile);
	CHECK_OK(otelprof_set_rules(p, &rule, 1));
	run_all(p, &c);
	CHECK_INT(kind_close(p), 0);
	kind_child_end(&c);
	for (v = 0; v < VICTIMS; v++)
		printf("  %s in %s: %lld of %d\n", SIGNAL_NAME[v], PLACE_NAME[v],
		       (long long)got.count[v], EACH);
	for (v = 0; v < VICTIMS; v++)
		CHECK_INT(got.count[v], EACH);
	CHECK_INT(got.all, VICTIMS * EACH);
}

TEST_MAIN({ "signals", test_one_for_each_process })
