/* SPDX-License-Identifier: Apache-2.0 */
#include "api/limit.h"

#include "api/handle.h"
#include "base/io.h"
#include "base/macros.h"
#include "image/room.h"
#include "process/evict.h"

enum {
	PROCESSES_A_LOOK = 256,
};

/* Of the limit, in sixteenths: above the first something is given up, until it is the
 * second. */
enum {
	PARTS = 16,
	PARTS_FULL = 15,
	PARTS_AIM = 14,
};

static const uint64_t TELL_NS = UINT64_C(10000000000);

uint64_t op_limit_used(struct otelprof *p)
{
	struct op_processes_stats processes;
	struct op_exporters_stats exporters;

	op_processes_get_stats(p->processes, &processes);
	op_exporters_get_stats(p->exporters, &exporters);
	return op_capture_bytes(p->capture, op_clock_monotonic_ns()) +
	       op_window_bytes(p->window) + op_sampler_bytes(p->sampler) +
	       op_kernel_symbols_bytes(p->kernel) + processes.symbol_bytes +
	       processes.own_bytes + exporters.bytes;
}

/* Tables become free only after their grace period, so what was given up before counts. */
static void give_up_tables(struct otelprof *p, uint64_t need)
{
	struct op_arena_stats arena;
	uint64_t pending;

	op_arena_get_stats(p->arena, &arena);
	/* What is free already may be in slabs that are in use, too. */
	pending = arena.grace_bytes;
	if (pending < need)
		pending += op_evict_tables(p->processes, need - pending);
	if (pending < need)
		(void)op_evict_processes(p->processes, PROCESSES_A_LOOK);
}

static void tell(struct otelprof *p, uint64_t now, uint64_t used)
{
	const uint64_t limit = p->config.memory_limit_bytes;
	struct op_limit *m = &p->limit;
	struct op_processes_stats s;

	if (m->told_ns && now < m->told_ns + TELL_NS)
		return;
	op_processes_get_stats(p->processes, &s);
	if (s.names_evicted == m->told_names && s.tables_evicted == m->told_tables &&
	    s.processes_evicted == m->told_processes && used <= limit)
		return;
	op_log(&p->log, used > limit ? OP_LOG_WARNING : OP_LOG_INFO,
	       "memory: %.1f MB are used, and the limit is %.1f MB: gave up names of %llu "
	       "files, %llu unwind tables, %llu processes",
	       (double)used / 1e6, (double)limit / 1e6,
	       (unsigned long long)(s.names_evicted - m->told_names),
	       (unsigned long long)(s.tables_evicted - m->told_tables),
	       (unsigned long long)(s.processes_evicted - m->told_processes));
	m->told_ns = now;
	m->told_names = s.names_evicted;
	m->told_tables = s.tables_evicted;
	m->told_processes = s.processes_evicted;
}

/* Give up at least @need bytes, as far as there is something. Returns how many are free
 * now. */
static uint64_t give_up(struct otelprof *p, uint64_t need)
{
	uint64_t freed = op_images_give_up_names(op_processes_images(p->processes), need);

	if (freed < need)
		freed += op_arena_give_back(p->arena, need - freed);
	if (freed < need)
		give_up_tables(p, need - freed);
	return freed;
}

void op_limit_keep(struct otelprof *p)
{
	const uint64_t limit = p->config.memory_limit_bytes;
	uint64_t now = op_clock_monotonic_ns();
	struct op_arena_stats arena;
	uint64_t full;
	uint64_t used;

	if (!limit || now < p->limit.checked_ns + OP_LIMIT_CHECK_NS)
		return;
	p->limit.checked_ns = now;
	full = limit / PARTS * PARTS_FULL;
	used = op_limit_used(p);
	if (used > full)
		used -= OP_MIN(used, give_up(p, used - limit / PARTS * PARTS_AIM));
	op_arena_get_stats(p->arena, &arena);
	op_arena_set_room(p->arena, arena.slab_bytes + (used < full ? full - used : 0));
	p->limit.over += used > limit;
	tell(p, now, used);
}
