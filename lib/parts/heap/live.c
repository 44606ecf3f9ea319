/* SPDX-License-Identifier: Apache-2.0 */
/* Compares the kernel's map of allocations in use with the stored samples, and sums them
 * by stack. */
#include "parts/heap/live.h"

#include <bpf/bpf.h>
#include <errno.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "parts/heap/thin.h"
#include "process/generation.h"
#include "process/processes.h"
#include "process/program.h"
#include "process/registry.h"
#include "process/target/scan.h"
#include "profile/import.h"

enum {
	BATCH = 4096,
	PID_KEY_SHIFT = 32,
	/* share of a limit that is kept if more than half of it is used */
	OP_LIVE_ROOM_PARTS = 8,
	OP_LIVE_ROOM_KEPT = 3,
};

/* What one stack of one process has in use. */
struct sum {
	uint32_t resource;
	uint32_t stack;
	uint64_t bytes;
	double count;
};

struct reading {
	struct op_live *live;
	const struct op_capture_heap *maps;
	OP_VEC(struct sum) sums;
	struct op_map64 by_stack;	    /* resource << 32 | stack -> index in sums */
	struct op_map64 pids;		    /* pid -> number of its allocations in use */
	OP_VEC(struct op_thin_entry) found; /* all of them */
	uint64_t in_use;
	uint64_t unknown; /* in use, but the sample is not kept */
};

static const struct op_window_config STORE = { .period_ns = 1,
					       .limit_bytes = OP_LIVE_STORE_BYTES };

int op_live_init(struct op_live *l, struct op_processes *processes)
{
	l->processes = processes;
	l->random = op_hash_seed();
	return op_window_new(&STORE, &l->store);
}

void op_live_deinit(struct op_live *l)
{
	op_window_free(l->store);
	op_vec_clear(&l->entries);
	op_map64_clear(&l->by_sample);
	op_map64_clear(&l->stacks);
}

void op_live_reset(struct op_live *l)
{
	op_window_reset(l->store);
	l->entries.len = 0;
	op_map64_clear(&l->by_sample);
	op_map64_clear(&l->stacks);
	l->count = 0;
	l->unknown = 0;
}

/* A thread takes one sample at a time, so time and tid identify a sample. */
static uint64_t key_of(uint64_t time_ns, uint32_t tid)
{
	return op_hash_u64(time_ns) ^ tid;
}

static struct op_live_entry *find(struct op_live *l, uint64_t time_ns, uint32_t tid)
{
	struct op_live_entry *e;
	uint64_t index;

	if (!op_map64_get(&l->by_sample, key_of(time_ns, tid), &index))
		return NULL;
	e = &l->entries.data[index];
	return e->time_ns == time_ns && e->tid == tid ? e : NULL;
}

/* The number in the store of the stack @stack of @window. */
static int store_stack(struct op_live *l, const struct op_window *window, uint32_t stack,
		       uint32_t *ret)
{
	uint64_t known;
	int r;

	if (l->epoch != op_window_epoch(window)) {
		op_map64_clear(&l->stacks);
		l->epoch = op_window_epoch(window);
	}
	if (op_map64_get(&l->stacks, stack, &known)) {
		*ret = (uint32_t)known;
		return 0;
	}
	r = op_window_import_stack(l->store, window, stack, ret);
	return r < 0 ? r : op_map64_put(&l->stacks, stack, *ret);
}

/* Copy the stack and the resource of @e from window @from to @to, and update
 * its numbers. */
static int move_entry(struct op_window *to, const struct op_window *from,
		      struct op_live_entry *e)
{
	int r = op_window_import_stack(to, from, e->stack, &e->stack);

	return r < 0 ? r : op_window_import_resource(to, from, e->resource, &e->resource);
}

/* Make a new store with only the stacks of the entries. Without memory the old
 * one stays. */
static void compact(struct op_live *l)
{
	_cleanup_(op_window_freep) struct op_window *store = NULL;
	OP_VEC(struct op_live_entry) moved = { 0 };
	struct op_live_entry *e;
	int r = op_window_new(&STORE, &store);

	if (r == 0 && op_vec_reserve(&moved, l->entries.len))
		r = -ENOMEM;
	for (e = l->entries.data; r == 0 && e && e < l->entries.data + l->entries.len;
	     e++) {
		moved.data[moved.len] = *e;
		r = move_entry(store, l->store, &moved.data[moved.len++]);
	}
	if (r == 0) {
		memcpy(l->entries.data, moved.data, moved.len * sizeof(*moved.data));
		op_window_free(l->store);
		l->store = OP_TAKE_PTR(store);
		op_map64_clear(&l->stacks);
		l->epoch = 0;
	}
	op_vec_clear(&moved);
}

/* Remove entries that are no longer in use. */
static void sweep(struct op_live *l)
{
	size_t kept = 0;
	size_t i;

	op_map64_clear(&l->by_sample);
	for (i = 0; i < l->entries.len; i++) {
		struct op_live_entry e = l->entries.data[i];

		if (!e.in_use ||
		    op_map64_put(&l->by_sample, key_of(e.time_ns, e.tid), kept))
			continue;
		e.in_use = false;
		l->entries.data[kept++] = e;
	}
	l->entries.len = kept;
	if (op_window_bytes(l->store) > OP_LIVE_STORE_BYTES / 2)
		compact(l);
}

/* Is the process that made the allocation @live still running? */
static bool is_alive(struct op_live *l, const struct op_heap_live *live)
{
	struct op_proc *proc = op_registry_find_alive(l->processes, live->pid);

	/* A process without samples for a long time may have been forgotten by
	 * the table. */
	if (!proc)
		return op_scan_exists(op_processes_config(l->processes)->procfs_root,
				      live->pid);
	return live->time_ns >= op_proc_view_now(proc).program->since_ns;
}

static int add(struct reading *g, const struct op_live_entry *e,
	       const struct op_heap_live *live)
{
	uint64_t key = (uint64_t)e->resource << PID_KEY_SHIFT | e->stack;
	uint64_t bytes = live->value & OP_HEAP_BYTES_MAX;
	struct sum *sum;
	uint64_t index = g->sums.len;

	if (!op_map64_get(&g->by_stack, key, &index)) {
		sum = op_vec_push(&g->sums);
		if (!sum || op_map64_put(&g->by_stack, key, index) < 0)
			return -ENOMEM;
		*sum = (struct sum){ .resource = e->resource, .stack = e->stack };
	}
	sum = &g->sums.data[index];
	sum->bytes += bytes;
	sum->count += (double)bytes / (double)op_heap_size(live->value);
	return 0;
}

/* Handle one element of the kernel's map. */
static int take(struct reading *g, uint64_t key, const struct op_heap_live *live)
{
	struct op_live_entry *e = find(g->live, live->time_ns, live->tid);
	struct op_thin_entry *found;
	uint64_t count = 0;

	if (!is_alive(g->live, live)) {
		(void)bpf_map_delete_elem(g->maps->lives, &key);
		return 0;
	}
	(void)op_map64_get(&g->pids, live->pid, &count);
	found = op_vec_push(&g->found);
	if (!found || op_map64_put(&g->pids, live->pid, count + 1) < 0)
		return -ENOMEM;
	*found = (struct op_thin_entry){ key, *live };
	g->in_use++;
	if (!e) {
		g->unknown++;
		return 0;
	}
	e->in_use = true;
	return add(g, e, live);
}

static int read_lives(struct reading *g)
{
	_cleanup_free_ struct op_heap_live *live = calloc(BATCH, sizeof(*live));
	_cleanup_free_ uint64_t *key = calloc(BATCH, sizeof(*key));
	uint32_t at;
	bool begun = false;
	int r = 0;

	if (!live || !key)
		return -ENOMEM;
	for (;;) {
		uint32_t n = BATCH;
		uint32_t i;
		int more = bpf_map_lookup_batch(g->maps->lives, begun ? &at : NULL, &at,
						key, live, &n, NULL);

		if (more < 0 && errno != ENOENT)
			return -errno;
		for (i = 0; i < n && r == 0; i++)
			r = take(g, key[i], &live[i]);
		if (more < 0 || r < 0)
			return r;
		begun = true;
	}
}

/* Thin what @pid has, if it is more than half of @limit. */
static void thin_one(struct reading *g, uint32_t pid, uint32_t limit)
{
	uint64_t threshold =
		op_thin_threshold(g->found.data, g->found.len, pid,
				  limit / OP_LIVE_ROOM_PARTS * OP_LIVE_ROOM_KEPT);

	if (threshold)
		op_thin(g->maps->lives, g->found.data, g->found.len, pid, threshold,
			&g->live->random);
}

/* Free entries of the kernel's map, and count again. */
static void thin(struct reading *g)
{
	const struct op_thin_entry *e;
	size_t i;

	for (i = 0; i < g->found.len; i++) {
		uint32_t pid = g->found.data[i].live.pid;
		uint64_t count = 0;

		(void)op_map64_get(&g->pids, pid, &count);
		if (pid != OP_HEAP_ALL && count > OP_HEAP_LIVE_A_PROCESS / 2) {
			thin_one(g, pid, OP_HEAP_LIVE_A_PROCESS);
			(void)op_map64_put(&g->pids, pid, 0); /* thinned */
		}
	}
	if (g->found.len > OP_HEAP_LIVE_MAX / 2)
		thin_one(g, OP_HEAP_ALL, OP_HEAP_LIVE_MAX);
	op_map64_clear(&g->pids);
	g->in_use = 0;
	for (e = g->found.data; e && e < g->found.data + g->found.len; e++) {
		uint64_t count = 0;

		if (e->live.pid == OP_HEAP_ALL)
			continue;
		(void)op_map64_get(&g->pids, e->live.pid, &count);
		(void)op_map64_put(&g->pids, e->live.pid, count + 1);
		g->in_use++;
	}
}

/* Correct the kernel's count of all processes. */
static void mend_count(const struct reading *g)
{
	uint32_t zero = 0;
	struct op_heap_use use;

	if (bpf_map_lookup_elem(g->maps->of_all, &zero, &use) < 0 ||
	    use.held == g->in_use)
		return;
	use.held = (uint32_t)g->in_use;
	(void)bpf_map_update_elem(g->maps->of_all, &zero, &use, BPF_ANY);
}

/* Correct the kernel's counts. They can be wrong after a missed free, or when a map was
 * full. */
static void mend_counts(struct reading *g)
{
	_cleanup_free_ struct op_heap_use *use =
		calloc(OP_HEAP_PROCESSES_MAX, sizeof(*use));
	_cleanup_free_ uint32_t *pid = calloc(OP_HEAP_PROCESSES_MAX, sizeof(*pid));
	uint32_t n = OP_HEAP_PROCESSES_MAX;
	uint32_t at;
	uint32_t i;

	mend_count(g);
	if (!pid || !use)
		return;
	if (bpf_map_lookup_batch(g->maps->of_pid, NULL, &at, pid, use, &n, NULL) < 0 &&
	    errno != ENOENT)
		return;
	for (i = 0; i < n; i++) {
		uint64_t in_use = 0;

		(void)op_map64_get(&g->pids, pid[i], &in_use);
		if (!in_use) {
			(void)bpf_map_delete_elem(g->maps->of_pid, &pid[i]);
		} else if (in_use != use[i].held) {
			use[i].held = (uint32_t)in_use;
			(void)bpf_map_update_elem(g->maps->of_pid, &pid[i], &use[i],
						  BPF_EXIST);
		}
	}
}

static void read_done(struct reading *g)
{
	g->live->count = g->in_use;
	g->live->unknown = g->unknown;
	thin(g);
	mend_counts(g);
	sweep(g->live);
}

/* Read the kernel's map, and forget entries that are not in it. */
static int read_all(struct reading *g)
{
	int r = read_lives(g);

	if (r < 0)
		return r;
	read_done(g);
	return 0;
}

static void reading_deinit(struct reading *g)
{
	op_vec_clear(&g->sums);
	op_map64_clear(&g->by_stack);
	op_map64_clear(&g->pids);
	op_vec_clear(&g->found);
}

void op_live_keep(struct op_live *l, const struct op_capture_heap *maps,
		  const struct op_record *record, const struct op_window *window,
		  const struct op_window_sample *sample)
{
	struct op_live_entry entry = { .time_ns = record->time_ns, .tid = record->tid };
	struct op_live_entry *e;

	if (l->entries.len >= OP_LIVE_KEPT_MAX) {
		struct reading g = { .live = l, .maps = maps };

		(void)read_all(&g);
		reading_deinit(&g);
	}
	if (l->entries.len >= OP_LIVE_KEPT_MAX ||
	    store_stack(l, window, sample->stack, &entry.stack) < 0 ||
	    op_window_import_resource(l->store, window, sample->resource,
				      &entry.resource) < 0)
		return; /* a snapshot will count it as unknown */
	e = op_vec_push(&l->entries);
	if (!e)
		return;
	*e = entry;
	if (op_map64_put(&l->by_sample, key_of(entry.time_ns, entry.tid),
			 l->entries.len - 1) < 0)
		l->entries.len--;
}

static int emit(struct op_live *l, const struct sum *sum, uint64_t time_ns,
		struct op_window *window)
{
	struct op_window_sample sample = { .event = OP_EVENT_HEAP_LIVE,
					   .cpu = (uint32_t)OP_WINDOW_NO_THREAD,
					   .time_ns = time_ns,
					   .value = (int64_t)sum->bytes,
					   .count = sum->count };
	int r = op_window_import_stack(window, l->store, sum->stack, &sample.stack);

	if (r == 0)
		r = op_window_import_resource(window, l->store, sum->resource,
					      &sample.resource);
	return r < 0 ? r : op_window_add(window, &sample);
}

static void emit_all(struct reading *g, struct op_window *window,
		     struct op_part_taken *ret)
{
	uint64_t now =
		op_processes_realtime_ns(g->live->processes, op_clock_monotonic_ns());
	size_t i;

	for (i = 0; i < g->sums.len; i++)
		op_part_count(ret, OP_EVENT_HEAP_LIVE,
			      emit(g->live, &g->sums.data[i], now, window));
}

int op_live_snapshot(struct op_live *l, const struct op_capture_heap *maps,
		     struct op_window *window, struct op_part_taken *ret)
{
	struct reading g = { .live = l, .maps = maps };
	int r = read_lives(&g);

	if (r == 0) {
		/* Before sweep(), which changes the numbers of the store. */
		emit_all(&g, window, ret);
		ret->lost[OP_EVENT_HEAP_LIVE] += g.unknown;
		read_done(&g);
	}
	reading_deinit(&g);
	return r;
}
