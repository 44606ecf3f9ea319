/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A snapshot of threads: each thread that the filter includes, with its state, its kernel
 * stack and its user stack. A BPF iterator lists all threads (bpf/event/snapshot/threads.bpf.c).
 * Their stacks are read and walked here. Then a second iterator tells which threads ran
 * meanwhile: their stacks are unknown.
 *
 * The last snapshot, when sampling stops, has the waits that have not ended. For kinds that measure
 * intervals off the CPUs (off_cpu, wall, locks) they end there.
 */
#include <errno.h>
#include <string.h>

#include "base/hash.h"
#include "base/io.h"
#include "base/macros.h"
#include "base/vec.h"
#include "kernel/capture.h"
#include "parts/parts.h"
#include "parts/threads/iterate.h"
#include "profile/window.h"
#include "sample/sampler.h"

enum {
	PROGRAM_ALL = 0, /* index in op_kind_threads.hooks */
	PROGRAM_NOW = 1,
	THREADS_MAX = 131072, /* threads of a snapshot */
};

/*
 * Nobody reads the ring while threads are walked. A process determines how long that
 * takes, by the number of its threads and the depth of their stacks. So there is a
 * limit for all, and one for each process.
 */
static const uint64_t LIMIT_NS = UINT64_C(1000000000);
static const uint64_t PROCESS_LIMIT_NS = UINT64_C(500000000);

/* A thread whose stack was read. */
struct thread {
	struct op_window_sample sample;
	uint64_t switches;
	/* of a thread that did not run since then; tid 0: it ran */
	struct op_thread_now now;
};

/* The kinds whose values are intervals off the CPUs. */
static const enum op_event WAITS[] = { OP_EVENT_OFF_CPU, OP_EVENT_WALL, OP_EVENT_LOCKS };

struct snapshot {
	struct op_sampler *sampler;
	struct op_window *window;
	struct op_part_taken *taken;
	OP_VEC(struct thread) threads;
	struct op_map64 by_tid; /* tid -> index in threads + 1 */
	struct op_work_clock clock;
	uint64_t until_ns;     /* by that clock */
	struct op_map64 spent; /* pid -> ns that its threads have taken */
};

/* Read the stack of the thread of @record, or leave it out if there is no time left. */
static int read_thread(struct snapshot *s, uint32_t pid, const void *record, size_t len,
		       struct op_window_sample *ret)
{
	uint64_t begin_ns = op_clock_work_ns(&s->clock);
	uint64_t spent_ns = 0;
	bool late;
	int r;

	(void)op_map64_get(&s->spent, pid, &spent_ns);
	late = begin_ns >= s->until_ns || spent_ns >= PROCESS_LIMIT_NS;
	r = op_sampler_thread(s->sampler, record, len, late, s->window, ret);
	if (late)
		return r;
	/* a thread that is not read now is late: it is not read later */
	if (r == -EINPROGRESS)
		r = op_sampler_thread(s->sampler, record, len, true, s->window, ret);
	spent_ns += op_clock_work_ns(&s->clock) - begin_ns;
	return op_map64_put(&s->spent, pid, spent_ns) < 0 ? -ENOMEM : r;
}

/* Note the thread of @record. */
static void take_thread(struct snapshot *s, const void *record, size_t len)
{
	struct op_record h;
	struct thread *t;
	int r = -ENOSPC;

	memcpy(&h, record, sizeof(h));
	t = s->threads.len < THREADS_MAX ? op_vec_push(&s->threads) : NULL;
	if (t)
		r = read_thread(s, h.pid, record, len, &t->sample);
	else if (s->threads.len < THREADS_MAX)
		r = -ENOMEM;
	if (r == 0) {
		t->switches = h.value;
		t->now.tid = 0;
		r = op_map64_put(&s->by_tid, h.tid, s->threads.len);
	}
	if (r == 0)
		return;
	if (t)
		s->threads.len--;
	op_part_count(s->taken, OP_EVENT_THREADS, r);
}

static int64_t take_all(void *ctx, const uint8_t *bytes, size_t len)
{
	struct snapshot *s = ctx;
	size_t at = 0;

	while (len - at >= sizeof(struct op_record)) {
		struct op_record_header h;

		memcpy(&h, bytes + at, sizeof(h));
		if (h.bytes < sizeof(struct op_record) || h.bytes > OP_THREADS_READ_BYTES)
			return -EBADMSG;
		if (h.bytes > len - at)
			break;
		take_thread(s, bytes + at, h.bytes);
		at += h.bytes;
	}
	return (int64_t)at;
}

/* Find the threads that did not run since their stack was read. */
static int64_t take_now(void *ctx, const uint8_t *bytes, size_t len)
{
	struct snapshot *s = ctx;
	struct op_thread_now now;
	size_t at;

	for (at = 0; len - at >= sizeof(now); at += sizeof(now)) {
		uint64_t index;
		struct thread *t;

		memcpy(&now, bytes + at, sizeof(now));
		if (!op_map64_get(&s->by_tid, now.tid, &index))
			continue;
		t = &s->threads.data[index - 1];
		if (!now.running && t->switches == now.switches)
			t->now = now;
	}
	return (int64_t)at;
}

/* Add all threads to the window. A thread that ran meanwhile is added without
 * its stack. */
static void add_all(struct snapshot *s)
{
	struct thread *t;
	uint32_t running;
	int r = op_sampler_running(s->sampler, s->window, &running);

	op_vec_foreach(t, &s->threads) {
		if (!t->now.tid && r == 0)
			t->sample.stack = running;
		t->sample.value = 1;
		r = r < 0 ? r : op_window_add(s->window, &t->sample);
		op_part_count(s->taken, OP_EVENT_THREADS, r);
	}
}

/* Make a sample of @kind of the wait of @t, which has lasted @ns. */
static int add_wait(struct snapshot *s, const struct thread *t, enum op_event kind,
		    uint64_t ns)
{
	struct op_window_sample sample = t->sample;
	uint16_t detail = (uint16_t)t->now.reason;
	int r;

	if (kind == OP_EVENT_LOCKS) {
		ns = OP_MIN(ns, OP_LOCKS_DELAY_MAX) | UINT64_C(1) << OP_LOCKS_COUNT_SHIFT;
		detail = OP_LOCK_FUTEX;
	}
	r = op_sampler_recast(s->sampler, kind, ns, detail, s->window, &sample);
	return r < 0 ? r : op_window_add(s->window, &sample);
}

/* Sampling stops, so waits that have not ended end here. */
static void add_waits(struct snapshot *s, const struct op_capture *capture)
{
	uint64_t now_ns = op_clock_monotonic_ns(), ns;
	const struct thread *t;
	size_t i;

	op_vec_foreach(t, &s->threads) {
		for (i = 0; t->now.tid && i < OP_ARRAY_SIZE(WAITS); i++) {
			if (WAITS[i] == OP_EVENT_LOCKS &&
			    t->now.reason != OP_REASON_FUTEX)
				continue;
			ns = op_capture_off_ns(capture, WAITS[i], t->now.host_tid,
					       t->now.started_ns, now_ns);
			if (ns)
				op_part_count(s->taken, WAITS[i],
					      add_wait(s, t, WAITS[i], ns));
		}
	}
}

static bool has_waits(const struct op_capture *capture)
{
	size_t i;

	for (i = 0; i < OP_ARRAY_SIZE(WAITS); i++)
		if (op_capture_program(capture, WAITS[i], 0) >= 0)
			return true;
	return false;
}

static bool is_wanted(const struct op_capture *capture, enum op_part_end end)
{
	if (end == OP_PART_END_STOP)
		return has_waits(capture);
	return end == OP_PART_END_EXPORT || end == OP_PART_END_RATE;
}

static int snapshot(void *part, struct op_window *window, enum op_part_end end,
		    struct op_part_taken *taken)
{
	const struct op_part_config *config = part;
	int all = op_capture_program(config->capture, OP_EVENT_THREADS, PROGRAM_ALL);
	int now = op_capture_program(config->capture, OP_EVENT_THREADS, PROGRAM_NOW);
	struct snapshot s = { .sampler = config->sampler,
			      .window = window,
			      .taken = taken };
	int r;

	if (all < 0 || now < 0 || !is_wanted(config->capture, end))
		return 0;
	s.until_ns = op_clock_work_ns(&s.clock) + LIMIT_NS;
	r = op_threads_iterate(all, take_all, &s);
	if (r == 0)
		r = op_threads_iterate(now, take_now, &s);
	if (end == OP_PART_END_STOP)
		add_waits(&s, config->capture);
	else
		add_all(&s);
	op_map64_clear(&s.by_tid);
	op_map64_clear(&s.spent);
	op_vec_clear(&s.threads);
	return r;
}

const struct op_part_ops op_part_threads = {
	.name = "threads",
	.snapshot = snapshot,
};
