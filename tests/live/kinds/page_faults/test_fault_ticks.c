/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Clock ticks that come in the walk of a page fault. A child that faults much spends a good part
 * of its time in such walks; its CPU samples must be as many as perf itself takes of it, at the
 * same rate and in the same seconds. Older kernels run no program of a perf event inside another
 * one and lose these ticks (docs/kinds/page_faults.md): then they are counted as dropped.
 *
 * The child's CPU time alone is no measure on a busy machine. The timer of a virtual machine is
 * up to 32 us late, and a tick that is due in the last moment of one thread comes in the next
 * one: a thread that often follows others which fell asleep has more ticks than its time.
 */
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <otelprof/otelprof.h>

#include "kind.h"
#include "otlp/reader.h"
#include "perf_ticks.h"
#include "test.h"

enum {
	PAGE = 4096,
	PAGES = 512,
	RATE_HZ = 999,
	ROUNDS = 4,
	POLL_MS = 5,
	RING_BYTES = 32 << 20,
	REST_NS = 5000000, /* for PAGES faults and what follows them */
};
#define ROUND_NS  500000000ULL
#define TOLERANCE 0.02
/* Standard deviations of two numbers of ticks, of clocks that do not tick at the same time: at
 * the begin and at the end of each turn on a CPU one of them may have a tick more. */
#define NOISE 3

#define PLACE __attribute__((noinline, no_sanitize("address", "undefined")))

struct told {
	uint64_t cpu_ns;
	uint64_t faults;
	uint64_t turns;	     /* on a CPU */
	uint64_t perf_ticks; /* perf's own */
};

static uint64_t cpu_ns(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000000ULL + (uint64_t)t.tv_nsec;
}

static uint64_t faults(void)
{
	struct rusage u;

	(void)getrusage(RUSAGE_SELF, &u);
	return (uint64_t)u.ru_minflt;
}

static uint64_t switches(void)
{
	struct rusage u;

	(void)getrusage(RUSAGE_SELF, &u);
	return (uint64_t)(u.ru_nvcsw + u.ru_nivcsw);
}

static PLACE void fault(volatile char *p)
{
	size_t i;

	for (i = 0; i < PAGES; i++)
		p[i * PAGE] = 1;
}

static PLACE void fault_loop(void)
{
	uint64_t end = cpu_ns() + ROUND_NS;
	char *p = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	(void)madvise(p, PAGES * PAGE, MADV_NOHUGEPAGE);
	while (cpu_ns() < end) {
		uint64_t rest = cpu_ns() + REST_NS;

		fault(p);
		(void)madvise(p, PAGES * PAGE, MADV_DONTNEED);
		/* no more samples than a busy machine can take out of the ring */
		while (cpu_ns() < rest)
			continue;
	}
	(void)munmap(p, PAGES * PAGE);
}

static void serve(int from, int to)
{
	struct told told;
	uint64_t begun;
	uint64_t before;
	uint64_t turns;
	char c;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	while (read(from, &c, 1) == 1) {
		begun = cpu_ns();
		before = faults();
		turns = switches();
		fault_loop();
		told.turns = switches() - turns + 1;
		told.faults = faults() - before;
		told.cpu_ns = cpu_ns() - begun;
		(void)!write(to, &told, sizeof(told));
	}
	_exit(0);
}

struct got {
	uint64_t ticks;
	uint64_t on_cpu_ns; /* of the wall-clock time */
	uint64_t faults;
	uint64_t nested; /* samples that were dropped for this reason */
	const struct otlp_profiles *profiles; /* of the request at hand */
};

static bool is_on_cpu(const struct got *got, const struct otlp_sample_view *s)
{
	const struct otlp_attribute *a =
		otlp_find_attribute(got->profiles, s->sample->attributes, "wall.state");

	return a && otlp_text_is(otlp_attribute_text(got->profiles, a), "on_cpu");
}

static int add(void *data, const struct otlp_sample_view *s)
{
	struct got *got = data;

	if (otlp_text_is(s->type, "samples"))
		got->ticks += s->count;
	else if (otlp_text_is(s->type, "wall"))
		got->on_cpu_ns += is_on_cpu(got, s) ? (uint64_t)s->value : 0;
	else if (otlp_text_is(s->type, "page_faults"))
		got->faults += s->count;
	return 0;
}

static int take(void *userdata, const void *request, size_t len, uint64_t samples)
{
	struct otlp_profiles *profiles = NULL;
	struct got *got = userdata;

	CHECK_OK(otlp_read(request, len, &profiles, NULL));
	got->profiles = profiles;
	CHECK_OK(otlp_each_sample(profiles, add, userdata));
	(void)otlp_free(profiles);
	return 0;
}

static struct otelprof *make(uint64_t kinds, pid_t pid, struct got *got)
{
	struct otelprof_callback_config callback;
	struct otelprof_config config;
	struct otelprof *p;

	otelprof_config_init(&config, sizeof(config));
	config.kinds = kinds;
	config.sample_rate_hz = RATE_HZ;
	config.ring_bytes = RING_BYTES;
	p = kind_open(&config, pid);
	otelprof_callback_config_init(&callback, sizeof(callback));
	callback.fn = take;
	callback.userdata = got;
	CHECK_OK(otelprof_exporter_callback(p, &callback));
	CHECK_OK(otelprof_start(p));
	return p;
}

static void add_drops(void *data, const char *name, const char *sentence, uint64_t count)
{
	struct got *got = data;

	if (count)
		printf("  dropped: %s, %llu\n", name, (unsigned long long)count);
	if (!strcmp(name, "nested"))
		got->nested = count;
}

/* Let the child fault under @kinds. */
static void run(uint64_t kinds, struct got *ret_got, struct told *ret_told)
{
	struct perf_ticks *perf = perf_ticks_open(RATE_HZ);
	struct otelprof_stats stats;
	struct told told;
	struct otelprof *p;
	int to[2];
	int from[2];
	pid_t pid;
	int i;

	*ret_told = (struct told){ 0 };
	*ret_got = (struct got){ 0 };
	CHECK_OK(pipe(to));
	CHECK_OK(pipe(from));
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0)
		serve(to[0], from[1]);
	p = make(kinds, pid, ret_got);
	for (i = 0; i < ROUNDS; i++) {
		CHECK_INT(write(to[1], "x", 1), 1);
		do {
			CHECK_OK(otelprof_poll(p, 0));
			ret_told->perf_ticks += perf_ticks_read(perf, (uint32_t)pid);
		} while (poll(&(struct pollfd){ .fd = from[0], .events = POLLIN }, 1,
			      POLL_MS) == 0);
		CHECK_INT(read(from[0], &told, sizeof(told)), sizeof(told));
		ret_told->cpu_ns += told.cpu_ns;
		ret_told->faults += told.faults;
		ret_told->turns += told.turns;
		CHECK_OK(otelprof_poll(p, 0));
	}
	CHECK_OK(otelprof_stop(p));
	ret_told->perf_ticks += perf_ticks_read(perf, (uint32_t)pid);
	CHECK_INT(perf->lost, 0);
	perf_ticks_close(perf);
	CHECK_OK(otelprof_export(p));
	otelprof_stats_init(&stats, sizeof(stats));
	CHECK_OK(otelprof_get_stats(p, &stats));
	CHECK_OK(otelprof_drops(p, add_drops, ret_got));
	CHECK_INT(stats.samples_dropped, ret_got->nested);
	CHECK_INT(stats.samples_taken, stats.samples_exported + stats.samples_filtered +
					       stats.samples_dropped);
	otelprof_free(p);
	CHECK_OK(kill(pid, SIGKILL));
	CHECK_INT(waitpid(pid, NULL, 0), pid);
	(void)close(to[0]);
	(void)close(to[1]);
	(void)close(from[0]);
	(void)close(from[1]);
	printf("  %llu ms, %llu faults, %llu ns each; told: %llu ticks, %llu faults, "
	       "%llu ms of wall clock on CPU\n",
	       (unsigned long long)(ret_told->cpu_ns / 1000000),
	       (unsigned long long)ret_told->faults,
	       (unsigned long long)(ret_told->cpu_ns / ret_told->faults),
	       (unsigned long long)ret_got->ticks, (unsigned long long)ret_got->faults,
	       (unsigned long long)(ret_got->on_cpu_ns / 1000000));
}

/* Does this kernel run a tick after the program in which it came due? The others that do are not
 * known by their version alone. */
static bool keeps_ticks(void)
{
	struct utsname u;

	CHECK_OK(uname(&u));
	return strncmp(u.release, "6.18.", 5) == 0;
}

/* How far from the truth the share of @told's ticks may be. */
static double tolerance(const struct told *told)
{
	return TOLERANCE +
	       NOISE * sqrt((double)told->turns / 2) / (double)told->perf_ticks;
}

static void check_ticks(const struct got *got, const struct told *told)
{
	double time = (double)told->cpu_ns * RATE_HZ / 1e9;
	double all = (double)told->perf_ticks;
	double share = (double)got->ticks / all;
	double counted = (double)(got->ticks + got->nested) / all;
	bool right = fabs(share - 1) < tolerance(told);

	printf("  %.1f ticks in the CPU time, %.0f by perf in %llu turns: %.4f of them were "
	       "told, %.4f told or dropped; to be within %.3f\n",
	       time, all, (unsigned long long)told->turns, share, counted,
	       tolerance(told));
	if (keeps_ticks())
		CHECK(right);
	/* of those that are missing, it says so */
	CHECK(right || got->nested);
}

static void test_cpu_alone(void)
{
	struct told told;
	struct got got;

	run(OTELPROF_KIND_CPU, &got, &told);
	CHECK_INT(got.faults, 0);
	check_ticks(&got, &told);
}

static void test_cpu_and_faults(void)
{
	struct told told;
	struct got got;

	run(OTELPROF_KIND_CPU | OTELPROF_KIND_PAGE_FAULTS, &got, &told);
	CHECK(got.faults >= told.faults);
	check_ticks(&got, &told);
}

/* The clock of the kind wall is another one. */
static void test_wall_and_faults(void)
{
	struct told told;
	struct got got;
	double share;

	run(OTELPROF_KIND_CPU | OTELPROF_KIND_WALL | OTELPROF_KIND_PAGE_FAULTS, &got,
	    &told);
	check_ticks(&got, &told);
	share = (double)got.on_cpu_ns * RATE_HZ / 1e9 / (double)told.perf_ticks;
	printf("  %.4f of perf's ticks in wall-clock time\n", share);
	if (keeps_ticks())
		CHECK(fabs(share - 1) < tolerance(&told));
}

TEST_MAIN({ "cpu_alone", test_cpu_alone }, { "cpu_and_faults", test_cpu_and_faults },
	  { "wall_and_faults", test_wall_and_faults })
