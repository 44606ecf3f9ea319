/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Wall-clock time end to end. A child works for a known time of its own CPU clock in one place
 * and sleeps in another: time on and off the CPUs must be what its clocks say, and the sum
 * what the wall clock says.
 */
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include <otelprof/otelprof.h>

#include "kind_profile.h"
#include "on_cpu.h"
#include "test.h"

enum {
	ROUNDS = 400,
	WORK_NS = 3000000, /* of the thread's CPU clock */
	SLEEP_NS = 7000000,
	RATE_HZ = 997,
	SIGMAS_2 = 20, /* (4.5 sigma)^2 */
	OFF_SUM = 30,  /* thousandths */
	/* In an emulated guest ticks are lost: of 1,200 ms there were 737 to 975. The kernel does
	 * not make up for them, and neither does the kind. */
	TICKS_LOST_EMULATED = 500,
};

struct answer {
	int64_t wall_ns;
	struct off_ns sleeps_ns; /* off the CPUs where it sleeps */
	int64_t times_on;	 /* it got a CPU so many times */
};

static PLACE void works_here(void)
{
	int64_t until = kind_clock_ns(CLOCK_THREAD_CPUTIME_ID) + WORK_NS;
	volatile int i = 0;

	while (kind_clock_ns(CLOCK_THREAD_CPUTIME_ID) < until)
		while (++i % 1000)
			;
	STAYS("works");
}

static PLACE void sleeps_here(void)
{
	struct timespec t = { .tv_nsec = SLEEP_NS };

	(void)nanosleep(&t, NULL);
	STAYS("sleeps");
}

static int64_t switches(void)
{
	struct rusage u;

	(void)getrusage(RUSAGE_THREAD, &u);
	return u.ru_nvcsw + u.ru_nivcsw;
}

static void serve(int from, int to)
{
	int clock = task_clock_open(false);
	char go;

	while (read(from, &go, 1) == 1) {
		int64_t wall = kind_clock_ns(CLOCK_MONOTONIC);
		struct answer a = { .times_on = -switches() };
		int i;

		for (i = 0; i < ROUNDS; i++) {
			struct off_ns off;

			works_here();
			off = off_begin(CLOCK_THREAD_CPUTIME_ID, clock, 1);
			sleeps_here();
			off = off_end(off, CLOCK_THREAD_CPUTIME_ID, clock, 1);
			a.sleeps_ns.least += off.least;
			a.sleeps_ns.most += off.most;
		}
		a.wall_ns = kind_clock_ns(CLOCK_MONOTONIC) - wall;
		a.times_on += switches();
		(void)!write(to, &a, sizeof(a));
	}
}

struct got {
	int64_t on_ns; /* where it works */
	int64_t off_ns;
	int64_t sleep_ns; /* where it sleeps, off the CPUs */
	int64_t sleep_on_ns;
	int64_t others;
};

static void add_sample(struct kind_profile *profile, const struct otlp_sample_view *s)
{
	bool on = kind_says(profile, s, "wall.state", "on_cpu");
	struct got *got = profile->data;

	if (!kind_is(s, "wall", "nanoseconds"))
		got->others++;
	else if (kind_frame(s, "sleeps_here") >= 0)
		*(on ? &got->sleep_on_ns : &got->sleep_ns) += s->value;
	else if (kind_frame(s, "works_here") >= 0)
		*(on ? &got->on_ns : &got->off_ns) += s->value;
}

static void check_near(const char *what, int64_t got, int64_t want, int64_t off)
{
	printf("  %s: %lld, wanted %lld\n", what, (long long)got, (long long)want);
	CHECK(got * 1000 >= want * (1000 - off) && got * 1000 <= want * (1000 + off));
}

/* At each end of a time on a CPU a tick is there by chance: the variance is a sixth. */
static void check_ticks(int64_t got, int64_t least, int64_t most, int64_t times)
{
	int64_t off = got < least ? least - got : got > most ? got - most : 0;
	double ticks = (double)off * RATE_HZ / 1e9;

	printf("  on a CPU: %lld, wanted %lld to %lld, in %lld times\n", (long long)got,
	       (long long)least, (long long)most, (long long)times);
	CHECK(ticks * ticks <= SIGMAS_2 * (double)times / 3);
}

static void test_on_and_off(void)
{
	struct kind_child c = kind_child_start(serve);
	struct got got = { 0 };
	struct kind_profile profile = { .fn = add_sample, .data = &got };
	struct otelprof_config config;
	struct otelprof *p;
	struct answer a;
	int64_t stolen;

	otelprof_config_init(&config, sizeof(config));
	config.kinds = OTELPROF_KIND_WALL;
	config.sample_rate_hz = RATE_HZ;
	p = kind_start(&config, c.pid, &profile);
	CHECK_INT(kind_programs("op_wall_tick"), 1);
	CHECK_INT(kind_programs("op_cpu") + kind_programs("op_off_cpu"), 0);
	kind_child_ask(p, &c, "g", 1, &a, sizeof(a));
	memset(&got, 0, sizeof(got));
	stolen = stolen_ns();
	kind_child_ask(p, &c, "g", 1, &a, sizeof(a));
	stolen = stolen_ns() - stolen;
	off_stolen(&a.sleeps_ns, stolen);
	(void)kind_close(p);
	kind_child_end(&c);
	CHECK_INT(got.others, 0);
	printf("  lost its CPU while it worked: %lld\n", (long long)got.off_ns);
	printf("  on a CPU where it sleeps: %lld, all: %lld\n",
	       (long long)got.sleep_on_ns,
	       (long long)(got.on_ns + got.off_ns + got.sleep_ns + got.sleep_on_ns));
	off_check("off the CPUs where it sleeps", got.sleep_ns, a.sleeps_ns, OFF_SUM);
	if (getenv("OTELPROF_EMULATED")) { /* tests/system/vm says so */
		check_near("on a CPU, emulated", got.on_ns, (int64_t)ROUNDS * WORK_NS,
			   TICKS_LOST_EMULATED);
		return;
	}
	/* Ticks go on where the host took the CPU, and the clock of the thread does not. */
	check_ticks(got.on_ns, (int64_t)ROUNDS * WORK_NS,
		    (int64_t)ROUNDS * WORK_NS + stolen, a.times_on);
	check_near("all", got.on_ns + got.off_ns + got.sleep_ns + got.sleep_on_ns,
		   a.wall_ns, OFF_SUM);
}

static void test_its_parts_go_with_it(void)
{
	struct otelprof *p = kind_defaults();

	CHECK_OK(otelprof_set_kinds(p, OTELPROF_KIND_WALL));
	CHECK_INT(kind_programs("op_wall"), 1);
	CHECK_INT(kind_programs("op_wall_tick"), 1);
	CHECK_OK(otelprof_set_kinds(p, OTELPROF_KIND_CPU));
	CHECK_INT(kind_programs("op_wall") + kind_programs("op_wall_tick"), 0);
	CHECK_INT(otelprof_set_kinds(p, UINT64_C(1) << 7),
		  -E2BIG); /* of the library's own */
	otelprof_free(p);
}

TEST_MAIN({ "shares", test_on_and_off }, { "parts", test_its_parts_go_with_it })
