/* SPDX-License-Identifier: Apache-2.0 */
/* A record of the kernel's ring to a sample of the window. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "kind/kind.h"
#include "process/generation.h"
#include "process/layout.h"
#include "process/program.h"
#include "process/publish.h"
#include "process/table.h"
#include "sample/deferred.h"
#include "sample/labels.h"
#include "sample/stack.h"
#include "sample/state.h"

/* A record, taken apart. */
struct record {
	struct op_record header;
	struct op_registers registers; /* OP_END_UNKNOWN */
	const uint8_t *stack;	       /* header.stack_bytes */
	const uint8_t *root;	       /* where the stack begins; NULL: not here */
	size_t root_len;
	uint64_t root_at;
	bool unread;			  /* sp's page is not in the copy */
	uint32_t extra;			  /* OP_RECORD_NAMED */
	struct op_thread_context context; /* all zero: none */
	bool live;			  /* its stack is read as it is now */
	uint64_t *words; /* kernel_count, then user_words; sampler->words + KEY_WORDS */
};

enum {
	KEY_WORDS = 2, /* before the words of a stack: what else tells stacks apart */
};

_Static_assert(OP_RECORD_WORDS >= KEY_WORDS + OP_KERNEL_FRAMES_MAX + OP_USER_WORDS_MAX,
	       "the scratch holds a key and any record");

/* Returns 0, or -EBADMSG for a record that is not as long as it says. */
static int take_apart(struct op_sampler *sampler, const void *bytes, size_t len,
		      struct record *ret)
{
	const uint8_t *pos = bytes;
	size_t words;
	size_t left = len;

	if (left < sizeof(ret->header))
		return -EBADMSG;
	memcpy(&ret->header, pos, sizeof(ret->header));
	pos += sizeof(ret->header);
	left -= sizeof(ret->header);
	words = (size_t)ret->header.kernel_count + ret->header.user_words;
	if (ret->header.kernel_count > OP_KERNEL_FRAMES_MAX ||
	    ret->header.user_words > OP_USER_WORDS_MAX ||
	    words * sizeof(uint64_t) > left || ret->header.event >= OP_EVENT_MAX)
		return -EBADMSG;
	ret->words = sampler->words + KEY_WORDS;
	ret->extra = 0;
	ret->live = false;
	memcpy(ret->words, pos, words * sizeof(uint64_t));
	pos += words * sizeof(uint64_t);
	left -= words * sizeof(uint64_t);
	if (op_contexts_read(pos, left, ret->header.context_bytes, &ret->context) < 0)
		return -EBADMSG;
	pos += ret->header.context_bytes;
	left -= ret->header.context_bytes;
	ret->stack = NULL;
	ret->root = NULL;
	ret->root_len = 0;
	ret->root_at = 0;
	ret->unread = ret->header.stack_below & OP_STACK_UNREAD;
	ret->header.stack_below &= (uint8_t)~OP_STACK_UNREAD;
	if (ret->header.end != OP_END_UNKNOWN)
		return 0;
	if (left < sizeof(ret->registers) ||
	    left - sizeof(ret->registers) < ret->header.stack_bytes)
		return -EBADMSG;
	memcpy(&ret->registers, pos, sizeof(ret->registers));
	ret->stack = pos + sizeof(ret->registers);
	left -= sizeof(ret->registers) + ret->header.stack_bytes;
	if (left <= sizeof(ret->root_at))
		return 0;
	/* op_sampler_join() */
	pos = ret->stack + ret->header.stack_bytes;
	memcpy(&ret->root_at, pos, sizeof(ret->root_at));
	ret->root = pos + sizeof(ret->root_at);
	ret->root_len = left - sizeof(ret->root_at);
	return 0;
}

static int add_kernel(struct op_sampler *sampler, struct op_window *window,
		      const struct record *r, size_t *len)
{
	size_t i;

	i = op_frames_kernel_begin(sampler, op_kind_of(r->header.event), r->words,
				   r->header.kernel_count);
	for (; i < r->header.kernel_count; i++) {
		int e = op_frames_kernel(sampler, window, r->words[i], i == 0,
					 &sampler->locations[*len]);

		if (e < 0)
			return e;
		(*len)++;
	}
	return 0;
}

/* The stack of @of's frames: kernel, then user. @callers may be NULL. */
static int make_stack(struct op_sampler *sampler, const struct op_frames_of *of,
		      const struct record *r, const uint64_t *user, size_t user_len,
		      unsigned int end, struct op_thread_cache *callers, uint32_t *ret)
{
	size_t len = 0;
	int e;

	e = add_kernel(sampler, of->window, r, &len);
	if (e == 0)
		e = op_stack_add_user(sampler, of, user, user_len, callers, &len);
	if (e == 0)
		e = op_stack_add_end(sampler, of->window, end, &len);
	return e < 0 ? e : op_window_stack(of->window, sampler->locations, len, ret);
}

/* As make_stack() of the record's own words, by the cache. */
static int find_stack(struct op_sampler *sampler, const struct op_frames_of *of,
		      struct record *r, uint32_t generation, uint32_t *ret)
{
	const struct op_record *h = &r->header;
	const struct op_thread_cache_owner owner = { .epoch = op_window_epoch(of->window),
						     .generation = generation,
						     .tid = h->tid };
	const uint64_t *user = r->words + h->kernel_count;
	struct op_thread_cache *callers = NULL;
	struct op_cache_key key;
	int e;

	/* User words mean something in one generation only. */
	sampler->words[0] = h->user_words ? (uint64_t)generation << 32 | h->pid : 0;
	sampler->words[1] = (uint64_t)h->kernel_count << 16 | h->end;
	key = op_cache_key(&sampler->stacks, sampler->words,
			   (size_t)KEY_WORDS + h->kernel_count + h->user_words);
	if (op_cache_find(&sampler->stacks, owner.epoch, &key, ret))
		return 0;
	if (generation && h->user_words)
		callers = op_thread_cache_begin(sampler->threads, &owner, user,
						h->user_words);
	e = make_stack(sampler, of, r, user, h->user_words, h->end, callers, ret);
	if (e == 0)
		op_cache_add(&sampler->stacks, &key, *ret);
	return e;
}

/* Are a record's registers those of a caller that the walk came to? */
static bool is_caller(const struct op_record *h)
{
	return h->user_words && h->resumed == OP_RESUMED_CALLER;
}

/* Walk and name a record with registers and stack, of @proc as it is. */
static int deferred_stack(struct op_sampler *sampler, struct op_proc *proc,
			  struct op_frames_of *of, const struct record *r, uint32_t *ret)
{
	struct op_deferred deferred = { .registers = &r->registers,
					.stack = r->stack,
					.stack_len = r->header.stack_bytes,
					.stack_below = r->header.stack_below,
					.unread = r->unread,
					.root = r->root,
					.root_len = r->root_len,
					.root_at = r->root_at,
					.words = r->words + r->header.kernel_count,
					.words_len = r->header.user_words,
					.frames = r->header.user_frames,
					.is_caller = is_caller(&r->header),
					.end_pc = r->header.end_pc,
					.live = r->live };
	const struct op_host_stack *s = sampler->host_stack;
	uint64_t at = r->registers.sp - r->header.stack_below;
	_cleanup_free_ uint8_t *joined = NULL;
	int e = 0;

	joined = op_above_take(&sampler->above, &r->header, at, deferred.stack,
			       deferred.stack_len, &deferred.stack_len);
	if (joined)
		deferred.stack = joined;
	if (!deferred.root)
		deferred.root = op_above_root(&sampler->above, &r->header,
					      &deferred.root_at, &deferred.root_len);
	if (proc) {
		e = op_deferred_unwind(sampler, proc, &deferred);
		of->layout = op_proc_view_now(proc).layout;
	} else {
		op_deferred_leaf(sampler, &r->registers);
	}
	if (e == 0)
		e = make_stack(sampler, of, r, s->word,
			       OP_MIN(s->words, (uint32_t)OP_USER_WORDS_MAX), s->end,
			       NULL, ret);
	if (e == -EINPROGRESS && joined)
		op_above_give_back(&sampler->above, &r->header, at, r->header.stack_bytes,
				   OP_TAKE_PTR(joined), deferred.stack_len);
	if (e < 0)
		return e;
	if (s->end < OP_ERROR_LIMIT)
		sampler->ends[s->end]++;
	op_ended_add(&sampler->ended, of->layout, s->end, s->end_pc, s->word,
		     OP_MIN(s->words, (uint32_t)OP_USER_WORDS_MAX));
	return 0;
}

/* A record with registers and stack: of the process as it is now, or as it was then. */
static int first_stack(struct op_sampler *sampler, struct op_proc *proc,
		       struct op_frames_of *of, const struct record *r, uint32_t *ret)
{
	struct op_layout *layout = of->layout;
	struct op_proc *past = NULL;
	int e;

	if (!proc ||
	    (op_proc_view_now(proc).program == of->program && !of->program->until_ns)) {
		if (proc && r->header.generation)
			op_generation_mend(sampler->processes, proc,
					   r->header.generation);
		return deferred_stack(sampler, proc, of, r, ret);
	}
	e = op_publish_past(sampler->processes, of->program, of->layout, &past);
	if (e < 0)
		return e;
	e = deferred_stack(sampler, past, of, r, ret);
	of->layout = layout; /* the past one's ends here */
	op_publish_past_free(sampler->processes, past);
	return e;
}

/*
 * Did the sample interrupt execve(2) itself? The old program's stack is gone by then, and
 * the registers are not yet the new one's.
 */
static bool in_exec(const struct record *r, const struct op_frames_of *of,
		    const struct op_layout *before)
{
	const struct op_record *h = &r->header;
	uint64_t pc;

	if (!h->kernel_count)
		return false;
	/* The memory goes a moment before the exec is told of. */
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
	return op_layout_find(before, pc) && !op_layout_find(of->layout, pc);
}

/* Was @program forked, and not executed since? Its mappings are then its parent's, and so
 * may be the generation by which the kernel walked it. */
static bool is_forked(const struct op_program *program)
{
	return program->parent && program->since_ns &&
	       program->since_ns == program->born_ns;
}

/*
 * Find the generation the record was made with. A program that had ended before the sample
 * was taken (an exec not yet seen in the kernel's table) gives no true frames: none then.
 */
static void locate(const struct op_proc *proc, struct record *r, struct op_frames_of *of,
		   uint32_t *ret_generation)
{
	struct op_record *h = &r->header;
	const struct op_layout *before;
	struct op_proc_view view;
	bool found;

	*ret_generation = 0;
	if (!proc)
		return;
	found = h->generation && op_proc_view_published(proc, h->generation, &view);
	if (found && (h->end != OP_END_UNKNOWN || h->user_words) &&
	    (!view.program->until_ns || h->time_ns <= view.program->until_ns)) {
		of->program = view.program;
		of->layout = view.layout;
		*ret_generation = h->generation;
		return;
	}
	view = op_proc_view_at(proc, h->time_ns, &before);
	of->program = view.program;
	of->layout = view.layout;
	if (in_exec(r, of, before)) {
		h->user_words = 0;
		h->end = OP_END_NO_USER;
	} else if (h->user_words && !found && is_forked(of->program)) {
		*ret_generation = h->generation;
	} else if (h->user_words) {
		h->user_words = 0;
		h->end = OP_ERROR_native_no_mapping;
	}
}

/* Its resource; of a process that is not tracked, the pid alone. */
static int resource_of(struct op_sampler *sampler, const struct op_frames_of *of,
		       const struct record *r, uint32_t *ret)
{
	struct op_resource resource = { .pid = r->header.pid };

	if (of->program)
		return op_program_resource(sampler->processes, of->program, of->layout,
					   &r->header, of->window, ret);
	return op_window_resource(of->window, &resource, ret);
}

/* The sample of @stack as it goes into the window. */
static int make_sample(struct op_sampler *sampler, const struct op_frames_of *of,
		       const struct record *r, uint32_t stack,
		       struct op_window_sample *ret)
{
	const struct op_record *h = &r->header;
	const struct op_kind *kind = op_kind_of(h->event);
	struct op_window_sample sample = {
		.event = h->event,
		.stack = stack,
		.tid = h->tid,
		.cpu = h->cpu,
		.time_ns = h->time_ns + (uint64_t)op_processes_config(sampler->processes)
						->realtime_offset_ns,
		.value = (int64_t)h->value,
		.count = kind && kind->count ? kind->count(h->value) : 1,
	};
	int e;

	if (kind && kind->rows_len && kind->rows[0].period == OP_OTLP_PERIOD_WINDOW) {
		sample.period_ns = (uint32_t)h->value;
		sample.value = 0;
	}

	e = resource_of(sampler, of, r, &sample.resource);
	if (e == 0)
		e = op_window_string(of->window, h->comm,
				     strnlen(h->comm, sizeof(h->comm)), &sample.comm);
	if (e == 0)
		e = op_labels_type(sampler, h, of->window, &sample);
	if (e == 0)
		e = op_labels_add(sampler, h, r->extra, of->window, &sample.labels);
	if (e == 0) {
		if (!op_contexts_apply(&sampler->contexts, of->program, &r->context,
				       of->window, &sample))
			sampler->announce_again = true;
		*ret = sample;
	}
	return e;
}

/* The record has been taken apart: find whose it is, and its stack. */
static int resolve(struct op_sampler *sampler, struct record *r, struct op_window *window,
		   struct op_window_sample *ret)
{
	struct op_frames_of of = { .window = window };
	struct op_proc *proc;
	uint32_t generation;
	uint32_t stack;
	int e;

	op_processes_advance(sampler->processes, r->header.time_ns);
	proc = op_table_of_record(sampler->processes, &r->header);
	locate(proc, r, &of, &generation);
	if (r->header.end == OP_END_UNKNOWN)
		e = first_stack(sampler, proc, &of, r, &stack);
	else
		e = find_stack(sampler, &of, r, generation, &stack);
	if (e == 0 && r->header.end != OP_END_UNKNOWN)
		op_ended_add(&sampler->ended, of.layout, r->header.end, r->header.end_pc,
			     r->words + r->header.kernel_count, r->header.user_words);
	return e < 0 ? e : make_sample(sampler, &of, r, stack, ret);
}

static int add_record(struct op_sampler *sampler, struct record *r,
		      struct op_window *window)
{
	struct op_window_sample sample;
	int e = resolve(sampler, r, window, &sample);

	if (e == 0)
		e = op_window_add(window, &sample);
	if (e == 0 && r->header.event == sampler->watched && sampler->watch)
		sampler->watch(sampler->watch_ctx, &r->header, window, &sample);
	return e;
}

int op_sampler_thread(struct op_sampler *sampler, const void *record, size_t len,
		      bool late, struct op_window *window, struct op_window_sample *ret)
{
	struct record r;
	int e = take_apart(sampler, record, len, &r);

	if (e < 0)
		return e;
	r.live = !late;
	if (r.header.detail == OP_THREAD_RUNNING)
		r.header.end = OP_END_RUNNING;
	else if (late && r.header.end == OP_END_UNKNOWN)
		r.header.end = OP_ERROR_native_late;
	return resolve(sampler, &r, window, ret);
}

int op_sampler_running(struct op_sampler *sampler, struct op_window *window,
		       uint32_t *ret_stack)
{
	size_t len = 0;
	int e = op_stack_add_end(sampler, window, OP_END_RUNNING, &len);

	return e < 0 ? e : op_window_stack(window, sampler->locations, len, ret_stack);
}

static int take_sample(struct op_sampler *sampler, const void *record, size_t len,
		       struct op_window *window)
{
	struct record r;
	int e = take_apart(sampler, record, len, &r);

	return e < 0 ? e : add_record(sampler, &r, window);
}

/* Keep an announced stack. One that cannot be kept is lost to the samples that name it. */
static int take_stack(struct op_sampler *sampler, const void *record, size_t len)
{
	struct record r;
	int e = take_apart(sampler, record, len, &r);

	return e < 0 ? e
		     : op_announced_add(&sampler->announced, &r.header.hash, record, len);
}

/* A sample of a stack that was announced. Without the announcement it has one frame, which
 * says so. */
static int take_named(struct op_sampler *sampler, const void *record, size_t len,
		      struct op_window *window)
{
	struct record r = { .header.end = OP_END_NO_STACK,
			    .words = sampler->words + KEY_WORDS };
	struct op_record *h = &r.header;
	const void *stack;
	struct op_named n;
	size_t stack_len;
	int e = 0;

	if (len < sizeof(n))
		return -EBADMSG;
	memcpy(&n, record, sizeof(n));
	if (n.event >= OP_EVENT_MAX)
		return -EBADMSG;
	stack = op_announced_find(&sampler->announced, &n.hash, &stack_len);
	if (stack) {
		e = take_apart(sampler, stack, stack_len, &r);
	} else {
		sampler->announcements_lost++;
		sampler->announce_again = true;
	}
	if (e < 0)
		return e;
	e = op_contexts_read((const uint8_t *)record + sizeof(n), len - sizeof(n),
			     n.context_bytes, &r.context);
	if (e < 0)
		return e;
	h->time_ns = n.time_ns;
	h->value = n.value;
	h->cgroup = n.cgroup;
	h->pid = n.pid;
	h->tid = n.tid;
	h->cpu = (uint16_t)n.cpu;
	h->event = n.event;
	h->detail = n.detail;
	r.extra = n.extra;
	memcpy(h->comm, n.comm, sizeof(h->comm));
	return add_record(sampler, &r, window);
}

static int take_request(struct op_sampler *sampler, const void *record, size_t len)
{
	struct op_table_request q;
	struct op_proc *proc;

	if (len < sizeof(q))
		return -EBADMSG;
	memcpy(&q, record, sizeof(q));
	proc = op_table_find_alive(sampler->processes, q.pid);
	sampler->news = true;
	return proc ? op_deferred_make(sampler, proc, q.pc) : 0;
}

int op_sampler_join(struct op_sampler *sampler, const void *record, size_t len,
		    void **ret, size_t *ret_len)
{
	_cleanup_free_ uint8_t *stack = NULL;
	_cleanup_free_ uint8_t *whole = NULL;
	struct op_record header;
	struct record r;
	const uint8_t *root;
	size_t root_len = 0;
	uint64_t root_at;
	size_t stack_len;
	size_t before;
	uint8_t *end;

	if (len < sizeof(header) || take_apart(sampler, record, len, &r) < 0 || !r.stack)
		return 0;
	root = op_above_root(&sampler->above, &r.header, &root_at, &root_len);
	stack = op_above_take(&sampler->above, &r.header,
			      r.registers.sp - r.header.stack_below, r.stack,
			      r.header.stack_bytes, &stack_len);
	if (!stack)
		stack_len = r.header.stack_bytes;
	if ((!stack && !root) || stack_len > UINT16_MAX)
		return 0;
	before = (size_t)(r.stack - (const uint8_t *)record);
	whole = malloc(before + stack_len + sizeof(root_at) + root_len);
	if (!whole)
		return 0;
	memcpy(whole, record, before);
	memcpy(whole + before, stack ? stack : r.stack, stack_len);
	end = whole + before + stack_len;
	if (root) {
		memcpy(end, &root_at, sizeof(root_at));
		memcpy(end + sizeof(root_at), root, root_len);
		end += sizeof(root_at) + root_len;
	}
	memcpy(&header, record, sizeof(header));
	header.stack_bytes = (uint16_t)stack_len;
	header.header.bytes = (uint32_t)(end - whole);
	memcpy(whole, &header, sizeof(header));
	*ret_len = (size_t)(end - whole);
	*ret = OP_TAKE_PTR(whole);
	return 1;
}

int op_sampler_add_record(struct op_sampler *sampler, const void *record, size_t len,
			  struct op_window *window)
{
	struct op_record_header h;

	if (len < sizeof(h))
		return -EBADMSG;
	memcpy(&h, record, sizeof(h));
	if (h.bytes < sizeof(h) || h.bytes > len)
		return -EBADMSG;
	if (op_processes_is_forked(sampler->processes))
		return -ECHILD;
	if (h.version != OP_RECORD_VERSION)
		return -EPROTO;
	switch (h.type) {
	case OP_RECORD_SAMPLE:
		return take_sample(sampler, record, h.bytes, window);
	case OP_RECORD_STACK:
		return take_stack(sampler, record, h.bytes);
	case OP_RECORD_NAMED:
		return take_named(sampler, record, h.bytes, window);
	case OP_RECORD_REQUEST:
		return take_request(sampler, record, h.bytes);
	case OP_RECORD_ABOVE:
		return op_above_add(&sampler->above, record, h.bytes);
	case OP_RECORD_LABELS:
		return op_contexts_announce(&sampler->contexts, record, h.bytes);
	case OP_RECORD_ROOT:
		return op_above_add_root(&sampler->above, record, h.bytes);
	default:
		return -EPROTO;
	}
}
