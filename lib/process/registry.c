/* SPDX-License-Identifier: Apache-2.0 */
#include "process/registry.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "process/generation.h"
#include "process/program.h"
#include "process/publish.h"
#include "process/state.h"
#include "process/target/scan.h"

struct op_proc *op_registry_find(const struct op_processes *p, uint32_t pid)
{
	uint64_t value;

	if (!op_map64_get(&p->by_pid, pid, &value))
		return NULL;
	return (struct op_proc *)(uintptr_t)value;
}

struct op_proc *op_registry_find_alive(const struct op_processes *p, uint32_t pid)
{
	struct op_proc *proc = op_registry_find(p, pid);

	return proc && !proc->ended_ns ? proc : NULL;
}

static void proc_free(struct op_processes *p, struct op_proc *proc)
{
	if (!proc)
		return;
	op_registry_stop_reading(p, proc);
	if (proc->dirty)
		TAILQ_REMOVE(&p->dirty, proc, dirty_link);
	if (proc->waiting)
		TAILQ_REMOVE(&p->waiting, proc, waiting_link);
	op_generation_drop(p, proc);
	op_mappings_put(proc->mappings, &p->executables, p->now_ns);
	op_changes_clear(&proc->changes);
	op_program_put(p, proc->program);
	free(proc);
}

/* Remove an ended process from its chain and free it. */
static void expire(struct op_processes *p, struct op_proc *proc)
{
	struct op_proc *head = op_registry_find(p, proc->pid);

	if (head == proc && !proc->same_pid) {
		(void)op_map64_remove(&p->by_pid, proc->pid);
	} else if (head == proc) {
		/* The key exists, so this allocates no memory. */
		(void)op_map64_put(&p->by_pid, proc->pid, (uintptr_t)proc->same_pid);
	} else {
		while (head->same_pid != proc)
			head = head->same_pid;
		head->same_pid = proc->same_pid;
	}
	TAILQ_REMOVE(&p->ended, proc, ended_link);
	p->kept--;
	proc_free(p, proc);
}

/* The process is no longer tracked, but it is kept for late records. */
static void retire(struct op_processes *p, struct op_proc *proc)
{
	op_registry_stop_reading(p, proc);
	op_program_went(p, proc->program);
	op_proc_lists_remove(p, proc);
	op_unpublish(p, proc);
	op_program_context_publish(p, proc->program, (struct op_context_place){ 0 });
	proc->ended_ns = OP_MAX(p->now_ns, UINT64_C(1));
	TAILQ_INSERT_TAIL(&p->ended, proc, ended_link);
	p->alive--;
	p->kept++;
	/* a storm of short-lived processes: drop the oldest, whose late records are not
	 * resolved */
	while (p->kept > p->config.max_processes)
		expire(p, TAILQ_FIRST(&p->ended));
}

void op_registry_end(struct op_processes *p, struct op_proc *proc, uint64_t time_ns)
{
	if (proc->ended_ns)
		return;
	op_program_end(proc->program, time_ns ? time_ns : p->now_ns);
	p->now_ns = OP_MAX(p->now_ns, time_ns);
	retire(p, proc);
}

void op_registry_forget(struct op_processes *p, struct op_proc *proc)
{
	const struct op_change all = { .end = UINT64_MAX,
				       .since_ns = proc->used_ns + 1,
				       .until_ns = UINT64_MAX };

	/* its exit will not be noticed, so its pid may belong to another process: do not
	 * read its memory */
	proc->program->memory.gone = true;
	/* nor are its events of since its last use noted */
	proc->changes.number++;
	op_generation_note(p, proc, &all);
	retire(p, proc);
}

/* At max_processes: forget the least recently used process. */
static bool make_room(struct op_processes *p)
{
	struct op_proc *oldest = op_proc_lists_least_used(p);

	if (oldest) {
		op_registry_forget(p, oldest);
		p->processes_evicted++;
	}
	return oldest != NULL;
}

int op_registry_add(struct op_processes *p, uint32_t pid, uint64_t born_ns,
		    struct op_proc **ret)
{
	struct op_proc *proc = op_registry_find_alive(p, pid);

	if (proc)
		op_registry_end(p, proc, born_ns);
	if (p->alive >= p->config.max_processes && !make_room(p)) {
		p->unseen++;
		return -ENOSPC;
	}
	proc = calloc(1, sizeof(*proc));
	if (!proc)
		return -ENOMEM;
	proc->pid = pid;
	proc->born_ns = born_ns;
	/* after make_room(), which may free it */
	proc->same_pid = op_registry_find(p, pid);
	if (op_mappings_new(&proc->mappings) < 0 ||
	    op_program_new(p, pid, born_ns, &proc->program) < 0 ||
	    op_map64_put(&p->by_pid, pid, (uintptr_t)proc) < 0) {
		proc_free(p, proc);
		return -ENOMEM;
	}
	p->alive++;
	op_proc_lists_add(p, proc);
	op_proc_lists_touch(p, proc);
	*ret = proc;
	return 0;
}

void op_registry_use(struct op_processes *p, struct op_proc *proc)
{
	op_proc_lists_use(p, proc);
}

void op_registry_expire(struct op_processes *p)
{
	struct op_proc *proc;

	while ((proc = TAILQ_FIRST(&p->ended)) && op_process_is_over(p, proc->ended_ns))
		expire(p, proc);
}

void op_registry_clear(struct op_processes *p)
{
	uint64_t value;
	size_t at = 0;

	while (op_map64_next(&p->by_pid, &at, &value)) {
		struct op_proc *proc = (struct op_proc *)(uintptr_t)value;

		while (proc) {
			struct op_proc *next = proc->same_pid;

			proc_free(p, proc);
			proc = next;
		}
	}
	op_map64_clear(&p->by_pid);
	op_proc_lists_clear(p);
	TAILQ_INIT(&p->ended);
	p->alive = 0;
	p->kept = 0;
}

void op_registry_each(struct op_processes *p,
		      void (*fn)(struct op_processes *p, struct op_proc *proc))
{
	uint64_t value;
	size_t at = 0;

	while (op_map64_next(&p->by_pid, &at, &value)) {
		struct op_proc *proc = (struct op_proc *)(uintptr_t)value;

		if (!proc->ended_ns)
			fn(p, proc);
	}
}

struct op_proc *op_registry_learn(struct op_processes *p, uint32_t pid)
{
	struct op_proc *proc;

	if (!op_scan_exists(p->procfs_root, pid) || op_registry_add(p, pid, 0, &proc) < 0)
		return NULL;
	if (op_registry_rescan(p, proc) < 0)
		proc->rescan = true;
	return proc;
}

struct op_proc *op_registry_of_record(struct op_processes *p,
				      const struct op_record *record)
{
	/* a task may run for a moment after its exit event */
	static const uint64_t exit_ns = UINT64_C(20000000);
	struct op_proc *proc = op_registry_find(p, record->pid);
	struct op_proc *new;

	if (proc &&
	    (!proc->ended_ns || record->time_ns <= proc->program->until_ns + exit_ns)) {
		op_proc_lists_use(p, proc);
		return proc;
	}
	/* freeing much memory takes longer, and since Linux 6.16 comes after the event */
	if (proc && op_scan_is_ending(p->procfs_root, record->pid))
		return proc;
	new = op_registry_learn(p, record->pid);
	/* making room may have freed the process that ended */
	return new ? new : op_registry_find(p, record->pid);
}
