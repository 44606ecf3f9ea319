/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A snapshot of threads: each thread that the filter includes, with its state, its kernel
 * stack and its user stack. A BPF iterator lists all threads (bpf/event/snapshot/threads.bpf.c).
 * Their stacks are read and walked here. Then a second iterator tells which threads ran
 * meanwhile: their stacks are unknown.
 */
#include <errno.h>
#include <string.h>

#include "base/hash.h"
#include "base/io.h"
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
 * Nobody reads the ring while threads are walked. A process chooses how long that takes: by
 * their number, and by the depth of their stacks. So there is a limit for all, and one for
 * each process.
 */
static const uint64_t LIMIT_NS = UINT64_C(1000000000);
static const uint64_t PROCESS_LIMIT_NS = UINT64_C(500000000);

/* A thread whose stack was read. */
struct thread {
	struct op_window_sample sample;
	uint64_t switches;
};

struct snapshot {
	struct op_sampler *sampler;
	struct op_window *window;
	struct op_part_taken *taken;
	OP_VEC(struct thread) threads;
	struct op_map64
		by_tid; /* tid -> index in threads + 1; 0: its stack was unchanged */
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
	/* what is not there now is late: the snapshot has no other time */
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

		memcpy(&now, bytes + at, sizeof(now));
		if (!op_map64_get(&s->by_tid, now.tid, &index) || !index)
			continue;
		if (!now.running && s->threads.data[index - 1].switches == now.switches)
			(void)op_map64_put(&s->by_tid, now.tid, 0);
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
		uint64_t moved = 1;

		(void)op_map64_get(&s->by_tid, t->sample.tid, &moved);
		if (moved && r == 0)
			t->sample.stack = running;
		t->sample.value = 1;
		r = r < 0 ? r : op_window_add(s->window, &t->sample);
		op_part_count(s->taken, OP_EVENT_THREADS, r);
	}
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

	if (all < 0 || now < 0 || (end != OP_PART_END_EXPORT && end != OP_PART_END_RATE))
		return 0;
	s.until_ns = op_clock_work_ns(&s.clock) + LIMIT_NS;
	r = op_threads_iterate(all, take_all, &s);
	if (r == 0)
		r = op_threads_iterate(now, take_now, &s);
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
