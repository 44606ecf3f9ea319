/* SPDX-License-Identifier: Apache-2.0 */
#include "parts/goroutines/heap.h"

#include <errno.h>
#include <time.h>

#include "base/io.h"
#include "base/macros.h"
#include "process/generation.h"
#include "process/processes.h"
#include "process/program.h"
#include "process/registry.h"
#include "profile/window.h"
#include "runtime/go/scale.h"
#include "sample/sampler.h"

enum {
	TRIES = 4,
	PAUSE_NS = 200000, /* between two tries */
	/* The longest stack that the runtime takes: before Go 1.23, and since. */
	DEPTH = 32,
	DEPTH_SINCE_23 = 128,
	MINOR_23 = 23,
	/* Most by which one process may grow the window, so that others fit, too. */
	WINDOW_BYTES_MAX = 16 << 20,
};

/* Limit of what reading a profile costs (readahead.h), all tries together: some 20 ms. */
static const uint64_t READ_LIMIT = UINT64_C(32) << 20;

/* Allocations of a bucket that were reported. False: the bucket is not remembered. */
static bool before(const struct op_golang_heap *h, const struct op_go_entry *e,
		   uint64_t *ret)
{
	*ret = 0;
	return op_map64_get(&h->process->heap_allocs, e->address, ret);
}

/* Remember the bucket's allocations as reported. Returns 0, -ENOSPC or -ENOMEM. */
static int remember(struct op_golang_heap *h, const struct op_go_entry *e)
{
	struct op_map64 *allocs = &h->process->heap_allocs;
	uint64_t reported;
	bool known = before(h, e, &reported);
	int r;

	/* The runtime may take an allocation back. It still counts as reported. */
	if (known && reported >= e->sums.allocs)
		return 0;
	if (!known && (h->remembered >= OP_GOLANG_REMEMBERED_MAX ||
		       allocs->len >= OP_GO_PROFILE_BUCKETS_MAX))
		return -ENOSPC;
	r = op_map64_put(allocs, e->address, e->sums.allocs);
	h->remembered += r == 0 && !known;
	return r;
}

/* The clock of the limits, or NULL. */
static const struct op_work_clock *clock_of(const struct op_golang_heap *h)
{
	const struct op_allowance *a = op_processes_config(h->processes)->allowance;

	return a ? &a->clock : NULL;
}

static int read_profile(struct op_golang_heap *h, const struct op_memory *memory,
			uint64_t until_ns)
{
	static const struct timespec pause = { .tv_nsec = PAUSE_NS };
	int r = -EAGAIN;
	int i;

	op_go_buckets_readahead(&h->ahead, memory);
	op_readahead_limit(&h->ahead, READ_LIMIT, clock_of(h), until_ns);
	for (i = 0; i < TRIES && r == -EAGAIN; i++) {
		if (i)
			(void)nanosleep(&pause, NULL);
		op_readahead_forget(&h->ahead);
		r = op_go_profile_read(&h->ahead.memory, &h->process->places.buckets,
				       &h->profile);
	}
	return r;
}

int op_golang_heap_read(struct op_golang_heap *h, struct op_golang_process *process,
			const struct op_proc *proc, bool whole, uint64_t until_ns,
			struct op_part_taken *taken)
{
	const struct op_go_entry *e;
	uint64_t lost = 0;
	int r;

	h->process = process;
	/* also if the process cannot be read this time */
	process->heap_whole |= whole && !process->heap_old;
	r = op_golang_process_search_heap(process, h->processes, proc, until_ns);
	if (r < 0)
		return r == -EINPROGRESS ? -ETIME : r;
	r = read_profile(h, &op_proc_view_now(proc).program->memory.memory, until_ns);
	if (r == -ENOENT)
		process->heap_known =
			true; /* if it begins to keep a profile, all of that is new */
	if (r < 0)
		return r;
	if (!process->heap_known && !process->heap_whole)
		op_vec_foreach(e, &h->profile.entries)
			lost += remember(h, e) < 0;
	/* An allocation that is not remembered would be reported as new later. */
	process->heap_known = lost == 0;
	lost += h->profile.cut;
	op_part_drop(taken, OP_EVENT_HEAP, OP_DROP_LATE, lost);
	return 0;
}

/* What the samples of a bucket stand for. */
struct reported {
	struct op_go_estimate allocated; /* since the previous snapshot */
	struct op_go_estimate in_use;
};

static struct reported report(const struct op_golang_heap *h, const struct op_go_entry *e)
{
	uint64_t rate = h->profile.rate;
	struct op_go_estimate old;
	struct reported t = { 0 };
	uint64_t reported;

	(void)before(h, e, &reported);
	if (e->sums.allocs > reported) {
		old = op_go_scale(reported, e->size, rate);
		t.allocated = op_go_scale(e->sums.allocs, e->size, rate);
		t.allocated.objects -= OP_MIN(old.objects, t.allocated.objects);
		t.allocated.bytes -= OP_MIN(old.bytes, t.allocated.bytes);
	}
	if (e->sums.allocs > e->sums.frees)
		t.in_use = op_go_scale(e->sums.allocs - e->sums.frees, e->size, rate);
	return t;
}

static void add(struct op_golang_heap *h, const struct op_window_sample *of,
		enum op_event event, const struct op_go_estimate *e,
		struct op_part_taken *taken)
{
	struct op_window_sample sample = *of;

	if (!e->bytes)
		return;
	sample.event = event;
	sample.value = (int64_t)OP_MIN(e->bytes, (uint64_t)OP_HEAP_BYTES_MAX);
	sample.count = (double)e->objects;
	op_part_count(taken, event, op_window_add(h->window, &sample));
}

/* Copy the stack and the resource of the bucket of @e. Returns 0 or -errno. */
static int make_sample(struct op_golang_heap *h, const struct op_go_entry *e,
		       struct op_window_sample *ret)
{
	struct op_go_bucket *b = &h->profile.bucket;
	struct op_proc *proc = op_registry_find_alive(h->processes, h->process->pid);
	size_t depth = h->process->minor < MINOR_23 ? DEPTH : DEPTH_SINCE_23;
	struct op_proc_view view;
	int r;

	if (!proc || !op_golang_process_is(h->process, proc))
		return -ESRCH;
	/* The stack of a bucket never changes. Its numbers may, so use those that were
	 * read. */
	r = op_go_bucket_read(&h->ahead.memory, e->address, h->process->minor, 0, b);
	if (r < 0 && r != -EAGAIN)
		return r;
	r = op_sampler_callers(h->sampler, proc, b->pcs, b->pcs_len, b->pcs_len >= depth,
			       h->window, &ret->stack);
	if (r < 0)
		return r;
	view = op_proc_view_now(proc);
	return op_program_resource(h->processes, view.program, view.mappings, &h->record,
				   h->window, &ret->resource);
}

/* Take the bucket of @e. Returns 0 or -EINPROGRESS. */
static int take(struct op_golang_heap *h, const struct op_go_entry *e,
		const struct reported *reported, struct op_part_taken *taken)
{
	struct op_window_sample sample = {
		.cpu = (uint32_t)OP_WINDOW_NO_THREAD,
		.time_ns =
			h->record.time_ns +
			(uint64_t)op_processes_config(h->processes)->realtime_offset_ns,
	};
	int r = make_sample(h, e, &sample);

	if (r == -EINPROGRESS)
		return r;
	if (r < 0) {
		op_part_count(taken, OP_EVENT_HEAP_LIVE, r);
		return 0;
	}
	/* An allocation that is not remembered would be reported again. */
	if (reported->allocated.bytes && remember(h, e) < 0) {
		op_part_drop(taken, OP_EVENT_HEAP, OP_DROP_LATE, 1);
	} else {
		add(h, &sample, OP_EVENT_HEAP, &reported->allocated, taken);
	}
	add(h, &sample, OP_EVENT_HEAP_LIVE, &reported->in_use, taken);
	return 0;
}

/* Index of the entry at which the last snapshot stopped, or 0. */
static size_t stopped_at(const struct op_golang_heap *h)
{
	size_t i;

	for (i = 0; i < h->profile.entries.len; i++)
		if (h->profile.entries.data[i].address == h->process->heap_stopped)
			return i;
	return 0;
}

int op_golang_heap_take(struct op_golang_heap *h, const struct op_record *record,
			struct op_window *window, uint64_t until_ns,
			struct op_part_taken *taken)
{
	size_t window_bytes = op_window_bytes(window);
	size_t len = h->profile.entries.len;
	struct op_allowance *allowance = op_processes_config(h->processes)->allowance;
	size_t first = stopped_at(h);
	size_t i;
	int r = 0;

	h->record = *record;
	h->record.event = OP_EVENT_HEAP_LIVE;
	h->window = window;
	h->process->heap_stacks = 0;
	h->process->heap_stopped = 0;
	op_readahead_limit(&h->ahead, UINT64_MAX, clock_of(h), until_ns);
	op_readahead_forget(&h->ahead);
	op_allowance_until(allowance, until_ns);
	for (i = 0; i < len; i++) {
		size_t at = first + i;
		const struct op_go_entry *e =
			&h->profile.entries.data[at < len ? at : at - len];
		struct reported reported = report(h, e);

		if (!reported.allocated.bytes && !reported.in_use.bytes)
			continue;
		h->process->heap_stacks++;
		if (r == 0 && op_allowance_now(allowance) >= until_ns)
			r = -EINPROGRESS;
		if (r == 0 && op_window_bytes(window) > window_bytes + WINDOW_BYTES_MAX)
			op_part_count(taken, OP_EVENT_HEAP_LIVE, -ENOSPC);
		else if (r == 0)
			r = take(h, e, &reported, taken);
		if (r == 0)
			continue;
		if (!h->process->heap_stopped)
			h->process->heap_stopped = e->address;
		op_part_drop(taken, OP_EVENT_HEAP_LIVE, OP_DROP_LATE, 1);
	}
	op_allowance_until(allowance, 0);
	return r;
}

void op_golang_heap_deinit(struct op_golang_heap *h)
{
	op_go_profile_deinit(&h->profile);
}
