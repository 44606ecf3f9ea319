/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Probes end to end. A child calls a function, hits a static probe and renames itself a known
 * number of times in two known places: each probe must count exactly that, while it is wanted.
 */
#include <errno.h>
#include <limits.h>
#include <string.h>

#include <otelprof/otelprof.h>

#include "kind_profile.h"
#include "test.h"

enum {
	CALLS_HERE = 700,
	CALLS_THERE = 300,
	STATIC_HITS = 450,
	RENAMES = 250,
	PROBES = 4,
	RATE = 40, /* of the test with a limit */
	MANY = 5000,
};

/* ---- the child ---- */

/* Of the static probe: the kernel counts here who listens. The note names it. */
static volatile unsigned short listeners __asm__("op_test_listeners")
	__attribute__((section(".probes"), used));

void op_probed(int i);

PLACE __attribute__((used)) void op_probed(int i)
{
	__asm__ volatile("" ::"r"(i) : "memory");
}

/* A static probe as systemtap's notes describe it: owner, type 3; the addresses of the probe,
 * of the base and of the semaphore; provider, name, arguments. */
static PLACE void hits_static(void)
{
	int i;

	for (i = 0; i < STATIC_HITS && listeners; i++)
		__asm__ volatile("990:	nop\n"
				 ".pushsection .note.stapsdt, \"\", \"note\"\n"
				 ".balign 4\n"
				 ".4byte 992f - 991f, 994f - 993f, 3\n"
				 "991:	.asciz \"stapsdt\"\n"
				 "992:	.balign 4\n"
				 "993:	.8byte 990b\n"
				 ".8byte op_test_base\n"
				 ".8byte op_test_listeners\n"
				 ".asciz \"op_test\"\n"
				 ".asciz \"hit\"\n"
				 ".asciz \"\"\n"
				 "994:	.balign 4\n"
				 ".popsection\n"
				 ".pushsection .stapsdt.base, \"a\", \"progbits\"\n"
				 "op_test_base: .space 1\n"
				 ".popsection\n");
	STAYS("static");
}

static PLACE void calls_here(int n)
{
	int i;

	for (i = 0; i < n; i++)
		op_probed(i);
	STAYS("here");
}

static PLACE void calls_there(void)
{
	int i;

	for (i = 0; i < CALLS_THERE; i++)
		op_probed(i);
	STAYS("there");
}

static PLACE void renames(void)
{
	int i;

	for (i = 0; i < RENAMES; i++)
		(void)prctl(PR_SET_NAME, i & 1 ? "op-odd" : "op-even");
	STAYS("renames");
}

static void serve(int from, int to)
{
	int calls;

	while (read(from, &calls, sizeof(calls)) == sizeof(calls)) {
		calls_here(calls);
		calls_there();
		hits_static();
		renames();
		(void)!write(to, &calls, sizeof(calls));
	}
}

/* ---- the profile ---- */

static char spec[PROBES][PATH_MAX + 64];
static const char *specs[PROBES] = { spec[0], spec[1], spec[2], spec[3] };

struct got {
	int64_t here[PROBES];
	int64_t there[PROBES];
	int64_t hits;
	int64_t renames;
	int64_t others;
};

static void add_sample(struct kind_profile *profile, const struct otlp_sample_view *s)
{
	struct got *got = profile->data;
	int i;

	for (i = 0; i < PROBES; i++)
		if (kind_says(profile, s, "probe", spec[i]))
			break;
	if (!kind_is(s, "events", "count") || i == PROBES)
		got->others++;
	else if (kind_frame(s, "calls_here") >= 0)
		got->here[i] += s->value;
	else if (kind_frame(s, "calls_there") >= 0)
		got->there[i] += s->value;
	else if (i == 2 && kind_frame(s, "hits_static") >= 0)
		got->hits += s->value;
	else if (i == 3 && kind_frame(s, "renames") >= 0)
		got->renames += s->value;
	else
		got->others++;
	if (got->others == 1) {
		kind_print(s);
		got->others++;
	}
}

static void write_specs(void)
{
	char path[PATH_MAX] = "";

	CHECK(readlink("/proc/self/exe", path, sizeof(path) - 1) > 0);
	(void)snprintf(spec[0], sizeof(spec[0]), "uprobe:%s:op_probed", path);
	(void)snprintf(spec[1], sizeof(spec[1]), "uretprobe:%s:op_probed", path);
	(void)snprintf(spec[2], sizeof(spec[2]), "usdt:%s:op_test:hit", path);
	(void)snprintf(spec[3], sizeof(spec[3]), "tracepoint:task:task_rename");
}

static struct otelprof *start(const struct kind_child *c, uint32_t rate,
			      struct kind_profile *profile)
{
	struct otelprof_config config;
	struct otelprof *p;

	otelprof_config_init(&config, sizeof(config));
	config.kinds = OTELPROF_KIND_PROBES;
	config.probe_samples = rate;
	config.ring_bytes = 16 << 20;
	write_specs();
	p = kind_start(&config, c->pid, profile);
	return p;
}

static struct got ask(struct otelprof *p, const struct kind_child *c,
		      struct kind_profile *profile, int calls)
{
	struct got *got = profile->data;
	int answer;

	memset(got, 0, sizeof(*got));
	kind_child_ask(p, c, &calls, sizeof(calls), &answer, sizeof(answer));
	printf("  uprobe %lld + %lld, uretprobe %lld + %lld, usdt %lld, tracepoint %lld\n",
	       (long long)got->here[0], (long long)got->there[0], (long long)got->here[1],
	       (long long)got->there[1], (long long)got->hits, (long long)got->renames);
	return *got;
}

static void test_known_counts(void)
{
	struct kind_child c = kind_child_start(serve);
	struct got got = { 0 };
	struct kind_profile profile = { .fn = add_sample, .data = &got };
	struct otelprof *p = start(&c, 100000, &profile);
	int r = otelprof_set_probes(p, specs, PROBES);
	struct got all;

	if (r == -EOPNOTSUPP)
		SKIP("no uprobes here");
	CHECK_OK(r);
	(void)ask(p, &c, &profile, 1);
	all = ask(p, &c, &profile, CALLS_HERE);
	CHECK_INT(all.here[0], CALLS_HERE);
	CHECK_INT(all.there[0], CALLS_THERE);
	CHECK_INT(all.here[1], CALLS_HERE);
	CHECK_INT(all.there[1], CALLS_THERE);
	CHECK_INT(all.hits, STATIC_HITS);
	CHECK_INT(all.renames, RENAMES);
	CHECK_INT(all.others, 0);
	/* one of them stays */
	CHECK_OK(otelprof_set_probes(p, specs, 1));
	all = ask(p, &c, &profile, CALLS_HERE);
	CHECK_INT(all.here[0], CALLS_HERE);
	CHECK_INT(all.there[0], CALLS_THERE);
	CHECK_INT(all.here[1] + all.there[1] + all.hits + all.renames, 0);
	/* none; and again, by the kind */
	CHECK_OK(otelprof_set_probes(p, NULL, 0));
	CHECK_INT(kind_programs("op_probes"), 0);
	all = ask(p, &c, &profile, CALLS_HERE);
	CHECK_INT(all.here[0] + all.there[0], 0);
	CHECK_OK(otelprof_set_kinds(p, OTELPROF_KIND_CPU));
	CHECK_OK(otelprof_set_probes(p, specs, 1));
	CHECK_INT(kind_programs("op_probes"), 0);
	CHECK_OK(otelprof_set_kinds(p, OTELPROF_KIND_PROBES));
	CHECK_INT(kind_programs("op_probes"), 1);
	all = ask(p, &c, &profile, CALLS_HERE);
	CHECK_INT(all.here[0], CALLS_HERE);
	CHECK_INT(kind_close(p), 0);
	kind_child_end(&c);
}

/* What the rate leaves out is filtered, and counted; what it leaves in stands for it. By a rate of
 * 40 a block is a tenth of all at the most, of which a part may be missing or too much. */
static void test_rate(void)
{
	struct kind_child c = kind_child_start(serve);
	struct got got = { 0 };
	struct kind_profile profile = { .fn = add_sample, .data = &got };
	struct otelprof *p = start(&c, RATE, &profile);
	int r = otelprof_set_probes(p, specs, 1);
	struct otelprof_stats s;
	int64_t begin;
	int64_t seconds;
	int64_t kept;
	uint64_t all;

	if (r == -EOPNOTSUPP)
		SKIP("no uprobes here");
	CHECK_OK(r);
	begin = kind_clock_ns(CLOCK_MONOTONIC);
	got = ask(p, &c, &profile, MANY);
	seconds = (kind_clock_ns(CLOCK_MONOTONIC) - begin) / 1000000000 + 1;
	otelprof_stats_init(&s, sizeof(s));
	CHECK_OK(otelprof_get_stats(p, &s));
	CHECK_INT(s.samples_taken, MANY + CALLS_THERE);
	kept = (int64_t)(s.samples_taken - s.samples_filtered);
	all = got.here[0] + got.there[0];
	printf("  %lld kept, which stand for %lld\n", (long long)kept, (long long)all);
	/* on one CPU or two, with up to half as many again where blocks grow */
	CHECK(kept >= RATE && kept <= 3 * RATE * (seconds + 1));
	CHECK(all * 4 > s.samples_taken * 3 && all * 4 < s.samples_taken * 5);
	CHECK_INT(kind_close(p), 0);
	kind_child_end(&c);
}

static void test_bad_ones(void)
{
	static const struct {
		const char *spec;
		int error;
	} bad[] = {
		{ "", -EINVAL },
		{ "uprobe", -EINVAL },
		{ "uprobe:/bin/sh", -EINVAL },
		{ "uprobe:/bin/sh:", -EINVAL },
		{ "uprobe:bin/sh:main", -EINVAL },
		{ "uprobe:/bin/sh:main+x", -EINVAL },
		{ "usdt:/bin/sh:a", -EINVAL },
		{ "xprobe:a", -EINVAL },
		{ "tracepoint:", -EINVAL },
		{ "uprobe:/nowhere/at/all:main", -ENOENT },
		{ "uprobe:/proc/self/exe:no_such_symbol", -ENOENT },
		{ "usdt:/proc/self/exe:op_test:miss", -ENOENT },
		{ "tracepoint:no_such_tracepoint", -ENOENT },
	};
	struct kind_child c = kind_child_start(serve);
	struct got got = { 0 };
	struct kind_profile profile = { .fn = add_sample, .data = &got };
	struct otelprof *p = start(&c, 1000, &profile);
	const char *kernel = "kprobe:vfs_read";
	size_t i;
	int r;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		printf("  %s\n", bad[i].spec);
		CHECK_INT(otelprof_set_probes(p, &bad[i].spec, 1), bad[i].error);
	}
	CHECK_INT(otelprof_set_probes(p, NULL, 1), -EINVAL);
	r = otelprof_set_probes(p, &kernel, 1);
	CHECK(r == 0 || r == -EOPNOTSUPP);
	printf("  kprobes: %s\n", r == 0 ? "there" : "not there, and said");
	(void)kind_close(p);
	kind_child_end(&c);
}

/* Copy this program to @path, or make an empty file of it. */
static void write_file(const char *path, bool program)
{
	static char bytes[65536];
	int from = open(program ? "/proc/self/exe" : "/dev/null", O_RDONLY | O_CLOEXEC);
	int to = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0755);
	ssize_t n;

	CHECK(from >= 0 && to >= 0);
	while ((n = read(from, bytes, sizeof(bytes))) > 0)
		CHECK_INT(write(to, bytes, (size_t)n), n);
	(void)close(from);
	(void)close(to);
}

/* A probe that the kernel refuses, or whose file has lost the symbol, is missing itself; all
 * else goes on. */
static void test_refused_ones(void)
{
	static const char path[] = "probed.copy";
	struct kind_child c = kind_child_start(serve);
	struct got got = { 0 };
	struct kind_profile profile = { .fn = add_sample, .data = &got };
	struct otelprof *p = start(&c, 100000, &profile);
	const char *some[3] = { spec[0], "kprobe:op_no_such_function" };
	char copy[PATH_MAX + 64];
	char here[PATH_MAX];
	int r = otelprof_set_probes(p, some, 1);

	if (r == -EOPNOTSUPP)
		SKIP("no uprobes here");
	CHECK_OK(r);
	CHECK(otelprof_set_probes(p, some, 2) < 0);
	got = ask(p, &c, &profile, CALLS_HERE);
	CHECK_INT(got.here[0], CALLS_HERE);
	CHECK_OK(otelprof_pause(p));
	CHECK_OK(otelprof_resume(p));
	CHECK_OK(otelprof_set_kinds(p, OTELPROF_KIND_PROBES));
	got = ask(p, &c, &profile, CALLS_HERE);
	CHECK_INT(got.here[0], CALLS_HERE);

	CHECK(getcwd(here, sizeof(here)));
	(void)snprintf(copy, sizeof(copy), "uprobe:%s/%s:op_probed", here, path);
	some[1] = copy;
	write_file(path, true);
	CHECK_OK(otelprof_set_probes(p, some, 2));
	CHECK_OK(otelprof_pause(p));
	CHECK_OK(unlink(path));
	write_file(path, false);
	CHECK_OK(otelprof_resume(p));
	CHECK_OK(unlink(path));
	got = ask(p, &c, &profile, CALLS_HERE);
	CHECK_INT(got.here[0], CALLS_HERE);
	CHECK_INT(kind_close(p), 0);
	kind_child_end(&c);
}

TEST_MAIN({ "counts", test_known_counts }, { "rate", test_rate },
	  { "bad", test_bad_ones }, { "refused", test_refused_ones })
