/* SPDX-License-Identifier: Apache-2.0 */
#include "sample/resolve.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "kernel/kinds/kind.h"
#include "process/generation.h"
#include "process/image/executable.h"
#include "process/mappings/changes.h"
#include "process/mappings/mappings.h"
#include "process/program.h"
#include "process/publish.h"
#include "process/registry.h"
#include "sample/changed.h"
#include "sample/deferred.h"
#include "sample/labels.h"
#include "sample/parsed.h"
#include "sample/stack.h"
#include "sample/state.h"

enum {
	FORKS_MAX = 8, /* in a row, without a publication or an exec */
};

static int add_kernel(struct op_sampler *sampler, struct op_window *window,
		      const struct op_parsed *parsed, size_t *len)
{
	bool idle = parsed->header.event == OP_EVENT_CPU && !parsed->header.pid;
	uint32_t event = idle ? OP_EVENT_IDLE : parsed->header.event;
	size_t i;

	i = op_frames_kernel_begin(sampler, op_kind_of(event), parsed->words,
				   parsed->header.kernel_count);
	for (; i < parsed->header.kernel_count; i++) {
		int r = op_frames_kernel(sampler, window, parsed->words[i], i == 0,
					 &sampler->locations[*len]);

		if (r < 0)
			return r;
		(*len)++;
	}
	return 0;
}

/* Make the stack of @of's frames: kernel, then user. @callers may be NULL. */
static int make_stack(struct op_sampler *sampler, const struct op_frames_of *of,
		      const struct op_parsed *parsed, const uint64_t *user,
		      size_t user_len, unsigned int end, struct op_thread_cache *callers,
		      uint32_t *ret)
{
	size_t len = 0;
	int r;

	r = add_kernel(sampler, of->window, parsed, &len);
	if (r == 0)
		r = op_stack_add_user(sampler, of, user, user_len, callers, &len);
	if (r == 0)
		r = op_stack_add_end(sampler, of->window, end, &len);
	return r < 0 ? r : op_window_stack(of->window, sampler->locations, len, ret);
}

/* Like make_stack() for the record's own words, with the cache. */
static int find_stack(struct op_sampler *sampler, const struct op_frames_of *of,
		      struct op_parsed *parsed, uint32_t generation, uint32_t *ret)
{
	const struct op_record *h = &parsed->header;
	/* the meaning of its code's addresses */
	uint32_t number =
		of->program ? op_program_code_number(sampler->processes, of->program,
						     sampler->moment, h->time_ns)
			    : 0;
	const struct op_thread_cache_owner owner = { .epoch = op_window_epoch(of->window),
						     .generation = generation ^ number,
						     .tid = h->tid };
	const uint64_t *user = parsed->words + h->kernel_count;
	struct op_thread_cache *callers = NULL;
	struct op_cache_key key;
	int r;

	/* User words have one meaning only within a generation. */
	sampler->words[0] = h->user_words ? (uint64_t)generation << 32 | h->pid : 0;
	sampler->words[1] =
		(uint64_t)number << 32 | (uint64_t)h->kernel_count << 16 | h->end;
	key = op_cache_key(&sampler->stacks, sampler->words,
			   (size_t)OP_KEY_WORDS + h->kernel_count + h->user_words);
	if (op_cache_find(&sampler->stacks, owner.epoch, &key, ret))
		return 0;
	if (generation && h->user_words)
		callers = op_thread_cache_begin(sampler->threads, &owner, user,
						h->user_words);
	r = make_stack(sampler, of, parsed, user, h->user_words, h->end, callers, ret);
	if (r == 0 && !sampler->nameless)
		op_cache_add(&sampler->stacks, &key, *ret);
	return r;
}

/* Are the record's registers those of a caller at which the walk stopped? */
static bool is_caller(const struct op_record *h)
{
	return h->user_words && (h->resumed & OP_RESUMED_MASK) == OP_RESUMED_CALLER;
}

/* Walk and name a record with registers and stack: by the current state of @proc, or by
 * @past, its earlier program. */
static int deferred_stack(struct op_sampler *sampler, struct op_proc *proc,
			  struct op_proc *past, struct op_frames_of *of,
			  const struct op_parsed *parsed, uint32_t *ret)
{
	const struct op_record *h = &parsed->header;
	struct op_deferred deferred = { .registers = &parsed->registers,
					.stack = parsed->stack,
					.stack_len = h->stack_bytes,
					.stack_below = h->stack_below,
					.unread = parsed->unread,
					.root = parsed->root,
					.root_len = parsed->root_len,
					.root_at = parsed->root_at,
					.chain = parsed->chain,
					.chain_len = parsed->chain_len,
					.words = parsed->words + h->kernel_count,
					.words_len = h->user_words,
					.frames = h->user_frames,
					.is_caller = is_caller(h),
					.end_pc = h->end_pc,
					.live = parsed->live };
	const struct op_unwind_result *s = sampler->host_stack;
	uint64_t at = parsed->registers.sp - h->stack_below;
	_cleanup_free_ uint8_t *joined = NULL;
	int r = 0;

	joined = op_stack_chunks_take(&sampler->chunks, h, at, deferred.stack,
				      deferred.stack_len, &deferred.stack_len);
	if (joined)
		deferred.stack = joined;
	if (!deferred.root)
		deferred.root = op_stack_chunks_root(
			&sampler->chunks, h, &deferred.root_at, &deferred.root_len);
	if (!deferred.chain)
		deferred.chain =
			op_stack_chunks_chain(&sampler->chunks, h, &deferred.chain_len);
	if (proc) {
		struct op_proc *walked = past ? past : proc;

		r = op_deferred_unwind(sampler, walked, &deferred);
		of->mappings = op_proc_view_now(walked).mappings;
		if (r == 0)
			op_changed_cut_later(sampler->host_stack, proc, walked, h);
	} else {
		op_deferred_leaf(sampler, &parsed->registers);
	}
	sampler->walked = r == 0;
	if (r == 0)
		r = make_stack(sampler, of, parsed, s->word,
			       OP_MIN(s->words, (uint32_t)OP_USER_WORDS_MAX), s->end,
			       NULL, ret);
	if (r == -EINPROGRESS && joined)
		op_stack_chunks_give_back(&sampler->chunks, h, at, h->stack_bytes,
					  OP_TAKE_PTR(joined), deferred.stack_len);
	if (r < 0)
		return r;
	if (s->end < OP_ERROR_LIMIT)
		sampler->ends[s->end]++;
	op_ended_add(&sampler->ended, of->mappings, s->end, s->end_pc, s->word,
		     OP_MIN(s->words, (uint32_t)OP_USER_WORDS_MAX));
	return 0;
}

/* A record with registers and stack: of the current program, or of the program at that
 * time. */
static int first_stack(struct op_sampler *sampler, struct op_proc *proc,
		       struct op_frames_of *of, const struct op_parsed *parsed,
		       uint32_t *ret)
{
	struct op_mappings *mappings = of->mappings;
	struct op_proc *past = NULL;
	int r;

	if (!proc ||
	    (op_proc_view_now(proc).program == of->program && !of->program->until_ns)) {
		if (proc && parsed->header.generation)
			op_generation_mend(sampler->processes, proc,
					   parsed->header.generation);
		return deferred_stack(sampler, proc, NULL, of, parsed, ret);
	}
	r = op_publish_past(sampler->processes, of->program, of->mappings, &past);
	if (r < 0)
		return r;
	r = deferred_stack(sampler, proc, past, of, parsed, ret);
	of->mappings = mappings; /* the past program's changes end here */
	op_publish_past_free(sampler->processes, past);
	return r;
}

/*
 * Did the sample interrupt execve(2) itself? The old program's stack is gone by then, and
 * the registers are not yet the new program's.
 */
static bool in_exec(const struct op_parsed *r, const struct op_frames_of *of,
		    const struct op_mappings *before)
{
	const struct op_record *h = &r->header;
	uint64_t pc;

	if (!h->kernel_count)
		return false;
	/* The memory goes a moment before the exec event. */
	if (h->end == OP_END_UNKNOWN && !h->user_words && !h->stack_bytes &&
	    of->program->until_ns)
		return true;
	if (!before)
		return false;
	if (h->user_words)
		pc = r->words[h->kernel_count] & OP_FRAME_ADDRESS_MASK;
	else if (h->end == OP_END_UNKNOWN)
		pc = r->registers.pc;
	else
		return false;
	return op_mappings_find(before, pc) && !op_mappings_find(of->mappings, pc);
}

/* Was @program forked, without an exec since? Then its mappings are its parent's, and the
 * kernel may have walked it by the parent's generation. */
static bool is_forked(const struct op_program *program)
{
	return program->parent && program->since_ns &&
	       program->since_ns == program->born_ns;
}

/* How the generation of the record was published: that of @proc, or of a process from
 * which @then, its program at that time, was forked. Returns false if it is not known. */
static bool find_published(const struct op_sampler *sampler, const struct op_proc *proc,
			   const struct op_proc_view *then, const struct op_record *h,
			   struct op_proc_view *ret)
{
	const struct op_program *program = then->program;
	int i;

	if (!h->generation)
		return false;
	if (op_proc_view_published(proc, h->generation, ret))
		return true;
	for (i = 0; i < FORKS_MAX && h->user_words && is_forked(program); i++) {
		proc = op_registry_find(sampler->processes, program->parent);
		if (!proc)
			return false;
		if (op_proc_view_published(proc, h->generation, ret)) {
			ret->program = then->program;
			ret->changes = then->changes;
			return true;
		}
		program = op_proc_view_now(proc).program;
	}
	return false;
}

/*
 * Find the generation with which the record was made. If that program had ended before
 * the sample (the kernel's table did not have the exec yet), its frames would be false:
 * use none.
 */
static int locate(struct op_sampler *sampler, struct op_proc *proc, struct op_parsed *r,
		  struct op_frames_of *of, uint32_t *ret_generation)
{
	struct op_record *h = &r->header;
	const struct op_mappings *before;
	struct op_proc_view published;
	struct op_proc_view then;
	int ret = 0;

	*ret_generation = 0;
	if (!proc)
		return 0;
	then = op_proc_view_at(proc, h->time_ns, &before);
	if (find_published(sampler, proc, &then, h, &published) &&
	    (h->end != OP_END_UNKNOWN || h->user_words) &&
	    (!published.program->until_ns || h->time_ns <= published.program->until_ns)) {
		of->program = published.program;
		of->mappings = published.mappings;
		*ret_generation = h->generation;
		ret = op_changed_cut(sampler, proc, r, of, &published, ret_generation);
		if (h->end != OP_END_UNKNOWN)
			return ret;
		/* an older table shows less than the last mappings and their changes */
		then = op_proc_view_at(proc, h->time_ns, &before);
		if (then.program == of->program)
			of->mappings = then.mappings;
		return ret;
	}
	of->program = then.program;
	of->mappings = then.mappings;
	if (in_exec(r, of, before)) {
		h->user_words = 0;
		h->end = OP_END_NO_USER;
	} else if (h->user_words && (h->generation || h->end != OP_END_UNKNOWN)) {
		h->user_words = 0;
		h->end = OP_ERROR_native_no_mapping;
	} /* otherwise a probe found its return, and no walk has begun */
	return ret;
}

/* The resource of the record. For an untracked process: only the pid. */
static int resource_of(struct op_sampler *sampler, const struct op_frames_of *of,
		       const struct op_parsed *r, uint32_t *ret)
{
	struct op_resource resource = { .pid = r->header.pid };

	if (of->program)
		return op_program_resource(sampler->processes, of->program, of->mappings,
					   &r->header, of->window, ret);
	return op_window_resource(of->window, &resource, ret);
}

/* The sample of @stack as it goes into the window. */
static int make_sample(struct op_sampler *sampler, const struct op_frames_of *of,
		       const struct op_parsed *parsed, uint32_t stack,
		       struct op_window_sample *ret)
{
	const struct op_record *h = &parsed->header;
	struct op_window_sample sample = {
		.event = h->event,
		.stack = stack,
		.tid = h->tid,
		.cpu = h->cpu,
		.time_ns = op_processes_realtime_ns(sampler->processes, h->time_ns),
	};
	int r;

	r = resource_of(sampler, of, parsed, &sample.resource);
	if (r == 0)
		r = op_window_string(of->window, h->comm,
				     strnlen(h->comm, sizeof(h->comm)), &sample.comm);
	if (r == 0)
		r = op_labels_kind(sampler, h, parsed->extra, of->window, &sample);
	r = r ?: op_labels_text(sampler, parsed, of->window, &sample.labels);
	if (r == 0) {
		if (!op_trace_contexts_apply(&sampler->contexts, of->program,
					     &parsed->context, of->window, &sample))
			sampler->announce_again = true;
		*ret = sample;
	}
	return r;
}

/* Where the program's walk ended. */
static uint64_t failed_pc(const struct op_parsed *r)
{
	return r->header.end_pc ? r->header.end_pc : r->registers.pc;
}

/* Did the program find another word at the mark of the file at the pc, although no
 * event reported another file? */
static bool mark_failed(const struct op_proc *proc, const struct op_parsed *r)
{
	const struct op_record *h = &r->header;
	uint64_t pc = failed_pc(r);
	const struct op_mapping *v;
	struct op_proc_view view;

	if (!h->generation || h->end != OP_END_UNKNOWN ||
	    !op_proc_view_published(proc, h->generation, &view))
		return false;
	v = op_mappings_find(view.mappings, pc);
	if (v && v->mark && h->marks & UINT32_C(1) << (v->mark - 1))
		return false;
	return v && (v->flags & OP_MAPPING_REPLACED) && !(v->flags & OP_MAPPING_LAZY) &&
	       !op_changes_before(view.changes, view.change_number, h->time_ns, pc, 0);
}

/* Did the kernel see that the process had other code mapped than was published? Then no
 * event reported that code, or its removal. Returns 0, or -EINPROGRESS if its maps are read soon. */
static int look_again(struct op_sampler *sampler, struct op_proc *proc,
		      struct op_parsed *r)
{
	struct op_record *h = &r->header;
	const struct op_look look = { .time_ns = h->time_ns,
				      .code_pages = h->code_pages };
	bool remapped = h->code_pages && (h->resumed & OP_REMAPPED);
	const struct op_mappings *before;
	struct op_proc_view then;
	int looked = 0;

	if (!proc)
		return 0;
	then = op_proc_view_at(proc, h->time_ns, &before);
	if (mark_failed(proc, r))
		h->resumed |= OP_REMAPPED;
	/* The event may be lost. Or there was no count to compare, such as for a child that was
	 * just forked. */
	if (then.program->code.replaces &&
	    (op_registry_missed(sampler->processes, proc) ||
	     (h->end == OP_END_UNKNOWN && !h->code_pages)))
		h->resumed |= OP_REMAPPED;
	if (h->code_pages && !(h->resumed & OP_REMAPPED))
		op_registry_matched(proc, h->time_ns);
	if (!(h->resumed & OP_REMAPPED))
		return 0;
	if (then.program == op_proc_view_now(proc).program)
		looked = op_registry_look_again(sampler->processes, proc, &look);
	if (looked < 0 && !op_sampler_hurries(sampler))
		return looked;
	if (then.program == op_proc_view_now(proc).program && mark_failed(proc, r))
		op_registry_was_other(sampler->processes, proc, failed_pc(r), h->time_ns);
	/* Of a program that has ended the pages tell, which only events add to. */
	if (looked <= 0 && (!h->code_pages || !then.program->until_ns))
		return 0;
	if (looked > 0)
		then = op_proc_view_now(proc);
	if (!then.program->code.replaces ||
	    !op_registry_differs(then.mappings, h->code_pages, h->time_ns)) {
		h->resumed &= OP_RESUMED_MASK;
		if (remapped && looked > 0 && then.program->code.replaces)
			op_registry_explained(proc, h->time_ns);
	}
	return 0;
}

/* Is a table missing, and was there no copy of the stack? */
static bool was_cut(const struct op_record *h)
{
	return h->end == OP_ERROR_native_no_room || h->end == OP_ERROR_native_no_copy;
}

/* Code that @program made has its first rules. Publish them to the programs. */
static void publish_made(struct op_sampler *sampler, struct op_proc *proc,
			 struct op_program *program)
{
	if (!proc || !program || !program->code.made_new)
		return;
	program->code.made_new = false;
	if (op_proc_view_now(proc).program == program)
		(void)op_publish(sampler->processes, proc, true);
}

int op_record_resolve(struct op_sampler *sampler, struct op_parsed *parsed,
		      struct op_window *window, struct op_window_sample *ret)
{
	const struct op_record *h = &parsed->header;
	struct op_frames_of of = { .window = window };
	struct op_proc *proc;
	uint32_t generation;
	uint32_t stack;
	int r;

	op_processes_advance(sampler->processes, h->time_ns);
	sampler->moment = (uint32_t)(h->time_ns >> 28);
	proc = op_registry_of_record(sampler->processes, h);
	r = look_again(sampler, proc, parsed);
	if (r < 0)
		return r;
	r = locate(sampler, proc, parsed, &of, &generation);
	if (r < 0)
		return r;
	of.time_ns = h->end == OP_END_UNKNOWN ? 0 : h->time_ns;
	if (h->end == OP_END_UNKNOWN)
		r = first_stack(sampler, proc, &of, parsed, &stack);
	else
		r = find_stack(sampler, &of, parsed, generation, &stack);
	if (r == 0 && h->end != OP_END_UNKNOWN)
		op_ended_add(&sampler->ended, of.mappings, h->end, h->end_pc,
			     parsed->words + h->kernel_count, h->user_words);
	if (r == 0 && proc && was_cut(h))
		op_deferred_page(sampler, proc, h->end_pc);
	if (r == 0)
		r = make_sample(sampler, &of, parsed, stack, ret);
	/* This may free of.mappings. */
	publish_made(sampler, proc, of.program);
	return r;
}
