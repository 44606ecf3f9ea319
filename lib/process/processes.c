/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The public calls of this folder. Events change a process and mark it.
 * op_processes_settle() publishes the marked ones, so a burst of events costs one
 * publication.
 */
#include "process/processes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/io.h"
#include "process/evict.h"
#include "process/generation.h"
#include "process/image/file.h"
#include "process/image/memory_use.h"
#include "process/mappings/mappings.h"
#include "process/mappings/runtimes.h"
#include "process/publish.h"
#include "process/registry.h"
#include "process/state.h"
#include "process/target/scan.h"

enum {
	MAX_PROCESSES_DEFAULT = 8192,
	SYMBOL_BUDGET_DEFAULT = 64 << 20,
	/* a poll's share for publishing processes; one of them may take some 10 ms more */
	SETTLE_PARTS = 4,
};

/* A publication that failed is tried again after this time. */
static const uint64_t PUBLISH_RETRY_NS = UINT64_C(100000000);
/* The interval in which mappings with `fallback` are resolved again. */
static const uint64_t FALLBACK_CHECK_NS = UINT64_C(2000000000);
/* The time for the scan at the start, enough for most hosts. The rest follows in
 * slices. */
static const uint64_t FIRST_SLICE_NS = UINT64_C(20000000);

static int copy_config(struct op_processes *p, const struct op_processes_config *config)
{
	p->config = *config;
	if (!p->config.max_processes)
		p->config.max_processes = MAX_PROCESSES_DEFAULT;
	if (!p->config.symbol_budget_bytes)
		p->config.symbol_budget_bytes = SYMBOL_BUDGET_DEFAULT;
	p->procfs_root = strdup(config->procfs_root ? config->procfs_root : "/proc");
	if (!p->procfs_root)
		return -ENOMEM;
	p->config.procfs_root = p->procfs_root;
	p->sysfs_root = strdup(config->sysfs_root ? config->sysfs_root : "/sys");
	if (!p->sysfs_root)
		return -ENOMEM;
	p->config.sysfs_root = p->sysfs_root;
	if (config->service_name) {
		p->service_name = strdup(config->service_name);
		if (!p->service_name)
			return -ENOMEM;
	}
	p->config.service_name = p->service_name;
	return 0;
}

/* The kernel's events have pids of our PID namespace. /proc has pids of the namespace
 * that it was mounted in. */
static void check_namespaces(const struct op_processes *p)
{
	uint64_t ours = op_namespace_inode(p->procfs_root, "self", "pid");
	uint64_t theirs = op_namespace_inode(p->procfs_root, "1", "pid");

	if (ours && theirs && ours != theirs)
		op_log(p->config.log, OP_LOG_WARNING,
		       "%s belongs to another PID namespace, so its pids do not match: "
		       "run in the host's (hostPID in Kubernetes)",
		       p->procfs_root);
}

static void init_executables(struct op_processes *p)
{
	struct op_executables *x = &p->executables;

	op_executables_init(x);
	x->map_waits = p->config.map_waits;
	x->events_ctx = p->config.ctx;
	x->arena = p->config.arena;
	x->images.arena = p->config.arena;
	x->images.rules = p->config.rules;
	x->images.allowance = p->config.allowance;
	x->images.log = p->config.log;
	x->images.runtimes_off = p->config.runtimes_off;
	x->images.layouts = p->config.layouts;
	x->realtime_offset_ns = p->config.realtime_offset_ns;
	op_made_pages_init(&p->made, p->config.arena, p->config.rules);
	x->images.symbol_budget_bytes = p->config.symbol_budget_bytes;
}

int op_processes_new(const struct op_processes_config *config, struct op_processes **ret)
{
	_cleanup_(op_processes_freep) struct op_processes *p = NULL;
	int r;

	p = calloc(1, sizeof(*p));
	if (!p)
		return -ENOMEM;
	TAILQ_INIT(&p->dirty);
	TAILQ_INIT(&p->ended);
	TAILQ_INIT(&p->retired);
	TAILQ_INIT(&p->waiting);
	op_sweep_init(&p->sweep);
	r = copy_config(p, config);
	init_executables(p);
	if (r < 0)
		return r;
	r = op_target_new(p->procfs_root, &p->target);
	if (r < 0)
		return r;
	p->executables.target = p->target;
	p->open_file = op_publish_open_file;
	op_memberships_init(&p->memberships, p->procfs_root, p->sysfs_root);
	check_namespaces(p);
	p->now_ns = op_clock_monotonic_ns();
	*ret = OP_TAKE_PTR(p);
	return 0;
}

struct op_processes *op_processes_free(struct op_processes *p)
{
	if (!p)
		return NULL;
	op_registry_clear(p);
	op_sweep_deinit(&p->sweep);
	op_executables_deinit(&p->executables);
	op_memberships_deinit(&p->memberships);
	op_map64_clear(&p->contexts.numbers);
	(void)op_target_free(p->target);
	free(p->procfs_root);
	free(p->sysfs_root);
	free(p->service_name);
	free(p);
	return NULL;
}

int op_processes_scan_begin(struct op_processes *p)
{
	int r = op_sweep_scan(p);

	if (r == 0)
		(void)op_sweep_run(p, FIRST_SLICE_NS);
	return r;
}

void op_processes_load_runtimes(struct op_processes *p)
{
	size_t len;
	const struct op_runtime_ops *const *ops = op_runtime_all(&len);
	uint32_t runtimes = 0;
	size_t i;

	for (i = 0; i < len; i++)
		if (!(p->config.runtimes_off & UINT64_C(1) << ops[i]->id))
			runtimes |= UINT32_C(1) << ops[i]->id;
	op_publish_load_runtimes(p, runtimes);
}

int op_processes_warm(struct op_processes *p, uint32_t pid)
{
	struct op_proc *proc = op_registry_find_alive(p, pid);
	size_t i;

	if (!proc)
		proc = op_registry_learn(p, pid); /* the scan may not have reached it */
	while (proc && proc->reading && !op_allowance_is_over(p->config.allowance))
		(void)op_registry_rescan(p, proc);
	if (!proc || !proc->mappings || !proc->program)
		return -ESRCH;
	/* this finds out which mappings are lazy */
	(void)op_publish(p, proc, false);
	for (i = 0; i < proc->mappings->len; i++) {
		const struct op_mapping *v = &proc->mappings->vma[i];

		/* a mapping whose table fails is walked by frame pointers, as at a first
		 * sample */
		if (v->exe && (v->flags & OP_MAPPING_LAZY))
			(void)op_evict_make_table(p, proc->program, v);
	}
	return op_publish(p, proc, true);
}

/* Publish one marked process. */
static void settle_one(struct op_processes *p, struct op_proc *proc)
{
	int r;

	if (proc->rescan && !proc->reading) {
		r = op_registry_rescan(p, proc);
		if (r == -EINPROGRESS)
			r = 0;
		else if (r == -ENOMEM)
			proc->publish_after_ns = p->now_ns + PUBLISH_RETRY_NS;
		else if (r < 0)
			/* the process is gone, and its exit event has not arrived */
			proc->rescan = false;
	}
	if (p->now_ns < proc->publish_after_ns)
		return;
	TAILQ_REMOVE(&p->dirty, proc, dirty_link);
	proc->dirty = false;
	if (proc->kernel)
		return;
	r = op_publish(p, proc, true);
	if (r == -ENOSPC)
		op_evict_table(p, NULL);
	if (r < 0) {
		proc->publish_after_ns = p->now_ns + PUBLISH_RETRY_NS;
		op_proc_lists_touch(p, proc);
	}
}

static void touch_fallback(struct op_processes *p, struct op_proc *proc)
{
	if (proc->mappings->fallback)
		op_proc_lists_touch(p, proc);
}

static void touch_waiting(struct op_processes *p)
{
	if (p->runtimes.attach_after_ns && p->now_ns >= p->runtimes.attach_after_ns) {
		/* processes that still wait set it again */
		p->runtimes.attach_after_ns = 0;
		op_proc_lists_touch_waiting(p);
	}
	if (p->now_ns >= p->runtimes.fallback_after_ns) {
		p->runtimes.fallback_after_ns = p->now_ns + FALLBACK_CHECK_NS;
		op_registry_each(p, touch_fallback);
	}
}

void op_processes_settle(struct op_processes *p, uint64_t now_ns)
{
	uint64_t end_ns = op_allowance_part(
		p->config.allowance, op_allowance_now(p->config.allowance), SETTLE_PARTS);
	struct op_proc *proc;
	struct op_proc *last;
	struct op_proc *next;

	if (p->forked)
		return;
	p->settle_on = false;
	p->now_ns = OP_MAX(p->now_ns, now_ns);
	p->executables.now_ns = p->now_ns;
	/* First what releases memory, then what allocates. */
	op_generation_expire(p);
	op_registry_expire(p);
	op_arena_reclaim(p->config.arena, p->now_ns);
	op_images_check_files(&p->executables.images, p->now_ns);
	op_images_check_jobs(&p->executables.images, p->now_ns);
	op_target_rest(p->target, p->now_ns);
	op_sweep_settle(p);
	touch_waiting(p);
	last = TAILQ_LAST(&p->dirty, op_proc_list);
	for (proc = TAILQ_FIRST(&p->dirty); proc; proc = next) {
		/* A process that fails goes to the end of the list, for the next call. So
		 * do those for which no time is left. */
		next = proc == last ? NULL : TAILQ_NEXT(proc, dirty_link);
		settle_one(p, proc);
		if (next && op_allowance_now(p->config.allowance) >= end_ns) {
			p->settle_on = true;
			break;
		}
	}
}

/* Open the files of a busy process before the first sample. A large file takes
 * milliseconds, in which other samples fill the ring. */
static void warm_busy(struct op_processes *p, struct op_proc *proc)
{
	if (!proc->ended_ns && !proc->kernel && proc->mappings &&
	    !op_allowance_is_over(p->config.allowance) &&
	    op_scan_is_busy(p->procfs_root, proc->pid))
		(void)op_processes_warm(p, proc->pid);
}

void op_processes_settle_first(struct op_processes *p, uint64_t limit_ns)
{
	uint64_t end_ns = op_allowance_now(p->config.allowance) + limit_ns;

	op_allowance_until(p->config.allowance, end_ns);
	do
		op_processes_settle(p, op_clock_monotonic_ns());
	while (p->settle_on && op_allowance_now(p->config.allowance) < end_ns);
	op_registry_each(p, warm_busy);
	op_allowance_until(p->config.allowance, 0);
}

/*
 * A child begins with its parent's table, or with the table before if the parent was
 * published a moment ago. So do the child's own children. Released memory has no reader
 * after two publications: one of all known processes, and then one of all processes that
 * were forked before the first ended.
 */
static void move_fence(struct op_processes *p)
{
	uint64_t drained_ns =
		p->config.drained_ns ? p->config.drained_ns(p->config.ctx) : 0;
	const struct op_proc *proc;

	if (!drained_ns || p->settle_on || drained_ns < p->fence.end_ns)
		return;
	TAILQ_FOREACH(proc, &p->dirty, dirty_link)
		if (!proc->current)
			return;
	op_arena_set_fence(p->config.arena, p->fence.drained_ns);
	p->fence.drained_ns = drained_ns;
	p->fence.end_ns = op_clock_monotonic_ns();
}

void op_processes_go_on(struct op_processes *p, uint32_t parts)
{
	if (p->forked)
		return;
	move_fence(p);
	op_evict_go_on(p, parts);
}

bool op_processes_waiting(const struct op_processes *p)
{
	return p->runtimes.attach_after_ns || !TAILQ_EMPTY(&p->dirty);
}

/* The earlier of two times; 0: no such time. */
static uint64_t earlier(uint64_t a, uint64_t b)
{
	return a && b ? OP_MIN(a, b) : a | b;
}

uint64_t op_processes_next_ns(const struct op_processes *p)
{
	uint64_t next_ns =
		earlier(p->runtimes.attach_after_ns, op_made_pages_next_ns(&p->made));

	if (p->settle_on)
		return p->now_ns;
	return op_sweep_busy(p) ? earlier(next_ns, p->sweep.slice_after_ns) : next_ns;
}

bool op_processes_busy(const struct op_processes *p)
{
	return op_sweep_busy(p);
}

static void end_window_of(struct op_processes *p, struct op_proc *proc)
{
	op_program_runtimes_window_end(&proc->program->runtimes);
	proc->program->code.nameless = 0;
}

void op_processes_window_end(struct op_processes *p, bool early)
{
	p->executables.images.window += !early;
	op_images_rest_symbols(&p->executables.images, op_clock_monotonic_ns());
	op_registry_each(p, end_window_of);
}

void op_processes_set_clock(struct op_processes *p, int64_t realtime_offset_ns)
{
	p->config.realtime_offset_ns = realtime_offset_ns;
	p->executables.realtime_offset_ns = realtime_offset_ns;
}

uint64_t op_processes_realtime_ns(const struct op_processes *p, uint64_t time_ns)
{
	return time_ns + (uint64_t)p->config.realtime_offset_ns;
}

void op_processes_forked(struct op_processes *p)
{
	p->forked = true;
}

void op_processes_records_read(struct op_processes *p, uint64_t time_ns)
{
	p->read_ns = time_ns;
}

bool op_processes_knows(const struct op_processes *p, uint32_t pid, uint32_t generation)
{
	const struct op_proc *proc = op_registry_find(p, pid);

	return proc && (!generation || op_generation_find(proc, generation));
}

uint64_t op_processes_born_ns(const struct op_processes *p, uint32_t pid)
{
	const struct op_proc *proc = op_registry_find_alive(p, pid);

	return proc ? proc->born_ns : 0;
}

void op_processes_get_stats(const struct op_processes *p, struct op_processes_stats *ret)
{
	const struct op_images *images = &p->executables.images;

	*ret = (struct op_processes_stats){ .processes = p->alive,
					    .executables = p->executables.len,
					    .unseen = p->unseen,
					    .symbol_bytes = op_images_name_bytes(images),
					    .tables_failed = images->tables_failed,
					    .executables_unseen = p->executables.refused,
					    .mappings_unseen =
						    p->executables.mappings_refused,
					    .reads_by_child = p->target->stats.asked,
					    .reads_stalled = p->target->stats.stalled,
					    .reads_refused = p->target->stats.refused,
					    .contexts_refused = p->contexts.refused,
					    .own_bytes = op_evict_bytes(p),
					    .names_postponed = images->names_postponed,
					    .tables_postponed = images->tables_postponed,
					    .names_evicted = images->names_evicted,
					    .tables_evicted = p->tables_evicted,
					    .processes_evicted = p->processes_evicted };
}

void op_processes_set_events(struct op_processes *p, struct op_event_handlers events)
{
	p->executables.events = events;
}

const struct op_processes_config *op_processes_config(const struct op_processes *p)
{
	return &p->config;
}

struct op_target *op_processes_target(const struct op_processes *p)
{
	return p->target;
}

struct op_images *op_processes_images(struct op_processes *p)
{
	return &p->executables.images;
}

struct op_executables *op_processes_executables(struct op_processes *p)
{
	return &p->executables;
}

bool op_processes_is_forked(const struct op_processes *p)
{
	return p->forked;
}

void op_processes_advance(struct op_processes *p, uint64_t time_ns)
{
	p->now_ns = OP_MAX(p->now_ns, time_ns);
}
