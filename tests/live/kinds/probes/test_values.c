/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Values of probes, and events of perf, end to end. A child calls a function with known arguments
 * and results, in two known places, passes known strings, and sleeps a known number of times. The
 * sums must be exact; the context switches are those that the kernel counts for getrusage(2).
 */
#include <errno.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>

#include <otelprof/otelprof.h>

#include "kind_profile.h"
#include "test.h"

enum {
	HERE = 400,
	THERE = 100,
	FACTOR = 1000003,
	SLEEPS = 200,
	SLEEP_NS = 1000000,
	CLOCK_NS = 400000000,
	FAULTS = 300,
	ASKED = 5,
	PAGE = 4096,
	READS = 300,
	FILE_BYTES = 64,
};

struct told {
	int64_t here; /* the sum of the arguments */
	int64_t there;
	int64_t results;
	int64_t asked; /* of the kernel, in bytes */
	int64_t read;
	int64_t switches;
	int64_t faults;
	int64_t cpu_ns;
};

/* ---- the child ---- */

int op_valued(uint64_t bytes, int32_t change);

PLACE __attribute__((used)) int op_valued(uint64_t bytes, int32_t change)
{
	__asm__ volatile("" ::"r"(bytes), "r"(change) : "memory");
	return -(int)(bytes % 1000);
}

void op_named(int number, const char *text);

PLACE __attribute__((used)) void op_named(int number, const char *text)
{
	__asm__ volatile("" ::"r"(number), "r"(text) : "memory");
}

/* What is passed, and how often. NULL: no string is there. */
static const struct {
	const char *passed;
	const char *told;
	int calls;
} TEXTS[] = {
	{ "select 1", "select 1", 70 },
	{ "", "", 3 },
	/* neither UTF-8 nor printable */
	{ "a\xff\x1b[2Jb", "a\xef\xbf\xbd\x1b[2Jb", 5 },
	{ "123456789 123456789 123456789 123456789 123456789 123456789 123456789 ",
	  "123456789 123456789 123456789 123456789 123456789 123456789 123", 40 },
	{ NULL, NULL, 10 },
};

enum {
	TEXTS_LEN = sizeof(TEXTS) / sizeof(TEXTS[0])
};

static PLACE void names_here(void)
{
	size_t k;
	int i;

	for (k = 0; k < TEXTS_LEN; k++)
		for (i = 0; i < TEXTS[k].calls; i++)
			op_named(i, TEXTS[k].passed ?: (const char *)1);
	STAYS("names");
}

static PLACE int64_t values_here(int64_t *ret_results)
{
	int64_t sum = 0;
	int i;

	for (i = 0; i < HERE; i++) {
		*ret_results += op_valued((uint64_t)i * FACTOR, -i);
		sum += (int64_t)i * FACTOR;
	}
	STAYS("values here");
	return sum;
}

static PLACE int64_t values_there(int64_t *ret_results)
{
	int64_t sum = 0;
	int i;

	for (i = 0; i < THERE; i++) {
		*ret_results += op_valued((uint64_t)i * FACTOR, -i);
		sum += (int64_t)i * FACTOR;
	}
	STAYS("values there");
	return sum;
}

/* Each read asks for more than the file has. */
static PLACE void reads_here(int file, struct told *told)
{
	char bytes[FILE_BYTES + READS];
	int i;

	for (i = 0; i < READS; i++) {
		told->asked += FILE_BYTES + i;
		told->read += pread(file, bytes, (size_t)(FILE_BYTES + i), 0);
	}
	STAYS("reads");
}

static PLACE void switches_here(void)
{
	struct timespec t = { .tv_nsec = SLEEP_NS };
	int i;

	for (i = 0; i < SLEEPS; i++)
		(void)nanosleep(&t, NULL);
	STAYS("switches");
}

static PLACE void faults_here(void)
{
	volatile char *p = mmap(NULL, FAULTS * PAGE, PROT_READ | PROT_WRITE,
				MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	int i;

	(void)madvise((void *)p, FAULTS * PAGE, MADV_NOHUGEPAGE);
	for (i = 0; i < FAULTS; i++)
		p[i * PAGE] = 1;
	(void)munmap((void *)p, FAULTS * PAGE);
	STAYS("faults");
}

static PLACE void clock_here(void)
{
	int64_t end = kind_clock_ns(CLOCK_THREAD_CPUTIME_ID) + CLOCK_NS;

	while (kind_clock_ns(CLOCK_THREAD_CPUTIME_ID) < end)
		continue;
	STAYS("clock");
}

static int64_t switches(const struct rusage *u)
{
	return u->ru_nvcsw + u->ru_nivcsw;
}

static void serve(int from, int to)
{
	int file = memfd_create("values", MFD_CLOEXEC);
	struct rusage begin;
	struct rusage end;
	int turn;

	CHECK_OK(ftruncate(file, FILE_BYTES));
	while (read(from, &turn, sizeof(turn)) == sizeof(turn)) {
		struct told told = { 0 };

		told.here = values_here(&told.results);
		told.there = values_there(&told.results);
		names_here();
		reads_here(file, &told);
		faults_here(); /* for the first time: its own code */
		(void)getrusage(RUSAGE_SELF, &begin);
		switches_here();
		faults_here();
		(void)getrusage(RUSAGE_SELF, &end);
		told.switches = switches(&end) - switches(&begin);
		told.faults = end.ru_minflt - begin.ru_minflt;
		told.cpu_ns = kind_clock_ns(CLOCK_THREAD_CPUTIME_ID);
		clock_here();
		told.cpu_ns = kind_clock_ns(CLOCK_THREAD_CPUTIME_ID) - told.cpu_ns;
		(void)!write(to, &told, sizeof(told));
	}
}

/* ---- the profile ---- */

struct want {
	const char *type;
	const char *unit;
	const char *place; /* NULL: everywhere */
	int64_t sum;
	int64_t period;
};

enum {
	WANTS_MAX = 8
};

struct got {
	const struct want *want;
	size_t len;
	int64_t sum[WANTS_MAX];
	int64_t period[WANTS_MAX];
	int64_t events; /* of the type that all other probes have */
};

static void add_sample(struct kind_profile *profile, const struct otlp_sample_view *s)
{
	struct got *got = profile->data;
	size_t i;

	if (kind_is(s, "events", "count"))
		got->events += s->value;
	for (i = 0; i < got->len; i++) {
		const struct want *w = &got->want[i];

		if (!kind_is(s, w->type, w->unit) ||
		    (w->place && kind_frame(s, w->place) < 0))
			continue;
		got->sum[i] += s->value;
		got->period[i] = s->profile->period;
	}
}

static struct otelprof *start(const struct kind_child *c, struct kind_profile *profile)
{
	struct otelprof_config config;

	otelprof_config_init(&config, sizeof(config));
	config.kinds = OTELPROF_KIND_PROBES;
	config.probe_samples = 100000;
	config.ring_bytes = 16 << 20;
	return kind_start(&config, c->pid, profile);
}

static struct told ask(struct otelprof *p, const struct kind_child *c)
{
	struct told told;
	int turn = 1;

	kind_child_ask(p, c, &turn, sizeof(turn), &told, sizeof(told));
	return told;
}

static void test_arguments(void)
{
	static char spec[4][PATH_MAX + 64];
	static const char *specs[] = { spec[0], spec[1], spec[2], spec[3] };
	static const struct want want[] = {
		{ "op_valued_arg0", "bytes", "values_here", 0, 0 },
		{ "op_valued_arg0", "bytes", "values_there", 0, 0 },
		{ "op_valued_arg1", "1", NULL, 0, 0 },
		{ "op_valued_retval", "1", NULL, 0, 0 },
	};
	struct kind_child c = kind_child_start(serve);
	struct got got = { .want = want, .len = 4 };
	struct kind_profile profile = { .fn = add_sample, .data = &got };
	struct otelprof *p = start(&c, &profile);
	char path[PATH_MAX] = "";
	struct told told;
	int r;

	CHECK(readlink("/proc/self/exe", path, sizeof(path) - 1) > 0);
	(void)snprintf(spec[0], sizeof(spec[0]), "uprobe:%s:op_valued:arg0:bytes", path);
	(void)snprintf(spec[1], sizeof(spec[1]), "uprobe:%s:op_valued:arg1.s32", path);
	(void)snprintf(spec[2], sizeof(spec[2]), "uretprobe:%s:op_valued:retval.s32",
		       path);
	(void)snprintf(spec[3], sizeof(spec[3]), "uprobe:%s:op_valued", path);
	r = otelprof_set_probes(p, specs, 4);
	if (r == -EOPNOTSUPP)
		SKIP("no uprobes here");
	CHECK_OK(r);
	told = ask(p, &c);
	printf("  arg0 %lld + %lld, arg1 %lld, retval %lld; %lld events\n",
	       (long long)got.sum[0], (long long)got.sum[1], (long long)got.sum[2],
	       (long long)got.sum[3], (long long)got.events);
	CHECK_INT(got.sum[0], told.here);
	CHECK_INT(got.sum[1], told.there);
	CHECK_INT(got.sum[2], -(HERE * (HERE - 1) + THERE * (THERE - 1)) / 2);
	CHECK_INT(got.sum[3], told.results);
	CHECK_INT(got.events, 4 * (HERE + THERE));
	CHECK_INT(kind_close(p), 0);
	kind_child_end(&c);
}

struct texts {
	int64_t of[TEXTS_LEN];
	int64_t others;
};

static void add_text(struct kind_profile *profile, const struct otlp_sample_view *s)
{
	const struct otlp_attribute *a = kind_attribute(profile, s, "op_named_arg1");
	struct texts *texts = profile->data;
	size_t i;

	for (i = 0; i < TEXTS_LEN; i++)
		if (!a ? !TEXTS[i].told
		       : TEXTS[i].told && otlp_text_is(otlp_attribute_text(
							       profile->profiles, a),
						       TEXTS[i].told))
			break;
	if (i < TEXTS_LEN && kind_is(s, "events", "count") &&
	    kind_frame(s, "names_here") >= 0)
		texts->of[i] += s->value;
	else
		texts->others += s->value;
}

/* Each call has its string as an attribute, cut and mended, or none. */
static void test_texts(void)
{
	static char spec[PATH_MAX + 64];
	static const char *specs[] = { spec };
	struct kind_child c = kind_child_start(serve);
	struct texts texts = { 0 };
	struct kind_profile profile = { .fn = add_text, .data = &texts };
	struct otelprof *p = start(&c, &profile);
	char path[PATH_MAX] = "";
	size_t i;
	int r;

	CHECK(readlink("/proc/self/exe", path, sizeof(path) - 1) > 0);
	(void)snprintf(spec, sizeof(spec), "uprobe:%s:op_named:arg1.str", path);
	r = otelprof_set_probes(p, specs, 1);
	if (r == -EOPNOTSUPP)
		SKIP("no uprobes here");
	CHECK_OK(r);
	(void)ask(p, &c);
	for (i = 0; i < TEXTS_LEN; i++) {
		printf("  \"%s\": %lld\n", i == 2 ? "..." : TEXTS[i].told ?: "none",
		       (long long)texts.of[i]);
		CHECK_INT(texts.of[i], TEXTS[i].calls);
	}
	CHECK_INT(texts.others, 0);
	CHECK_INT(kind_close(p), 0);
	kind_child_end(&c);
}

/* Functions of the kernel: of those that read, the bytes that are asked for, and the result. */
static void test_kernel_functions(void)
{
	static const char *specs[] = { "kprobe:vfs_read:arg2:bytes",
				       "kretprobe:vfs_read:retval.s64:bytes" };
	static const struct want want[] = {
		{ "vfs_read_arg2", "bytes", "reads_here", 0, 0 },
		{ "vfs_read_retval", "bytes", "reads_here", 0, 0 },
	};
	struct kind_child c = kind_child_start(serve);
	struct got got = { .want = want, .len = 2 };
	struct kind_profile profile = { .fn = add_sample, .data = &got };
	struct otelprof *p = start(&c, &profile);
	int r = otelprof_set_probes(p, specs, 2);
	struct told told;

	if (r == -EOPNOTSUPP)
		SKIP("this kernel has no kprobes");
	CHECK_OK(r);
	(void)ask(p, &c);
	memset(got.sum, 0, sizeof(got.sum));
	told = ask(p, &c);
	printf("  asked for %lld bytes, wanted %lld; read %lld, wanted %lld\n",
	       (long long)got.sum[0], (long long)told.asked, (long long)got.sum[1],
	       (long long)told.read);
	CHECK_INT(got.sum[0], told.asked);
	CHECK_INT(got.sum[1], told.read);
	CHECK_INT(told.read, READS * FILE_BYTES);
	CHECK_OK(otelprof_set_probes(p, NULL, 0));
	CHECK_INT(kind_close(p), 0);
	kind_child_end(&c);
}

static void test_software_events(void)
{
	static const char *specs[] = { "perf:context-switches", "perf:minor-faults@3",
				       "perf:task-clock@499hz" };
	static const struct want want[] = {
		{ "context_switches", "count", "switches_here", 0, 1 },
		{ "minor_faults", "count", "faults_here", 0, 3 },
		{ "task_clock", "nanoseconds", "clock_here", 0, 0 },
	};
	struct kind_child c = kind_child_start(serve);
	struct got got = { .want = want, .len = 3 };
	struct kind_profile profile = { .fn = add_sample, .data = &got };
	struct otelprof *p = start(&c, &profile);
	struct told told;

	CHECK_OK(otelprof_set_probes(p, specs, 3));
	(void)ask(p, &c);
	memset(got.sum, 0, sizeof(got.sum));
	told = ask(p, &c);
	printf("  %lld of %lld switches, %lld of 2 x %d faults, %lld of %lld ns\n",
	       (long long)got.sum[0], (long long)told.switches, (long long)got.sum[1],
	       FAULTS, (long long)got.sum[2], (long long)told.cpu_ns);
	/* what comes between the sleeps and getrusage(2) is elsewhere */
	CHECK(got.sum[0] >= SLEEPS && got.sum[0] <= told.switches);
	CHECK_INT(got.period[0], 1);
	/* The period goes on from one process to the next on each CPU. */
	CHECK(got.sum[1] >= 2 * FAULTS - 6 && got.sum[1] <= 2 * FAULTS + 6);
	CHECK_INT(got.period[1], 3);
	/* the timer of an emulated machine skips ticks (tests/system/vm says so) */
	CHECK(got.sum[2] > told.cpu_ns * (getenv("OTELPROF_EMULATED") ? 3 : 9) / 10);
	CHECK(got.sum[2] < told.cpu_ns * 11 / 10);
	CHECK_INT(got.events, 0);
	CHECK_INT(kind_programs("op_perf"), 3);
	CHECK_OK(otelprof_set_probes(p, NULL, 0));
	CHECK_INT(kind_programs("op_perf"), 0);
	CHECK_INT(kind_close(p), 0);
	kind_child_end(&c);
}

/* More come in a moment than the rate takes: each sample stands for a block of them. */
static void test_software_events_at_a_rate(void)
{
	static const char *spec = "perf:minor-faults@20hz";
	static const struct want want = { "minor_faults", "count", "faults_here", 0, 0 };
	struct kind_child c = kind_child_start(serve);
	struct got got = { .want = &want, .len = 1 };
	struct kind_profile profile = { .fn = add_sample, .data = &got };
	struct otelprof *p = start(&c, &profile);
	int64_t all = (int64_t)ASKED * 2 * FAULTS;
	int i;

	CHECK_OK(otelprof_set_probes(p, &spec, 1));
	(void)ask(p, &c);
	memset(got.sum, 0, sizeof(got.sum));
	for (i = 0; i < ASKED; i++)
		(void)ask(p, &c);
	printf("  %lld of %lld faults\n", (long long)got.sum[0], (long long)all);
	CHECK(got.sum[0] > all * 3 / 4 && got.sum[0] < all * 5 / 4);
	CHECK_OK(otelprof_set_probes(p, NULL, 0));
	CHECK_INT(kind_close(p), 0);
	kind_child_end(&c);
}

/* Where there is no PMU, events of the hardware are refused with a sentence. */
static void test_hardware_events(void)
{
	static const char *const specs[] = { "perf:cycles", "perf:cache-misses@1000",
					     "perf:r01c2" };
	static const char *const bad[] = {
		"perf:",	 "perf:no-such-event", "perf:cycles@",
		"perf:cycles@0", "perf:cycles@99xz",   "perf:rxyz"
	};
	struct kind_child c = kind_child_start(serve);
	struct got got = { 0 };
	struct kind_profile profile = { .fn = add_sample, .data = &got };
	struct otelprof *p = start(&c, &profile);
	struct otelprof_error_info error;
	size_t i;
	int r;

	for (i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		CHECK_INT(otelprof_set_probes(p, &bad[i], 1), -EINVAL);
	for (i = 0; i < sizeof(specs) / sizeof(specs[0]); i++) {
		r = otelprof_set_probes(p, &specs[i], 1);
		if (r == 0) {
			printf("  %s: there\n", specs[i]);
			continue;
		}
		CHECK_INT(r, -EOPNOTSUPP);
		error.size = sizeof(error);
		CHECK_OK(otelprof_last_error(p, &error));
		printf("  %s\n", error.message);
		CHECK(strstr(error.message, specs[i]) && strstr(error.message, "PMU"));
	}
	(void)kind_close(p);
	kind_child_end(&c);
}

/* What this kernel may not have comes last: it ends the program. */
TEST_MAIN({ "arguments", test_arguments }, { "texts", test_texts },
	  { "software", test_software_events },
	  { "rate", test_software_events_at_a_rate },
	  { "hardware", test_hardware_events }, { "kernel", test_kernel_functions })
