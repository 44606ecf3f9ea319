/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel's fork, exec, mmap and exit events. An event only changes a process and
 * marks it. op_processes_settle() publishes the marked ones.
 */
#include <errno.h>
#include <string.h>

#include "process/generation.h"
#include "process/mappings/mappings.h"
#include "process/processes.h"
#include "process/registry.h"
#include "process/resource/attributes.h"
#include "process/state.h"

static struct op_proc *get_or_add(struct op_processes *p, uint32_t pid, bool rescan)
{
	struct op_proc *proc = op_registry_find_alive(p, pid);

	if (proc) {
		op_proc_lists_use(p, proc);
		return proc;
	}
	if (op_registry_add(p, pid, 0, &proc) < 0)
		return NULL;
	proc->rescan = rescan;
	return proc;
}

void op_processes_on_mmap(struct op_processes *p, const struct op_mmap_event *e)
{
	/* at the first event of a process its other mappings are not known */
	struct op_proc *proc = get_or_add(p, e->pid, true);

	if (!proc)
		return;
	proc->kernel = false;
	if (op_registry_map(p, proc, e) == -ENOMEM) {
		proc->rescan = true;
		op_proc_lists_touch(p, proc);
	}
}

/* Did @proc execute a program after the fork at @fork_ns that made it? */
static bool has_executed(const struct op_proc *proc, uint64_t fork_ns)
{
	return proc && !proc->born_ns && proc->program->since_ns > fork_ns;
}

/* The fork at @time_ns made @proc. */
static void note_birth(const struct op_processes *p, struct op_proc *proc,
		       uint32_t parent, uint64_t time_ns)
{
	struct op_program *program = proc->program;

	proc->born_ns = time_ns;
	program->born_ns = time_ns;
	program->memory.born_ns = time_ns;
	program->parent = parent;
	program->start_time_ns = time_ns + (uint64_t)p->config.realtime_offset_ns;
}

void op_processes_on_fork(struct op_processes *p, uint32_t pid, uint32_t parent,
			  uint64_t time_ns)
{
	struct op_proc *proc = op_registry_find_alive(p, pid);
	struct op_proc *from;
	bool early;
	bool later;

	if (pid == parent)
		return; /* a thread */
	if (p->watch.on_fork)
		p->watch.on_fork(p->watch.ctx, pid, parent);
	if (has_executed(proc, time_ns)) {
		/* after exec nothing comes from its parent */
		note_birth(p, proc, parent, time_ns);
		return;
	}
	/* a mmap event that came before the fork event may be the child's own */
	early = proc && !proc->born_ns;
	from = op_registry_find_alive(p, parent);
	if (from)
		op_proc_lists_use(p, from);
	if (op_registry_add(p, pid, time_ns, &proc) < 0) {
		(void)p->config.unpublish(p->config.ctx, pid);
		return;
	}
	proc->forked = true;
	/* adding the child may have freed the parent */
	from = op_registry_find_alive(p, parent);
	note_birth(p, proc, parent, time_ns);
	if (!from) {
		proc->rescan = true;
		return;
	}
	/* a reading of the parent shows what replaced other code, perhaps after the fork */
	later = op_changes_any_after(&from->changes, time_ns);
	if (!later) {
		op_mappings_put(proc->mappings, &p->executables, p->now_ns);
		proc->mappings = op_mappings_ref(from->mappings);
	}
	op_changes_inherit(&proc->changes, &from->changes);
	proc->program->code.replaces = from->program->code.replaces;
	proc->rescan = from->rescan || early || later;
	proc->kernel = from->kernel;
	if (from->program->exe_path)
		proc->program->first_file = strdup(from->program->exe_path);
	else if (from->program->first_file)
		proc->program->first_file = strdup(from->program->first_file);
	op_program_inherit(proc->program, from->program);
	if (from->program->attributes)
		proc->program->attributes =
			op_resource_attributes_ref(from->program->attributes);
}

void op_processes_on_exec(struct op_processes *p, uint32_t pid, const char *comm,
			  uint64_t time_ns)
{
	struct op_proc *proc = get_or_add(p, pid, false);
	struct op_program *program;
	struct op_mappings *mappings;

	(void)comm; /* every sample has it */
	op_target_on_exec(p->target, pid);
	op_processes_on_executed(p, pid);
	if (!proc)
		return;
	proc->rescan = false;
	proc->kernel = false;
	if (op_mappings_new(&mappings) < 0)
		return;
	if (op_program_new(p, pid, time_ns, &program) < 0) {
		op_mappings_put(mappings, &p->executables, p->now_ns);
		return;
	}
	program->born_ns = proc->program->born_ns;
	program->memory.born_ns = program->born_ns;
	program->parent = proc->program->parent;
	program->start_time_ns = proc->program->start_time_ns;
	op_program_inherit(program, proc->program);
	program->reported = proc->program->reported;
	op_registry_stop_reading(p, proc);
	op_generation_keep(p, proc);
	op_program_end(proc->program, time_ns);
	op_mappings_put(proc->mappings, &p->executables, p->now_ns);
	op_program_put(p, proc->program);
	proc->mappings = mappings;
	proc->program = program;
	proc->publish_after_ns = 0;
	proc->listed_ns = time_ns;
	proc->sure_ns = time_ns;
	op_changes_forget_gone(&proc->changes);
	/* what samples of the old program asked for */
	proc->looks.wait_ns = 0;
	proc->looks.after_ns = 0;
	proc->vain_looks = 0;
	op_proc_lists_touch(p, proc);
}

void op_processes_on_exit(struct op_processes *p, uint32_t pid, uint64_t time_ns)
{
	struct op_proc *proc = op_registry_find_alive(p, pid);

	if (p->watch.on_exit)
		p->watch.on_exit(p->watch.ctx, pid);
	if (proc)
		op_registry_end(p, proc, time_ns);
}

void op_processes_on_executed(struct op_processes *p, uint32_t pid)
{
	if (p->watch.on_exec)
		p->watch.on_exec(p->watch.ctx, pid);
}

void op_processes_set_watch(struct op_processes *p, const struct op_process_watch *watch)
{
	p->watch = *watch;
}

void op_processes_on_lost(struct op_processes *p)
{
	/* Each CPU reports its own losses: one sweep covers them all. */
	p->sweep.lost = true;
	if (p->watch.on_lost)
		p->watch.on_lost(p->watch.ctx);
}
