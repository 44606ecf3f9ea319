/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The clock of kinds that tick (bpf/event/clock.h, compiled here), on a made-up CPU. One
 * thread works and sleeps. What is told of it has to be its time, whatever the ticks of
 * the idle CPU do.
 */
#include <linux/types.h>
#include <stdbool.h>
#include <string.h>

#include "base/io.h"
#include "base/macros.h"
#include "kernel/state.h"
#include "op_control.h"
#include "random.h"
#include "test.h"

static struct op_clock clock_of_cpu;
static struct op_control in_force;

/* Stands in for what these headers have. */
#define __BPF_HELPERS__
#define OP_SETTINGS_H
#define OP_MAPS_H
#undef __always_inline
#define __always_inline		      inline __attribute__((always_inline))
#define bpf_map_lookup_elem(map, key) ((void)(key), &clock_of_cpu)
#define bpf_get_prandom_u32()	      random_u32()
#define op_control()		      (&in_force)
#include "bpf/event/clock.h"

enum {
	ROUNDS = 300000,
	NS_PER_MS = 1000000,
	HOLDS_INTERVALS = 10,
	HOLDS_MS = 40,
};

struct cpu {
	uint64_t now_ns;
	uint64_t next_ns; /* the next tick that is due */
	uint64_t change_ns;
	uint64_t late_ns; /* so late it wakes when it is idle */
	bool no_idle_ticks;
};

static uint64_t part(uint64_t most)
{
	return random_u32() * most >> 32;
}

/* As lib/kernel/clock.c does. */
static void change(struct cpu *c)
{
	uint64_t holds_ns = OP_MAX(HOLDS_INTERVALS * in_force.clock_ns,
				   (uint64_t)HOLDS_MS * NS_PER_MS);

	in_force.tick_ns =
		(in_force.clock_ns << 32) / ((UINT64_C(1) << 32) + (random_u32() >> 1));
	c->next_ns = c->change_ns + in_force.tick_ns;
	c->change_ns += holds_ns / 2 + part(holds_ns);
}

static uint64_t event_ns(const struct cpu *c)
{
	return c->next_ns < c->change_ns ? c->next_ns : c->change_ns;
}

/* Returns the samples of the thread that works. */
static uint64_t work(struct cpu *c, uint64_t ns)
{
	uint64_t until = c->now_ns + ns;
	uint64_t samples = 0;

	while (event_ns(c) <= until) {
		if (c->change_ns < c->next_ns) {
			change(c);
			continue;
		}
		samples += op_clock_is_due(OP_CLOCK_CPU, c->next_ns);
		c->next_ns += in_force.tick_ns;
	}
	c->now_ns = until;
	return samples;
}

/* Each timer wakes the CPU late, and all timers that are due by then expire at once. */
static void idle(struct cpu *c, uint64_t ns)
{
	uint64_t until = c->now_ns + ns;
	uint64_t due;

	do {
		due = event_ns(c) < until ? event_ns(c) : until;
		c->now_ns = (due > c->now_ns ? due : c->now_ns) + part(2 * c->late_ns);
		while (c->change_ns <= c->now_ns)
			change(c);
		if (c->next_ns > c->now_ns)
			continue;
		if (!c->no_idle_ticks)
			(void)op_clock_is_due(OP_CLOCK_CPU, c->now_ns);
		while (c->next_ns <= c->now_ns)
			c->next_ns += in_force.tick_ns;
	} while (due < until);
}

/* Intervals of @mean_ns. The thread works for @work_ns and sleeps for about @sleep_ns. @off:
 * thousandths. */
static void check(struct cpu cpu, uint64_t mean_ns, uint64_t work_ns, uint64_t sleep_ns,
		  int off)
{
	uint64_t samples = 0;
	double told;
	long i;

	memset(&clock_of_cpu, 0, sizeof(clock_of_cpu));
	in_force = (struct op_control){ .clock_ns = mean_ns };
	cpu.now_ns = cpu.change_ns = UINT64_C(1000) * NS_PER_MS;
	change(&cpu);
	for (i = 0; i < ROUNDS; i++) {
		samples += work(&cpu, work_ns);
		idle(&cpu, sleep_ns - sleep_ns / 8 + part(sleep_ns / 4));
	}
	told = (double)samples * (double)mean_ns / ((double)work_ns * ROUNDS);
	printf("  %llu ns of about %llu, %llu ns late%s: %.4f of the truth\n",
	       (unsigned long long)work_ns, (unsigned long long)(work_ns + sleep_ns),
	       (unsigned long long)cpu.late_ns,
	       cpu.no_idle_ticks ? ", no idle ticks" : "", told);
	CHECK(told * 1000 > 1000 - off && told * 1000 < 1000 + off);
}

/* The beginning of the work depends on the ticks, too: the error grows with the square of
 * the lateness. */
static void test_late_wakeups(void)
{
	const uint64_t ms = NS_PER_MS;

	check((struct cpu){ 0 }, ms, 3 * ms, 7 * ms, 5);
	check((struct cpu){ .late_ns = 30000 }, ms, 3 * ms, 7 * ms, 5);
	check((struct cpu){ .late_ns = 300000 }, ms, 3 * ms, 7 * ms, 20);
	check((struct cpu){ .late_ns = 100000 }, ms, ms / 5, ms, 20);
	check((struct cpu){ .late_ns = ms / 2 }, 10 * ms, 2 * ms, 8 * ms, 20);
}

/* The first ticks of new periods are not known there. */
static void test_no_idle_ticks(void)
{
	const uint64_t ms = NS_PER_MS;

	check((struct cpu){ .no_idle_ticks = true }, ms, 3 * ms, 7 * ms, 10);
	check((struct cpu){ .no_idle_ticks = true }, 10 * ms, 2 * ms, 8 * ms, 35);
}

/* A period that changes before its first tick costs the time until then: at 1 and 2 Hz a fifth
 * of all time was in no sample. */
static void test_a_period_lasts(void)
{
	static const uint32_t rates[] = { 1, 2, 3, 19, 999, 10000 };
	struct op_capture c = { .control = &in_force, .clocks.random = 1 };
	size_t i;
	int k;

	for (i = 0; i < OP_ARRAY_SIZE(rates); i++)
		for (k = 0; k < 100; k++) {
			uint64_t before_ns = op_clock_monotonic_ns();
			uint64_t holds_ns =
				UINT64_C(1000000000) * HOLDS_INTERVALS / rates[i];

			holds_ns = OP_MAX(holds_ns, UINT64_C(1) * HOLDS_MS * NS_PER_MS);
			CHECK_OK(op_clocks_set_rate(&c, rates[i]));
			CHECK(c.clocks.next_ns >= before_ns + holds_ns / 2 - rates[i]);
			CHECK(c.clocks.next_ns <=
			      op_clock_monotonic_ns() + holds_ns * 3 / 2);
		}
}

TEST_MAIN({ "lasts", test_a_period_lasts }, { "late", test_late_wakeups },
	  { "no_idle_ticks", test_no_idle_ticks })
