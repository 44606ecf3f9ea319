/* SPDX-License-Identifier: Apache-2.0 */
#include "api/limit.h"

#include "api/handle.h"
#include "base/io.h"
#include "base/macros.h"
#include "process/evict.h"
#include "process/image/memory_use.h"

/* Limits of one check. Deleting a slab waits for the kernel's readers, and an evicted
 * table is removed from each process that maps its file. */
enum {
	PROCESSES_A_LOOK = 256,
	SLAB_BYTES_A_LOOK = 2 << 20,
	TABLE_BYTES_A_LOOK = 4 << 20,
	/* If evicting does not help, the interval doubles up to so many times, to 4 s. */
	STUCK_MAX = 4,
	GIVE_UP_PARTS = 4, /* share of a poll for evicting */
};

/* In sixteenths of the limit: above PARTS_FULL memory is freed, down to PARTS_AIM. */
enum {
	PARTS = 16,
	PARTS_FULL = 15,
	PARTS_AIM = 14,
};

/* Names that were used more recently than this are not evicted for others. */
static const uint64_t RECENT_NS = UINT64_C(1000000000);
static const uint64_t TELL_NS = UINT64_C(10000000000);

uint64_t op_limit_used(struct otelprof *p)
{
	struct op_processes_stats processes;
	struct op_exporters_stats exporters;

	op_processes_get_stats(p->processes, &processes);
	op_exporters_get_stats(p->exporters, &exporters);
	return op_capture_bytes(p->capture, op_clock_monotonic_ns()) +
	       op_session_bytes(p->session) + op_unwind_rules_bytes(p->rules) +
	       op_window_bytes(p->window) + op_sampler_bytes(p->sampler) +
	       op_kernel_symbols_bytes(p->kernel) + processes.symbol_bytes +
	       processes.own_bytes + exporters.bytes;
}

/* Bytes that will be free after a grace period: of tables, and of processes that ended
 * or were evicted. Free bytes may be in slabs that are in use. */
static uint64_t pending(struct otelprof *p)
{
	struct op_arena_stats arena;

	op_arena_get_stats(p->arena, &arena);
	return arena.grace_bytes + op_evict_pending_bytes(p->processes);
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
	       "memory: %.1f MB are used, and the limit is %.1f MB: dropped names of %llu "
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

/* Free at least @need bytes if possible, empty slabs first. Returns how many are free.
 * *@ret_enough: they suffice together with those that will be free soon. */
static uint64_t give_up(struct otelprof *p, uint64_t need, bool *ret_enough)
{
	uint64_t freed = op_arena_give_back(p->arena, OP_MIN(need, SLAB_BYTES_A_LOOK));
	uint64_t soon;

	if (freed < need)
		freed += op_images_give_up_names(op_processes_images(p->processes),
						 need - freed);
	/* Pending bytes may be in slabs that stay in use, so the step for names does not
	 * count them. */
	soon = pending(p);
	if (freed + soon < need)
		soon += op_evict_tables(p->processes,
					OP_MIN(need - freed - soon, TABLE_BYTES_A_LOOK));
	*ret_enough = freed + soon >= need;
	if (!*ret_enough)
		op_evict_processes(p->processes, need - freed - soon, PROCESSES_A_LOOK);
	return freed;
}

/* If something that cannot be evicted uses the memory, do not evict all the rest at
 * each check. Returns the use afterwards. */
static uint64_t keep(struct otelprof *p, uint64_t now, uint64_t used, uint64_t aim)
{
	struct op_limit *m = &p->limit;
	uint64_t freed;
	bool enough;

	if (now < m->next_ns)
		return used;
	/* runtimes make no tables here */
	op_allowance_until(&p->allowance,
			   op_allowance_part(&p->allowance,
					     op_allowance_now(&p->allowance),
					     GIVE_UP_PARTS));
	freed = give_up(p, used - aim, &enough);
	op_allowance_until(&p->allowance, 0);
	m->stuck = enough ? 0 : OP_MIN(m->stuck + 1, STUCK_MAX);
	m->next_ns = now + (OP_LIMIT_CHECK_NS << m->stuck);
	return used - OP_MIN(used, freed);
}

bool op_limit_may_take(void *handle, uint64_t bytes, bool needed)
{
	struct otelprof *p = handle;
	const uint64_t full = p->config.memory_limit_bytes / PARTS * PARTS_FULL;
	struct op_arena_stats arena;
	uint64_t used;

	if (!full)
		return true;
	used = op_limit_used(p) + bytes;
	if (used > full)
		used -= op_images_give_up_indices(op_processes_images(p->processes),
						  used - full,
						  op_clock_monotonic_ns() - RECENT_NS);
	if (used > (needed ? p->config.memory_limit_bytes : full))
		return false;
	/* the arena must not use it meanwhile */
	op_arena_get_stats(p->arena, &arena);
	op_arena_set_limit(p->arena, arena.slab_bytes + (used < full ? full - used : 0));
	return true;
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
	p->limit.over += used > limit;
	if (used > full)
		used = keep(p, now, used, limit / PARTS * PARTS_AIM);
	else
		p->limit.stuck = 0;
	op_arena_get_stats(p->arena, &arena);
	op_arena_set_limit(p->arena, arena.slab_bytes + (used < full ? full - used : 0));
	tell(p, now, used);
}
