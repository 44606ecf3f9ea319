/* SPDX-License-Identifier: Apache-2.0 */
#include "process/publish.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "otelprof/config.h"
#include "process/generation.h"
#include "process/image/new_files.h"
#include "process/mappings/runtimes.h"
#include "process/state.h"
#include "process/target/open.h"

static struct op_executable_place place_of(const struct op_processes *p,
					   const struct op_program *program,
					   const struct op_mapping *v)
{
	return (struct op_executable_place){ .pid = program->proc_pid,
					     .start = v->start,
					     .end = v->end,
					     .gone = program->until_ns != 0,
					     .claim = &v->claim };
}

int op_publish_open(struct op_processes *p, const struct op_program *program,
		    const struct op_mapping *v, bool need_file)
{
	struct op_executable_place place = place_of(p, program, v);

	if (!v->exe)
		return -ENOEXEC;
	p->executables.now_ns = p->now_ns;
	return op_executable_open(&p->executables, v->exe, &place, need_file);
}

int op_publish_open_file(struct op_processes *p, const struct op_program *program,
			 const struct op_mapping *v, struct op_elf **ret,
			 uint64_t *ret_bias)
{
	const struct op_executable_place place = place_of(p, program, v);
	_cleanup_(op_elf_freep) struct op_elf *elf = NULL;
	const struct op_image_segment *s;
	struct op_opened opened;
	size_t i;
	int r;

	r = op_publish_open(p, program, v, false);
	if (r < 0)
		return r;
	i = op_image_find_segment(v->exe->image, v->offset, v->end - v->start);
	if (i == SIZE_MAX)
		return -ENOEXEC;
	s = &v->exe->image->segments[i];
	r = op_executable_open_mapped(p->target, v->exe, &place, &opened);
	if (r < 0)
		return r;
	r = op_elf_open(opened.fd, &elf);
	if (r < 0) {
		op_closep(&opened.fd);
		return r;
	}
	if (!op_executable_is_read(v->exe, elf, opened.served))
		return -ESTALE;
	*ret = OP_TAKE_PTR(elf);
	*ret_bias = v->start + s->offset - v->offset - s->vaddr;
	return 0;
}

/* The bits of @runtimes that have a step. */
static uint32_t with_step(uint32_t runtimes)
{
	uint32_t ret = 0;
	int id;

	while ((id = ffs((int)runtimes) - 1) >= 0) {
		const struct op_runtime_ops *ops = op_runtime_get((enum op_runtime)id);

		runtimes &= runtimes - 1;
		if (ops && ops->bpf_size)
			ret |= UINT32_C(1) << id;
	}
	return ret;
}

void op_publish_load_runtimes(struct op_processes *p, uint32_t runtimes)
{
	uint32_t more = with_step(runtimes) & ~(p->runtimes.wanted | p->runtimes.refused);
	uint32_t one;

	if (!more)
		return;
	if (!p->config.need_runtimes || !p->config.need_runtimes(p->config.ctx, more)) {
		p->runtimes.wanted |= more;
		return;
	}
	one = more & -more;
	if (more != one) {
		/* one of them cannot be loaded: try each alone */
		op_publish_load_runtimes(p, one);
		op_publish_load_runtimes(p, more & ~one);
		return;
	}
	p->runtimes.refused |= one;
	op_log(p->config.log, OP_LOG_WARNING,
	       "The kernel does not load the unwinder of runtime %d; its frames "
	       "will be missing",
	       ffs((int)one) - 1);
}

/* Is the step of runtime @id loaded? op_processes_load_runtimes() loads steps before the
 * first poll. A missing one is loaded now. Returns 1, 0, or -EINPROGRESS without time for
 * that. */
static int runtime_wanted(struct op_processes *p, enum op_runtime id)
{
	uint32_t bit = UINT32_C(1) << id;

	if (!((p->runtimes.wanted | p->runtimes.refused) & bit)) {
		if (op_allowance_is_half_over(p->config.allowance))
			return -EINPROGRESS;
		op_publish_load_runtimes(p, bit);
	}
	return p->runtimes.wanted & bit ? 1 : 0;
}

int op_publish_make_table(struct op_processes *p, const struct op_program *program,
			  const struct op_mapping *v)
{
	struct op_image *image;
	int loop = 0;
	int r;

	/* work that cannot be interrupted begins only while there is time */
	if ((v->exe && (!v->exe->image || op_mapping_is_doubted(v))) &&
	    op_allowance_is_over(p->config.allowance))
		return -EINPROGRESS;
	r = op_publish_open(p, program, v, false);
	if (r < 0)
		return r;
	image = v->exe->image;
	if (image->table)
		return 0;
	if (p->now_ns < image->job.retry_ns)
		return -EAGAIN;
	if (op_allowance_is_over(p->config.allowance))
		return -EINPROGRESS;
	r = op_publish_open(p, program, v, true);
	if (r < 0)
		return r;
	image = v->exe->image;
	if (image->runtime)
		loop = runtime_wanted(p, image->runtime->id);
	if (loop < 0)
		return loop;
	return op_image_make_table(&p->executables.images, image, loop, p->now_ns,
				   p->config.allowance);
}

/* The process in which a runtime opens files. */
struct opening {
	struct op_processes *p;
	const struct op_program *program;
};

/* A mapping as it is published now, before runtimes are considered. */
static struct op_mapping resolve_file(const struct op_processes *p,
				      const struct op_program *program,
				      struct op_mapping now)
{
	const struct op_executable *e = now.exe;
	const struct op_image_segment *s;
	size_t i;

	now.segment = 0;
	now.bias = 0;
	now.room = 0;
	now.above = 0;
	now.flags = OP_MAPPING_ANON;
	if (!e || e->state == OP_EXECUTABLE_FOREIGN)
		return now;
	now.flags = e->vdso ? OP_MAPPING_VDSO : 0;
	if (now.replaced)
		now.flags |= OP_MAPPING_REPLACED;
	if (!e->image || op_mapping_is_doubted(&now)) {
		now.flags |= op_executable_may_open(&p->executables, e, program->proc_pid,
						    p->now_ns)
				     ? OP_MAPPING_LAZY
				     : OP_MAPPING_ANON;
		return now;
	}
	i = op_image_find_segment(e->image, now.offset, now.end - now.start);
	if (i == SIZE_MAX) {
		/* outside the executable segments: walked by frame pointers */
		now.flags |= OP_MAPPING_ANON;
		return now;
	}
	s = &e->image->segments[i];
	now.bias = now.start + s->offset - now.offset - s->vaddr;
	now.segment = op_image_segment_ref(e->image, i);
	if (!now.segment)
		now.flags |= p->now_ns < e->image->job.retry_ns ? OP_MAPPING_ANON
								: OP_MAPPING_LAZY;
	return now;
}

/* Did the process open the file of @v after @start_ns, and does the file have a mark? */
static bool is_late(const struct op_mapping *v, uint64_t start_ns)
{
	return v->exe && v->exe->image && v->exe->image->mark && !v->replaced &&
	       v->claim.mapped_ns > start_ns;
}

/*
 * A process that replaced one file's mapping by another's is likely to repeat it, with a
 * file that it opened while it ran. The newest of these files get the marks that are
 * left. Returns the time of mapping from which on a file gets a mark. UINT64_MAX: no file
 * does.
 */
static uint64_t marked_since(const struct op_proc *proc)
{
	const struct op_mappings *mappings = proc->mappings;
	uint64_t start_ns;
	uint64_t since_ns = UINT64_MAX;
	size_t room = OP_MARKS_MAX;
	size_t i;

	if (!proc->program->code.replaces || proc->past)
		return UINT64_MAX;
	start_ns = op_mappings_start_ns(mappings);
	for (i = 0; i < mappings->len; i++)
		room -= room && mappings->vma[i].replaced;
	for (; room; room--) {
		uint64_t newest_ns = 0;
		size_t same = 0;

		for (i = 0; i < mappings->len; i++) {
			uint64_t ns = mappings->vma[i].claim.mapped_ns;

			if (ns >= since_ns || ns < newest_ns ||
			    !is_late(&mappings->vma[i], start_ns))
				continue;
			same = ns == newest_ns ? same + 1 : 1;
			newest_ns = ns;
		}
		if (!newest_ns || same > room)
			break;
		room -= same - 1;
		since_ns = newest_ns;
	}
	return since_ns;
}

/* Mapping number @i of @proc as it is published now. */
static struct op_mapping resolve(const struct op_processes *p, const struct op_proc *proc,
				 size_t i, uint64_t marked_ns)
{
	const struct op_mapping *v = &proc->mappings->vma[i];
	struct op_mapping now = resolve_file(p, proc->program, *v);

	if (now.segment && v->claim.mapped_ns >= marked_ns && v->exe->image->mark)
		now.flags |= OP_MAPPING_REPLACED;
	op_program_runtimes_mark(&proc->program->runtimes, &now, i ? v[-1].end : 0,
				 i + 1 < proc->mappings->len ? v[1].start : UINT64_MAX);
	if (op_mapping_is_made(v) && !(now.flags & OP_MAPPING_CODE))
		now.segment = op_made_segment(proc->program->code.made, v->start, v->end);
	return now;
}

static int write_mappings(struct op_processes *p, struct op_mappings *mappings)
{
	bool new = !mappings->block;
	int r = op_mappings_write(mappings, p->config.arena,
				  op_mappings_share(p->config.arena, p->alive));

	if (r < 0 || !new || mappings->written == mappings->len)
		return r;
	/* retried when there may be more memory */
	mappings->fallback = true;
	p->executables.mappings_refused += mappings->len - mappings->written;
	return 0;
}

/* Update the mappings of @proc from its executables and runtimes, and write them to the
 * arena. Returns 0 or -errno. */
static int refresh(struct op_processes *p, struct op_proc *proc)
{
	uint64_t marked_ns = marked_since(proc);
	bool changed = op_mappings_may_grow(proc->mappings, p->config.arena);
	size_t i;
	int r;

	for (i = 0; i < proc->mappings->len && !changed; i++) {
		const struct op_mapping *v = &proc->mappings->vma[i];
		struct op_mapping now = resolve(p, proc, i, marked_ns);

		changed = now.segment != v->segment || now.bias != v->bias ||
			  now.room != v->room || now.above != v->above ||
			  now.flags != v->flags;
	}
	if (changed) {
		r = op_mappings_own(&proc->mappings, &p->executables, p->now_ns);
		if (r < 0)
			return r;
		proc->mappings->fallback = false;
		for (i = 0; i < proc->mappings->len; i++) {
			struct op_mapping *v = &proc->mappings->vma[i];

			*v = resolve(p, proc, i, marked_ns);
			if (!(v->flags & OP_MAPPING_ANON) || !v->exe ||
			    v->exe->state == OP_EXECUTABLE_FOREIGN)
				continue;
			proc->mappings->fallback = true;
			if (v->exe->retry_ns > p->now_ns)
				p->runtimes.fallback_after_ns = OP_MIN(
					p->runtimes.fallback_after_ns, v->exe->retry_ns);
		}
	}
	return write_mappings(p, proc->mappings);
}

static uint32_t runtimes_like(const struct op_processes *p, struct op_executable *e)
{
	size_t len;
	const struct op_runtime_ops *const *ops = op_runtime_all(&len);
	size_t i;

	if (e->like_known)
		return e->like;
	for (i = 0; i < len; i++)
		if (!(p->config.runtimes_off & UINT64_C(1) << ops[i]->id) &&
		    op_runtime_looks_like(ops[i], e->path))
			e->like |= UINT32_C(1) << ops[i]->id;
	e->like_known = true;
	return e->like;
}

/*
 * Make the tables of the runtimes that @proc maps, so that an interpreter is attached at
 * its first sample. Files that do not look like a runtime wait for their first sample.
 */
static void prepare_runtimes(struct op_processes *p, struct op_proc *proc)
{
	size_t i;
	int r;

	for (i = 0; i < proc->mappings->len; i++) {
		const struct op_mapping *v = &proc->mappings->vma[i];
		struct op_executable *e = v->exe;

		if (!e || e->vdso || e->state == OP_EXECUTABLE_FOREIGN)
			continue;
		if (e->image ? !e->image->runtime : !runtimes_like(p, e))
			continue;
		if (e->image && e->image->table)
			continue;
		r = op_allowance_is_over(p->config.allowance)
			    ? -EINPROGRESS
			    : op_publish_open(p, proc->program, v, false);
		if (r == 0 && e->image->runtime)
			r = op_publish_make_table(p, proc->program, v);
		/* a runtime's file that is no ELF file has no table */
		if (r == -ENOEXEC && e->image && e->image->runtime)
			op_publish_load_runtimes(p, UINT32_C(1) << e->image->runtime->id);
		/* with early pages the process can be published */
		proc->unfinished |= r == -EINPROGRESS && !(e->image && e->image->early);
	}
}

/* Settle the claim of mapping number @i of @proc on its file. Returns like
 * op_claim_settle(). */
static int settle_claim(struct op_processes *p, struct op_proc *proc, size_t i)
{
	struct op_mapping *v = &proc->mappings->vma[i];
	const struct op_executable_place place = place_of(p, proc->program, v);
	struct op_executable *e = op_executable_ref(v->exe);
	struct op_claim claim = v->claim;
	int r = op_claim_settle(&p->executables, &e, &place, &claim);

	/* a shared list may have other holders from another time */
	if (r > 0)
		r = op_mappings_own(&proc->mappings, &p->executables, p->now_ns);
	if (r == 0) {
		v = &proc->mappings->vma[i];
		v->claim = claim;
	}
	if (r == 0 && e != v->exe) {
		op_executable_put(&p->executables, v->exe);
		v->exe = op_executable_ref(e);
		proc->changes.number++;
		op_generation_changed(p, proc, v->start, v->end, v->start - v->offset,
				      claim.told ? claim.mapped_ns : claim.since_ns,
				      claim.mapped_ns);
		op_new_files_note(&p->executables, e, &place);
	}
	op_executable_put(&p->executables, e);
	return r;
}

/*
 * Compare each mapped file with its known executable. Done before the first sample, which
 * otherwise carries a copy of the stack. A short-lived process has few other samples.
 */
static void settle_claims(struct op_processes *p, struct op_proc *proc)
{
	size_t i;

	if (proc->program->until_ns)
		return;
	p->executables.now_ns = p->now_ns;
	for (i = 0; i < proc->mappings->len; i++) {
		if (!op_mapping_is_doubted(&proc->mappings->vma[i]))
			continue;
		if (op_allowance_is_over(p->config.allowance))
			proc->unfinished = true;
		else if (settle_claim(p, proc, i) == -ENOMEM)
			return;
	}
}

static int open_file(void *ctx, const struct op_mapping *v, struct op_elf **ret,
		     uint64_t *ret_bias)
{
	const struct opening *o = ctx;

	return op_publish_open_file(o->p, o->program, v, ret, ret_bias);
}

/* Attach the runtimes of @proc, whose mappings are up to date. Returns whether @proc must
 * be published again. */
static bool attach_runtimes(struct op_processes *p, struct op_proc *proc)
{
	struct op_program *program = proc->program;
	struct opening opening = { .p = p, .program = program };
	struct op_program_runtimes_context context = {
		.arena = p->config.arena,
		.images = &p->executables.images,
		.log = p->config.log,
		.now_ns = p->now_ns,
		.over_ns = proc->past ? 0 : op_process_over_ns(p),
		.refused = p->runtimes.refused,
		.await_chains = !!(p->config.flags & OTELPROF_AWAIT_CHAINS),
		.pid = program->pid,
		.memory = &program->memory.memory,
		.mappings = proc->mappings,
		.open_file = open_file,
		.ctx = &opening,
	};
	bool changed;

	if (program->until_ns)
		return false;
	changed = op_program_runtimes_attach(&program->runtimes, &context);
	if (context.ret_retry_ns && (!p->runtimes.attach_after_ns ||
				     context.ret_retry_ns < p->runtimes.attach_after_ns))
		p->runtimes.attach_after_ns = context.ret_retry_ns;
	return changed;
}

/* Is there time to attach the runtimes of @proc, if it has any? */
static bool may_attach(struct op_processes *p, struct op_proc *proc)
{
	size_t i;

	if (!op_allowance_is_over(p->config.allowance))
		return true;
	for (i = 0; i < proc->mappings->len; i++) {
		const struct op_executable *e = proc->mappings->vma[i].exe;

		if (e && e->image && e->image->runtime)
			proc->unfinished = true;
	}
	return false;
}

int op_publish(struct op_processes *p, struct op_proc *proc, bool committed)
{
	struct op_generation *g = NULL;
	int r;

	if (p->forked || proc->ended_ns)
		return -ESRCH;
	if (!proc->mappings->len) {
		/* after exec there are no mappings yet: samples carry registers and
		 * stack */
		op_unpublish(p, proc);
		return 0;
	}
	proc->unfinished = false;
	settle_claims(p, proc);
	prepare_runtimes(p, proc);
	r = refresh(p, proc);
	if (r == 0 && may_attach(p, proc) && attach_runtimes(p, proc))
		r = refresh(p, proc);
	if (proc->unfinished && !proc->past) {
		op_proc_lists_touch(p, proc);
		p->settle_on = true;
	}
	if (r < 0)
		return r;
	op_proc_lists_note_waiting(p, proc);
	if (op_generation_is_current(p, proc))
		return committed ? op_generation_commit(p, proc, proc->current) : 0;
	r = op_generation_new(p, proc, &g);
	if (r < 0)
		return r;
	if (committed) {
		r = op_generation_commit(p, proc, g);
		if (r < 0) {
			op_generation_free(p, g);
			return r;
		}
	}
	op_generation_retire(p, proc);
	proc->current = g;
	return 0;
}

/* Is it known what @v maps? */
static bool is_identified(const struct op_mapping *v)
{
	if (!v->exe)
		return v->flags;
	return (v->exe->image || v->exe->state == OP_EXECUTABLE_FOREIGN) &&
	       !op_mapping_is_doubted(v);
}

int op_publish_identify(struct op_processes *p, struct op_proc *proc, uint64_t addr)
{
	const struct op_mapping *v = op_mappings_find(proc->mappings, addr);

	if (!v || is_identified(v) || proc->program->until_ns)
		return 0;
	if (op_allowance_is_over(p->config.allowance))
		return -EINPROGRESS;
	if (v->exe && !v->exe->image)
		(void)op_publish_open(p, proc->program, v, false);
	return op_publish(p, proc, p->now_ns >= proc->publish_after_ns) == 0;
}

void op_unpublish(struct op_processes *p, struct op_proc *proc)
{
	const struct op_generation *g;
	bool reported = proc->forked || (proc->current && proc->current->committed);

	for (g = proc->older; g && !reported; g = g->older)
		reported = g->committed;
	if (reported && !p->forked)
		(void)p->config.unpublish(p->config.ctx, proc->pid);
	op_generation_retire(p, proc);
}

int op_publish_past(struct op_processes *p, struct op_program *program,
		    struct op_mappings *mappings, struct op_proc **ret)
{
	struct op_proc *past = calloc(1, sizeof(*past));

	if (!past)
		return -ENOMEM;
	past->past = true;
	past->pid = program->pid;
	past->program = op_program_ref(program);
	past->mappings = op_mappings_ref(mappings);
	*ret = past;
	return 0;
}

void op_publish_past_free(struct op_processes *p, struct op_proc *past)
{
	if (!past)
		return;
	op_generation_drop(p, past);
	op_mappings_put(past->mappings, &p->executables, p->now_ns);
	op_program_put(p, past->program);
	free(past);
}
