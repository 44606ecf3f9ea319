/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The clocks of the kinds that tick. A clock with a fixed period may be in step with
 * programs that work by timers: each tick finds them at the same place. So the clocks
 * get a random period, and a new one every few intervals. The programs take a tick at a
 * random moment of each interval (bpf/event/clock.h). A new period for each tick would
 * be best. But setting one interrupts the CPU, and takes as long as a sample.
 */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "base/io.h"
#include "base/macros.h"
#include "kernel/state.h"
#include "otelprof/error.h"

enum {
	/* A period lasts for so many intervals or milliseconds, whichever is longer,
	 * varied at random from half to one and a half of it. */
	HOLDS_INTERVALS = 10,
	HOLDS_MS = 40,
	LIMIT_BYTES = 32,
};

/* A random number below @most. */
static uint64_t random_part(struct op_capture *c, uint64_t most)
{
	return (uint64_t)((double)most *
			  ((double)(op_random_next(&c->clocks.random) >> 11) * 0x1p-53));
}

/* The kernel slows down events that are more frequent than this. */
static uint64_t shortest_ns(const struct op_capture *c)
{
	return c->clocks.most_hz ? OP_NS_PER_S / c->clocks.most_hz : 0;
}

/* One to one and a half ticks in an interval, evenly distributed. More ticks cost more
 * CPU time, and fewer have periods so alike that one may be in step with a program. */
static void draw_tick(struct op_capture *c)
{
	uint64_t mean_ns = OP_NS_PER_S / c->rate_hz;
	uint64_t part = random_part(c, UINT32_MAX / 2);
	uint64_t tick_ns = (mean_ns << 32) / ((UINT64_C(1) << 32) + part);

	tick_ns = OP_MIN(OP_MAX(tick_ns, shortest_ns(c)), mean_ns);
	__atomic_store_n(&c->control->tick_ns, tick_ns, __ATOMIC_RELAXED);
}

uint64_t op_clocks_tick_ns(const struct op_capture *c)
{
	return c->control->tick_ns;
}

static int set_tick(struct op_capture *c, const struct op_cpu_events *e, uint32_t kind)
{
	uint64_t tick_ns = op_clocks_tick_ns(c);
	int fd = e->kind_fd[kind][0];

	if (fd < 0 || !op_kinds()[kind]->ticks ||
	    ioctl(fd, PERF_EVENT_IOC_PERIOD, &tick_ns) == 0)
		return 0;
	return op_fail(c->log, -errno, "the rate of CPU %u could not be changed: %s",
		       e->cpu, strerror(errno));
}

static void read_limit(struct op_capture *c)
{
	_cleanup_free_ char *text = NULL;

	if (op_read_file("/proc/sys/kernel/perf_event_max_sample_rate", LIMIT_BYTES,
			 &text) > 0)
		c->clocks.most_hz = strtoul(text, NULL, 10);
}

/* Give the clocks a new period. */
static int draw(struct op_capture *c, uint64_t now_ns)
{
	uint64_t holds_ns = OP_MAX(OP_NS_PER_S / c->rate_hz * HOLDS_INTERVALS,
				   (uint64_t)HOLDS_MS * OP_NS_PER_MS);
	struct op_cpu_events *e;
	uint32_t kind;
	int r = 0;

	c->clocks.next_ns = now_ns + holds_ns / 2 + random_part(c, holds_ns);
	draw_tick(c);
	op_vec_foreach(e, &c->cpus.list)
		for (kind = 0; r == 0 && kind < OP_KINDS; kind++)
			r = set_tick(c, e, kind);
	return r;
}

static bool clocks_are_on(const struct op_capture *c)
{
	return c->sampling && (c->kinds.program[OP_EVENT_CPU][0] >= 0 ||
			       c->kinds.program[OP_EVENT_WALL_TICK][0] >= 0);
}

void op_clocks_start(struct op_capture *c)
{
	if (!c->clocks.random)
		c->clocks.random = op_hash_seed();
	__atomic_store_n(&c->control->clock_ns, OP_NS_PER_S / c->rate_hz,
			 __ATOMIC_RELAXED);
	read_limit(c);
	draw_tick(c);
}

uint64_t op_clocks_next_ns(const struct op_capture *c)
{
	return clocks_are_on(c) ? c->clocks.next_ns : 0;
}

void op_clocks_poll(struct op_capture *c)
{
	uint64_t now_ns = op_clock_monotonic_ns();

	/* another check notices that a CPU has just gone offline */
	if (clocks_are_on(c) && now_ns >= c->clocks.next_ns)
		(void)draw(c, now_ns);
}

int op_clocks_set_rate(struct op_capture *c, uint32_t hz)
{
	c->rate_hz = hz;
	return draw(c, op_clock_monotonic_ns());
}
