/* SPDX-License-Identifier: Apache-2.0 */
/* The lists that hold a process while it is alive (process/state.h). */
#include "process/mappings/runtimes.h"
#include "process/state.h"

/* a process moves in the list by use at most once in this time */
static const uint64_t USED_AGAIN_NS = UINT64_C(1000000000);

void op_proc_lists_touch(struct op_processes *p, struct op_proc *proc)
{
	if (proc->dirty || proc->ended_ns || proc->past)
		return;
	proc->dirty = true;
	TAILQ_INSERT_TAIL(&p->dirty, proc, dirty_link);
}

void op_proc_lists_note_waiting(struct op_processes *p, struct op_proc *proc)
{
	struct op_program_runtimes *r = &proc->program->runtimes;

	if (proc->ended_ns || proc->past)
		return;
	if (r->rescan) {
		r->rescan = false;
		proc->rescan = true;
		op_proc_lists_touch(p, proc);
	}
	if (proc->waiting || !op_program_runtimes_waiting(r))
		return;
	proc->waiting = true;
	TAILQ_INSERT_TAIL(&p->waiting, proc, waiting_link);
}

void op_proc_lists_touch_waiting(struct op_processes *p)
{
	struct op_proc *proc;

	while ((proc = TAILQ_FIRST(&p->waiting))) {
		TAILQ_REMOVE(&p->waiting, proc, waiting_link);
		proc->waiting = false;
		op_proc_lists_touch(p, proc);
	}
}

void op_proc_lists_clear(struct op_processes *p)
{
	TAILQ_INIT(&p->sweep.used);
	p->sweep.reread = p->sweep.gone = NULL;
}

void op_proc_lists_add(struct op_processes *p, struct op_proc *proc)
{
	proc->used_ns = p->now_ns;
	proc->reread = p->sweep.number;
	TAILQ_INSERT_TAIL(&p->sweep.used, proc, used_link);
}

static void remove_used(struct op_processes *p, struct op_proc *proc)
{
	struct op_sweep *s = &p->sweep;

	if (s->reread == proc)
		s->reread = TAILQ_PREV(proc, op_proc_list, used_link);
	if (s->gone == proc)
		s->gone = TAILQ_NEXT(proc, used_link);
	TAILQ_REMOVE(&s->used, proc, used_link);
}

void op_proc_lists_use(struct op_processes *p, struct op_proc *proc)
{
	if (proc->ended_ns || p->now_ns < proc->used_ns + USED_AGAIN_NS)
		return;
	/* The sweep reads maps from the most recently used process downwards: it would
	 * miss a process that moves to the top, so mark it. */
	if (p->sweep.reread && proc->reread != p->sweep.number) {
		proc->rescan = true;
		op_proc_lists_touch(p, proc);
	}
	remove_used(p, proc);
	proc->used_ns = p->now_ns;
	TAILQ_INSERT_TAIL(&p->sweep.used, proc, used_link);
}

void op_proc_lists_remove(struct op_processes *p, struct op_proc *proc)
{
	if (proc->dirty)
		TAILQ_REMOVE(&p->dirty, proc, dirty_link);
	if (proc->waiting)
		TAILQ_REMOVE(&p->waiting, proc, waiting_link);
	proc->dirty = proc->waiting = false;
	remove_used(p, proc);
}

struct op_proc *op_proc_lists_least_used(const struct op_processes *p)
{
	struct op_proc *proc = TAILQ_FIRST(&p->sweep.used);

	return proc && p->now_ns >= proc->used_ns + USED_AGAIN_NS ? proc : NULL;
}
