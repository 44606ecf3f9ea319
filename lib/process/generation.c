/* SPDX-License-Identifier: Apache-2.0 */
#include "process/generation.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "process/state.h"

enum {
	/* looks in a row that found no change of files */
	VAIN_LOOKS_MAX = 8,
};

/* Least time between two generations of a process, for each of its mappings: 1 ms for
 * 50. */
static const uint64_t GAP_NS_PER_MAPPING = 20000;

/* The count of code pages that the BPF programs compare with the kernel's. 0: they do not
 * compare, because the maps are about to be read, or because earlier looks found no new
 * file. Code made writable for a moment changes the count too. */
static uint64_t code_pages(const struct op_proc *proc)
{
	if (proc->rescan || proc->mappings->refused ||
	    proc->mappings->written < proc->mappings->len ||
	    proc->vain_looks >= VAIN_LOOKS_MAX)
		return 0;
	return op_mappings_code_pages(proc->mappings, UINT64_MAX);
}

/* Would a new generation be equal to the current one? */
bool op_generation_is_current(const struct op_processes *p, const struct op_proc *proc)
{
	const struct op_generation *g = proc->current;
	const struct op_process *there;
	struct op_instance now[OP_INSTANCES_MAX];

	if (!g || g->mappings != proc->mappings || g->program != proc->program)
		return false;
	there = op_arena_at(p->config.arena, g->process);
	op_program_runtimes_fill(&proc->program->runtimes, now);
	return there && memcmp(there->instance, now, sizeof(now)) == 0 &&
	       there->code_pages == code_pages(proc);
}

void op_generation_free(struct op_processes *p, struct op_generation *g)
{
	if (!g)
		return;
	op_arena_release(p->config.arena, g->process, sizeof(struct op_process),
			 g->committed ? p->now_ns : 0);
	op_mappings_put(g->mappings, &p->executables, p->now_ns);
	op_program_put(p, g->program);
	free(g);
}

int op_generation_new(struct op_processes *p, struct op_proc *proc,
		      struct op_generation **ret)
{
	struct op_generation *g = calloc(1, sizeof(*g));
	struct op_process *there;
	size_t starts_bytes = proc->mappings->written * sizeof(uint64_t);
	void *memory;
	int r;

	if (!g)
		return -ENOMEM;
	r = op_arena_alloc(p->config.arena, sizeof(*there), &g->process, &memory);
	if (r < 0) {
		free(g);
		return r;
	}
	if (!++p->next_generation)
		p->next_generation = 1;
	g->number = p->next_generation;
	g->change_number = proc->changes.number;
	g->proc = proc;
	g->mappings = op_mappings_ref(proc->mappings);
	g->program = op_program_ref(proc->program);
	there = memory;
	*there = (struct op_process){ .generation = g->number };
	if (proc->mappings->block) {
		there->mapping_count = proc->mappings->written;
		there->starts = proc->mappings->block;
		there->mappings =
			proc->mappings->block + (op_ref)(starts_bytes >> OP_REF_SHIFT);
		there->marks = proc->mappings->marks;
		there->mark_count = proc->mappings->mark_count;
		there->code_pages = code_pages(proc);
	}
	op_program_runtimes_fill(&proc->program->runtimes, there->instance);
	*ret = g;
	return 0;
}

static void keep(struct op_processes *p, struct op_proc *proc, struct op_generation *g)
{
	g->replaced_ns = p->now_ns;
	g->older = proc->older;
	proc->older = g;
	TAILQ_INSERT_TAIL(&p->retired, g, link);
}

void op_generation_retire(struct op_processes *p, struct op_proc *proc)
{
	struct op_generation *g = proc->current;

	proc->current = NULL;
	if (!g)
		return;
	/* no record names a generation that was never committed */
	if (g->committed)
		keep(p, proc, g);
	else
		op_generation_free(p, g);
}

static int give(struct op_processes *p, const struct op_proc *proc,
		const struct op_generation *g)
{
	struct op_process_key key = { .process = g->process, .generation = g->number };

	return p->config.publish(p->config.ctx, proc->pid, key);
}

int op_generation_commit(struct op_processes *p, struct op_proc *proc,
			 struct op_generation *g)
{
	int r;

	if (g->committed)
		return 0;
	r = give(p, proc, g);
	if (r < 0)
		return r;
	g->committed = true;
	proc->publish_after_ns = p->now_ns + proc->mappings->len * GAP_NS_PER_MAPPING;
	return 0;
}

void op_generation_mend(struct op_processes *p, const struct op_proc *proc,
			uint32_t number)
{
	const struct op_generation *g = proc->current;

	if (g && g->committed && g->number == number && !p->forked)
		(void)give(p, proc, g);
}

void op_generation_keep(struct op_processes *p, struct op_proc *proc)
{
	struct op_generation *g;

	op_generation_retire(p, proc);
	g = proc->older;
	if (g && g->program == proc->program && g->mappings == proc->mappings)
		return;
	g = calloc(1, sizeof(*g));
	if (!g)
		return; /* out of memory: its late records are not resolved */
	g->change_number = proc->changes.number;
	g->proc = proc;
	g->mappings = op_mappings_ref(proc->mappings);
	g->program = op_program_ref(proc->program);
	keep(p, proc, g);
}

static void remove_generation(struct op_processes *p, struct op_generation *g)
{
	struct op_generation **at = &g->proc->older;

	while (*at != g)
		at = &(*at)->older;
	*at = g->older;
	TAILQ_REMOVE(&p->retired, g, link);
	op_generation_free(p, g);
}

void op_generation_expire(struct op_processes *p)
{
	struct op_generation *g;

	while ((g = TAILQ_FIRST(&p->retired)) && op_process_is_over(p, g->replaced_ns))
		remove_generation(p, g);
}

void op_generation_drop(struct op_processes *p, struct op_proc *proc)
{
	while (proc->older)
		remove_generation(p, proc->older);
	op_generation_free(p, proc->current);
	proc->current = NULL;
}

struct op_generation *op_generation_find(const struct op_proc *proc, uint32_t number)
{
	for (; proc; proc = proc->same_pid) {
		struct op_generation *g = proc->current;

		if (g && g->number == number)
			return g;
		for (g = proc->older; g; g = g->older)
			if (g->number == number)
				return g;
	}
	return NULL;
}

void op_generation_note(struct op_processes *p, struct op_proc *proc,
			const struct op_change *change)
{
	const struct op_generation *g = proc->current;

	op_changes_add(&proc->changes, change, op_process_over_ns(p),
		       g && g->committed ? g->change_number : 0);
}

void op_generation_changed(struct op_processes *p, struct op_proc *proc, uint64_t start,
			   uint64_t end, uint64_t base, uint64_t since_ns,
			   uint64_t until_ns)
{
	const struct op_change change = { .start = start,
					  .end = end,
					  .since_ns = since_ns,
					  .until_ns = until_ns,
					  .base = base };

	proc->program->code.replaces = true;
	proc->vain_looks = 0;
	op_generation_note(p, proc, &change);
}

struct op_proc_view op_proc_view_now(const struct op_proc *proc)
{
	return (struct op_proc_view){ .program = proc->program,
				      .mappings = proc->mappings,
				      .changes = &proc->changes,
				      .change_number = proc->changes.number,
				      .generation =
					      proc->current ? proc->current->number : 0 };
}

bool op_proc_view_published(const struct op_proc *proc, uint32_t number,
			    struct op_proc_view *ret)
{
	const struct op_generation *g = op_generation_find(proc, number);

	if (!g)
		return false;
	*ret = (struct op_proc_view){ .program = g->program,
				      .mappings = g->mappings,
				      .changes = &g->proc->changes,
				      .change_number = g->change_number,
				      .generation = g->number };
	return true;
}

struct op_proc_view op_proc_view_at(const struct op_proc *proc, uint64_t time_ns,
				    const struct op_mappings **ret_before)
{
	const struct op_generation *g;
	struct op_proc_view view;

	*ret_before = NULL;
	while (proc->same_pid && proc->born_ns > time_ns)
		proc = proc->same_pid;
	view = op_proc_view_now(proc);
	/* from the newest to the oldest */
	for (g = proc->older; g; g = g->older) {
		if (view.program->since_ns > time_ns) {
			view.program = g->program;
			view.mappings = g->mappings;
			view.change_number = g->change_number;
		} else if (g->program != view.program) {
			*ret_before = g->mappings;
			break;
		}
	}
	return view;
}

op_ref op_proc_view_published_now(const struct op_proc *proc)
{
	return proc->current ? proc->current->process : 0;
}
