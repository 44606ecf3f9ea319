/* SPDX-License-Identifier: Apache-2.0 */
#include "sample/deferred.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/checked.h"
#include "base/cleanup.h"
#include "base/macros.h"
#include "process/evict.h"
#include "process/generation.h"
#include "process/mappings/mappings.h"
#include "process/program.h"
#include "process/publish.h"
#include "process/registry.h"
#include "sample/state.h"

enum {
	/* Tables made for one record: executables on one stack that no earlier sample
	 * needed. */
	ROUNDS_MAX = 64,
	/* The copied top of a suspended thread's stack begins 256 bytes below sp. A
	 * walk's window begins less far below sp. */
	TOP_BYTES = 32768,
	TOP_BELOW = 256,
};

/*
 * How far above sp its stack may reach (the default limit of a stack). The thread may
 * have run on since the copy was made. Memory above the copy is read only if
 * still_there() has checked that it did not change. For another stack, such as the one
 * below a signal stack, that check is not possible.
 */
static const uint64_t STACK_SPAN = UINT64_C(8) << 20;
/* Below sp: the red zone, and what a leaf without a frame may use. */
static const uint64_t STACK_BELOW = 4096;

/* The memory of a process when the copy was made: the copied stack, and memory that
 * does not change. */
struct copy {
	struct op_memory memory;      /* all of it */
	struct op_memory stack;	      /* its stacks */
	const struct op_memory *live; /* heap objects of interpreters, which may change */
	const uint8_t *bytes;
	uint64_t at; /* where the copy begins: sp, or a little below */
	size_t len;
	size_t unread;	     /* bytes at its start that could not be read */
	const uint8_t *root; /* the base of the stack; NULL: not copied separately */
	uint64_t root_at;
	size_t root_len;
	bool still;    /* the thread does not run: nothing has changed */
	bool beyond;   /* the stack above the copy is read as it is now */
	bool *ran_out; /* a read above the copy failed */
};

static size_t to_page_end(uint64_t at)
{
	return OP_COPY_PAGE_BYTES - (size_t)(at & (OP_COPY_PAGE_BYTES - 1));
}

/*
 * Does [@off, @off + @len) of @bytes, which were at address @at, touch a page that is
 * all zero? Such a page has no frame, because it was never written or not copied. Pages
 * that are only partly in the copy, such as that of sp, are not judged.
 */
static bool touches_hole(const uint8_t *bytes, uint64_t at, size_t bytes_len, size_t off,
			 size_t len)
{
	size_t into = (size_t)((at + off) & (OP_COPY_PAGE_BYTES - 1));
	size_t begin = off - OP_MIN(off, into);

	for (; begin < off + len; begin += to_page_end(at + begin))
		if (to_page_end(at + begin) == OP_COPY_PAGE_BYTES &&
		    bytes_len - begin >= OP_COPY_PAGE_BYTES && !bytes[begin] &&
		    memcmp(bytes + begin, bytes + begin + 1, OP_COPY_PAGE_BYTES - 1) == 0)
			return true;
	return false;
}

/* Read from the copy. Returns false if not all of it was copied. */
static bool read_copied(const struct copy *c, uint64_t addr, void *buf, size_t len)
{
	const uint8_t *bytes = c->bytes;
	size_t bytes_len = c->len;
	size_t unread = c->unread;
	uint64_t at = c->at;

	if (c->root && addr >= c->root_at) {
		bytes = c->root;
		bytes_len = c->root_len;
		at = c->root_at;
		unread = 0;
	}
	if (addr < at || addr - at < unread || !op_range_ok(addr - at, len, bytes_len) ||
	    touches_hole(bytes, at, bytes_len, (size_t)(addr - at), len))
		return false;
	memcpy(buf, bytes + (addr - at), len);
	return true;
}

static int read_stack(const struct copy *c, uint64_t addr, void *buf, size_t len)
{
	if (read_copied(c, addr, buf, len))
		return 0;
	if (c->still || (c->beyond && addr >= c->at && addr - c->at < STACK_SPAN))
		return op_memory_read(c->live, addr, buf, len);
	*c->ran_out = true;
	return -EFAULT;
}

static int copy_read_stack(const struct op_memory *memory, uint64_t addr, void *buf,
			   size_t len)
{
	return read_stack(op_container_of(memory, struct copy, stack), addr, buf, len);
}

static int copy_read(const struct op_memory *memory, uint64_t addr, void *buf, size_t len)
{
	const struct copy *c = op_container_of(memory, struct copy, memory);
	uint64_t low = c->at > STACK_BELOW ? c->at - STACK_BELOW : 0;

	if (addr >= low && addr - low < STACK_SPAN + STACK_BELOW)
		return read_stack(c, addr, buf, len);
	return op_memory_read(c->live, addr, buf, len);
}

void op_deferred_leaf(struct op_sampler *sampler, const struct op_registers *registers)
{
	struct op_unwind_result *s = sampler->host_stack;

	s->words = 1;
	s->frames = 1;
	s->end = OP_ERROR_native_no_mapping;
	s->end_pc = registers->pc;
	s->word[0] = (uint64_t)OP_FRAME_NATIVE_EXACT << OP_FRAME_KIND_SHIFT |
		     (registers->pc & OP_FRAME_ADDRESS_MASK);
}

/* Is the rule of @pc, or of the call before it, known without the table? */
static bool knows_rule(const struct op_mapping *v, uint64_t pc)
{
	struct op_unwind_rule rule;

	return op_evict_rule(v, pc, &rule) || op_evict_rule(v, pc - 1, &rule);
}

/* Publish the pages of @pc and of the call before it. Returns whether one of them is
 * published. */
static bool has_page(struct op_sampler *sampler, const struct op_mapping *v, uint64_t pc)
{
	bool here = op_evict_page(sampler->processes, v, pc);

	return op_evict_page(sampler->processes, v, pc - 1) || here;
}

/* The mapping of @pc that waits for its table, or NULL. A return address may be the first byte
 * after its mapping, so the byte before counts, too. */
static const struct op_mapping *find_lazy(const struct op_mappings *mappings, uint64_t pc)
{
	const struct op_mapping *v = op_mappings_find(mappings, pc);

	if ((!v || !op_evict_waits(v)) && pc)
		v = op_mappings_find(mappings, pc - 1);
	return v && op_evict_waits(v) ? v : NULL;
}

/*
 * Make the table for @pc. While that is in progress, publish single rules, but not that
 * of *@told again. Returns 1 if a new walk may go further; 0; -EINPROGRESS.
 */
static int make_for(struct op_sampler *sampler, struct op_proc *proc, uint64_t pc,
		    uint64_t *told)
{
	struct op_proc_view view = op_proc_view_now(proc);
	const struct op_mapping *v = find_lazy(view.mappings, pc);
	int r;

	if (!v)
		return 0;
	/* After a failure the mapping is walked by frame pointers for a while, if the
	 * process still runs. */
	r = op_evict_make_table(sampler->processes, view.program, v);
	if (r == -EINPROGRESS && op_mapping_is_doubted(v)) {
		/* its file was opened only here: this compares it */
		(void)op_publish(sampler->processes, proc, false);
		v = find_lazy(op_proc_view_now(proc).mappings, pc);
		if (!v)
			return 1;
	}
	if (r == -EINPROGRESS && pc != *told && has_page(sampler, v, pc)) {
		*told = pc;
		return 1;
	}
	if (r == -EINPROGRESS && (pc == *told || !knows_rule(v, pc)))
		return r;
	*told = pc;
	return r >= 0 || r == -EINPROGRESS || !view.program->until_ns;
}

/* A walk of one record. */
struct walk {
	struct op_sampler *sampler;
	struct op_proc *proc;
	const struct op_deferred *deferred;
	struct copy copy;
	bool ran_out;
	bool late; /* there was no time for a missing table */
};

static bool direct_rule(void *ctx, uint64_t pc, struct op_unwind_rule *ret)
{
	const struct walk *w = ctx;
	const struct op_mapping *v =
		op_mappings_find(op_proc_view_now(w->proc).mappings, pc);

	if (!v)
		return false;
	/* keep the work for later samples */
	(void)op_evict_page(w->sampler->processes, v, pc);
	return op_evict_rule(v, pc, ret);
}

static int unwind_once(struct walk *w)
{
	struct op_unwind_input input = {
		.arena = op_processes_config(w->sampler->processes)->arena,
		.rules = w->sampler->config.rules,
		.process = op_proc_view_published_now(w->proc),
		.registers = w->deferred->registers,
		.memory = &w->copy.memory,
		.stack = &w->copy.stack,
		.words = w->deferred->words,
		.words_len = (uint32_t)w->deferred->words_len,
		.frames = w->deferred->frames,
		.is_caller = w->deferred->is_caller,
		.heap_moved = !w->deferred->live,
		.chain = w->deferred->chain,
		.chain_len = w->deferred->chain_len,
		.direct = direct_rule,
		.direct_ctx = w,
	};

	w->ran_out = false;
	return op_unwind_host(&input, w->sampler->host_stack);
}

/* The walk has used up its time. Give the missing table a little more, so that the next
 * try, which starts again, gets further than this one. */
static void lengthen(struct op_sampler *sampler)
{
	struct op_allowance *a = op_processes_config(sampler->processes)->allowance;

	if (!op_sampler_hurries(sampler) && op_allowance_is_over(a))
		op_allowance_until(a, op_allowance_now(a) +
					      op_allowance_share(a, OP_POLL_LEAST));
}

/* Walk, make the missing table, and walk again. @pc: a place whose table is known to be
 * missing. */
static int unwind(struct walk *w, uint64_t pc)
{
	uint64_t told = 0;
	int round;
	int r = 0;

	for (round = 0; round < ROUNDS_MAX; round++) {
		int made;

		if (round == 1)
			lengthen(w->sampler);
		made = make_for(w->sampler, w->proc, pc, &told);
		if (made < 0 && !op_sampler_hurries(w->sampler))
			return made;
		w->late = made < 0;
		r = op_publish(w->sampler->processes, w->proc, false);
		if (r == 0 && !op_proc_view_published_now(w->proc))
			r = -ENOENT; /* no mapping is known */
		if (r < 0 || (round && made <= 0))
			break;
		r = unwind_once(w);
		if (r < 0 || w->sampler->host_stack->end != OP_END_UNKNOWN)
			break;
		pc = w->sampler->host_stack->end_pc;
	}
	return r;
}

/* Did the walk end because the copy did? */
static bool is_cut(const struct walk *w)
{
	return w->ran_out && w->sampler->host_stack->end >= OP_END_MAX;
}

/* Is what was copied from @addr on, up to a page that was not copied, the same now? */
static bool is_unchanged(const struct copy *c, uint64_t addr)
{
	uint8_t then[OP_COPY_PAGE_BYTES];
	uint8_t now[OP_COPY_PAGE_BYTES];
	uint64_t end = c->at + c->len;

	while (addr < end) {
		size_t len = OP_MIN(to_page_end(addr), (size_t)(end - addr));

		if (!read_copied(c, addr, then, len))
			break;
		if (op_memory_read(c->live, addr, now, len) ||
		    memcmp(then, now, len) != 0)
			return false;
		addr += len;
	}
	return true;
}

/*
 * Is the thread still in the call of the copy's outermost frame? Compare the return
 * address of that call, which is below the frame, and the copied part of the frame with
 * the present ones. In a later call they may be the same by chance.
 */
static bool still_there(const struct walk *w, uint64_t end_sp)
{
	const struct copy *c = &w->copy;
	uint64_t then = w->deferred->registers->pc;
	uint64_t now;

	if (end_sp == w->deferred->registers->sp) {
		if (!w->deferred->is_caller)
			return false;
	} else if (!read_copied(c, end_sp - sizeof(then), &then, sizeof(then))) {
		return false;
	}
	return op_memory_read(c->live, end_sp - sizeof(now), &now, sizeof(now)) == 0 &&
	       now == then && is_unchanged(c, end_sp);
}

/* Mark the return addresses from word @from on as guessed. Returns false if there is none. */
static bool mark_guessed(struct op_unwind_result *s, uint32_t from)
{
	static const uint64_t guessed = (uint64_t)OP_FRAME_NATIVE_GUESSED
					<< OP_FRAME_KIND_SHIFT;
	uint32_t words = OP_MIN(s->words, (uint32_t)OP_USER_WORDS_MAX);
	bool marked = false;
	uint32_t i;

	for (i = 0; i < words; i += op_frame_words(s->word[i])) {
		if (i < from || s->word[i] >> OP_FRAME_KIND_SHIFT != OP_FRAME_NATIVE)
			continue;
		s->word[i] |= guessed;
		marked = true;
	}
	return marked;
}

/* The stack continues above the copy: read the present memory if it has not changed. It may
 * be that of a later call, so these frames are guesses. */
static int finish_live(struct walk *w)
{
	uint64_t end_sp = w->sampler->host_stack->end_sp;
	uint32_t words = w->sampler->host_stack->words;
	int r;

	if (!still_there(w, end_sp))
		return 0;
	w->copy.beyond = true;
	r = unwind(w, 0);
	if (r == 0 && still_there(w, end_sp) &&
	    mark_guessed(w->sampler->host_stack, words))
		return 0;
	/* It changed during the read. */
	w->copy.beyond = false;
	return r == -ENOMEM || r == -EINPROGRESS ? r : unwind(w, 0);
}

/* Is @pc, or the call before it, in no known mapping? Then no event reported that code,
 * such as after mremap(2). */
static bool is_unmapped(const struct op_proc *proc, uint64_t pc)
{
	return pc && !op_mappings_has_pc(op_proc_view_now(proc).mappings, pc);
}

/* Is @pc in no known mapping, and were the maps of @proc read now? Returns 1, 0, or -EINPROGRESS if
 * they are read soon. */
static int look_for(struct op_sampler *sampler, struct op_proc *proc, uint64_t pc)
{
	const struct op_look look = { .pc = pc };
	int r = is_unmapped(proc, pc)
			? op_registry_look_again(sampler->processes, proc, &look)
			: 0;

	return r < 0 && op_sampler_hurries(sampler) ? 0 : r;
}

/* Report "cut", not "unreadable", if the stack continues above the copy. */
static void finish(const struct walk *w)
{
	struct op_unwind_result *s = w->sampler->host_stack;

	if (s->end == OP_END_UNKNOWN)
		s->end = w->late || !is_unmapped(w->proc, s->end_pc)
				 ? OP_ERROR_native_no_time
				 : OP_ERROR_native_no_mapping;
	else if (is_cut(w))
		s->end = OP_END_TRUNCATED;
}

/* No mapping is known: give the kernel's frames, or only the pc. */
static void give_up(struct op_sampler *sampler, const struct op_deferred *deferred)
{
	struct op_unwind_result *s = sampler->host_stack;

	op_deferred_leaf(sampler, deferred->registers);
	if (!deferred->words_len || deferred->words_len > OP_USER_WORDS_MAX)
		return;
	memcpy(s->word, deferred->words, deferred->words_len * sizeof(*s->word));
	s->words = (uint32_t)deferred->words_len;
	s->frames = deferred->frames;
}

/*
 * For a suspended thread: read the top of its stack at once, as much as there is, because
 * each read takes a switch to another process. Memory above it is read when needed.
 */
static void copy_top(struct copy *c, uint64_t sp, uint8_t buffer[static TOP_BYTES])
{
	static const size_t sizes[] = { TOP_BYTES, TOP_BYTES * 3 / 4, TOP_BYTES / 2,
					TOP_BYTES / 4 };
	size_t i;

	if (sp < TOP_BELOW)
		return;
	c->at = sp - TOP_BELOW;
	for (i = 0; i < OP_ARRAY_SIZE(sizes); i++)
		if (op_memory_read(c->live, c->at, buffer, sizes[i]) == 0) {
			c->bytes = buffer;
			c->len = sizes[i];
			return;
		}
}

int op_deferred_unwind(struct op_sampler *sampler, struct op_proc *proc,
		       const struct op_deferred *deferred)
{
	const struct op_program *program = op_proc_view_now(proc).program;
	uint64_t at = deferred->registers->sp - deferred->stack_below;
	struct walk w = {
		.sampler = sampler,
		.proc = proc,
		.deferred = deferred,
		.copy = { .memory.read = copy_read,
			  .stack.read = copy_read_stack,
			  .live = &program->memory.memory,
			  .bytes = deferred->stack,
			  .at = at,
			  .len = deferred->stack_len,
			  .unread = deferred->unread ? to_page_end(at) : 0,
			  .root = deferred->root,
			  .root_at = deferred->root_at,
			  .root_len = deferred->root_len,
			  .still = deferred->live },
	};
	_cleanup_free_ uint8_t *top = deferred->live ? malloc(TOP_BYTES) : NULL;
	uint64_t told = 0;
	int r;

	if (op_registry_is_unread(proc) && !op_sampler_hurries(sampler))
		return -EINPROGRESS;
	if (top)
		copy_top(&w.copy, deferred->registers->sp, top);
	w.copy.ran_out = &w.ran_out;
	(void)op_publish(sampler->processes, proc, false);
	/* Pages that the kernel missed may be above the copy's end, so this check comes
	 * first. */
	r = deferred->end_pc ? make_for(sampler, proc, deferred->end_pc, &told) : 0;
	if (r != -EINPROGRESS || op_sampler_hurries(sampler))
		r = unwind(&w, deferred->registers->pc);
	if (r == 0 && sampler->host_stack->end == OP_ERROR_native_no_mapping) {
		r = look_for(sampler, proc, sampler->host_stack->end_pc);
		if (r > 0)
			r = unwind(&w, deferred->registers->pc);
	}
	if (r == 0 && is_cut(&w))
		r = finish_live(&w);
	if (r == -ENOMEM)
		return r;
	if (r != -EINPROGRESS) {
		if (r < 0 || !sampler->host_stack->words)
			give_up(sampler, deferred);
		finish(&w);
	}
	if (program->until_ns)
		return r == -EINPROGRESS ? r : 0;
	/* The kernel may still use a generation that was replaced here. The work so far
	 * serves later samples. */
	if (op_publish(sampler->processes, proc, true) < 0)
		op_unpublish(sampler->processes, proc);
	return r == -EINPROGRESS ? r : 0;
}

int op_deferred_make(struct op_sampler *sampler, struct op_proc *proc, uint64_t pc)
{
	uint64_t told = 0;

	(void)look_for(sampler, proc, pc);
	(void)op_publish(sampler->processes, proc, false);
	if (make_for(sampler, proc, pc, &told) == -EINPROGRESS)
		return -EINPROGRESS;
	if (op_publish(sampler->processes, proc, true) < 0)
		op_unpublish(sampler->processes, proc);
	return 0;
}

void op_deferred_page(struct op_sampler *sampler, struct op_proc *proc, uint64_t pc)
{
	struct op_allowance *allowance =
		op_processes_config(sampler->processes)->allowance;
	struct op_proc_view view = op_proc_view_now(proc);
	const struct op_mapping *v = find_lazy(view.mappings, pc);

	if (v && !view.program->until_ns && !op_allowance_is_over(allowance) &&
	    !has_page(sampler, v, pc))
		(void)op_deferred_make(sampler, proc, pc);
}
