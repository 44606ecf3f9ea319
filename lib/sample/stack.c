/* SPDX-License-Identifier: Apache-2.0 */
#include "sample/stack.h"

#include <string.h>

#include "base/macros.h"
#include "process/generation.h"
#include "process/program.h"
#include "sample/deferred.h"
#include "sample/state.h"

enum {
	KEY_WORDS = 2,	   /* before the words of a stack */
	REPEATS_AFTER = 2, /* frames between a function and code that repeats its name */
};

/* Bits of a key's second word, above a change's number and the end. The first: no record has it. */
static const uint64_t NOT_OF_A_RECORD = UINT64_C(1) << 63;
static const uint64_t OF_CALLERS = UINT64_C(1) << 62;

/*
 * How many words to leave out at the start of @left words, @before words after the
 * leaf. The number of frames kept above does not depend on the depth of the stack, so
 * that all stacks of one recursion share them. All words of a runtime's frame are left
 * out together.
 */
static size_t left_out(const uint64_t *words, size_t before, size_t left)
{
	size_t keep = before / 2 ? before / 2 - 1 : 0;
	size_t out;

	for (out = 1; out < left && left - out > keep;)
		out += op_frame_words(words[out]);
	return OP_MIN(out, left);
}

/* The location of the frame at @words. Returns as op_frames_native() does. */
static int add_frame(struct op_sampler *sampler, const struct op_frames_of *of,
		     const uint64_t *words, size_t before, size_t len, size_t *ret_used,
		     uint32_t *ret)
{
	unsigned int kind = (unsigned int)(words[0] >> OP_FRAME_KIND_SHIFT);

	if (kind == OP_FRAME_LEFT_OUT) {
		*ret_used = left_out(words, before, len);
		return op_frames_left_out(sampler, of->window, ret);
	}
	*ret_used = OP_MIN((size_t)op_frame_words(words[0]), len);
	if (kind < OP_FRAME_NATIVE_KINDS)
		return op_frames_native(sampler, of, words[0] & OP_FRAME_ADDRESS_MASK,
					(enum op_frame_kind)kind, ret);
	return op_frames_runtime(sampler, of, words, *ret_used, ret);
}

int op_stack_add_user(struct op_sampler *sampler, const struct op_frames_of *of,
		      const uint64_t *words, size_t left, struct op_thread_cache *callers,
		      size_t *len)
{
	const uint64_t *leaf = words;
	bool unknown = false;
	size_t since = SIZE_MAX; /* frames since one of a runtime */
	size_t used;
	int r = 0;

	for (; left; words += used, left -= used) {
		uint32_t *location = &sampler->locations[*len];
		size_t known =
			callers ? op_thread_cache_rest(callers, left, location) : 0;

		*len += known;
		if (known)
			break;
		r = add_frame(sampler, of, words, (size_t)(words - leaf), left, &used,
			      location);
		if (r < 0)
			break;
		unknown = unknown || r == OP_FRAMES_UNKNOWN;
		if (r == OP_FRAMES_REPEATS && since < REPEATS_AFTER)
			*location = 0;
		if (callers)
			op_thread_cache_keep(callers, left, used, *location);
		*len += *location != 0;
		if (words[0] >> OP_FRAME_KIND_SHIFT >= OP_FRAME_NATIVE_KINDS)
			since = 0;
		else if (since != SIZE_MAX)
			since++;
	}
	sampler->nameless = unknown;
	if (callers && (unknown || r < 0))
		op_thread_cache_forget(callers);
	return r < 0 ? r : 0;
}

int op_stack_add_end(struct op_sampler *sampler, struct op_window *window,
		     unsigned int end, size_t *len)
{
	uint32_t *location = &sampler->locations[*len];
	int r = op_frames_end(sampler, window, end, location);

	if (r == 0 && *location)
		(*len)++;
	return r;
}

/* Set the key's words for a stack of @view, whose words have a meaning only while these
 * mappings are published and did not change. */
static void set_meaning(struct op_sampler *sampler, const struct op_proc_view *view,
			uint64_t flags, unsigned int end)
{
	sampler->words[0] = (uint64_t)view->generation << 32 | view->program->pid;
	sampler->words[1] = flags | (uint64_t)view->change_number << 16 | end;
}

/* The number of the last walked stack, from the cache. */
static int name_walked(struct op_sampler *sampler, const struct op_frames_of *of,
		       const struct op_proc_view *view, uint32_t *ret)
{
	const struct op_unwind_result *s = sampler->host_stack;
	size_t words = OP_MIN(s->words, (uint32_t)OP_USER_WORDS_MAX);
	uint32_t epoch = op_window_epoch(of->window);
	struct op_cache_key key;
	size_t len = 0;
	int r;

	set_meaning(sampler, view, NOT_OF_A_RECORD, s->end);
	memcpy(sampler->words + KEY_WORDS, s->word, words * sizeof(*s->word));
	key = op_cache_key(&sampler->stacks, sampler->words, KEY_WORDS + words);
	if (op_cache_find(&sampler->stacks, epoch, &key, ret))
		return 0;
	r = op_stack_add_user(sampler, of, s->word, words, NULL, &len);
	if (r == 0)
		r = op_stack_add_end(sampler, of->window, s->end, &len);
	if (r == 0)
		r = op_window_stack(of->window, sampler->locations, len, ret);
	if (r == 0 && !sampler->nameless && view->generation)
		op_cache_add(&sampler->stacks, &key, *ret);
	return r;
}

int op_sampler_stack(struct op_sampler *sampler, struct op_proc *proc,
		     const struct op_sampler_stack *stack, struct op_window *window,
		     uint32_t *ret)
{
	const struct op_unwind_result *s = sampler->host_stack;
	struct op_frames_of of = { .window = window };
	const struct op_deferred deferred = { .registers = stack->registers,
					      .stack = stack->bytes,
					      .stack_len = stack->len,
					      .stack_below = stack->below,
					      .is_caller = stack->is_caller };
	struct op_proc_view view;
	int r = op_deferred_unwind(sampler, proc, &deferred);

	if (r < 0)
		return r;
	view = op_proc_view_now(proc);
	of.program = view.program;
	of.mappings = view.mappings;
	r = name_walked(sampler, &of, &view, ret);
	if (r < 0)
		return r;
	if (s->end < OP_ERROR_LIMIT)
		sampler->ends[s->end]++;
	op_ended_add(&sampler->ended, of.mappings, s->end, s->end_pc, s->word,
		     OP_MIN(s->words, (uint32_t)OP_USER_WORDS_MAX));
	return 0;
}

/* The location of an innermost inlined call has the calls around it, too. */
static int add_callers(struct op_sampler *sampler, const struct op_frames_of *of,
		       const uint64_t *pcs, size_t pcs_len, size_t *len)
{
	uint32_t left = 0; /* functions of the last location that may be repeated */
	uint32_t last = 0;
	size_t i;

	for (i = 0; i < pcs_len; i++) {
		uint32_t *location = &sampler->locations[*len];
		int r = op_frames_native(sampler, of, pcs[i] & OP_FRAME_ADDRESS_MASK,
					 OP_FRAME_NATIVE, location);

		if (r < 0)
			return r;
		left = last ? op_window_inlined(of->window, last, left, *location) : 0;
		if (left)
			continue;
		last = *location;
		left = UINT32_MAX;
		(*len)++;
	}
	return 0;
}

int op_sampler_callers(struct op_sampler *sampler, struct op_proc *proc,
		       const uint64_t *pcs, size_t len, bool truncated,
		       struct op_window *window, uint32_t *ret)
{
	struct op_proc_view view = op_proc_view_now(proc);
	const struct op_frames_of of = { .program = view.program,
					 .mappings = view.mappings,
					 .window = window };
	unsigned int end = truncated ? OP_END_TRUNCATED : OP_END_COMPLETE;
	uint32_t epoch = op_window_epoch(window);
	struct op_cache_key key;
	size_t named = 0;
	int r;

	len = OP_MIN(len, (size_t)OP_FRAMES_MAX);
	set_meaning(sampler, &view, NOT_OF_A_RECORD | OF_CALLERS, end);
	memcpy(sampler->words + KEY_WORDS, pcs, len * sizeof(*pcs));
	key = op_cache_key(&sampler->stacks, sampler->words, KEY_WORDS + len);
	if (op_cache_find(&sampler->stacks, epoch, &key, ret))
		return 0;
	r = add_callers(sampler, &of, pcs, len, &named);
	if (r == 0)
		r = op_stack_add_end(sampler, window, end, &named);
	if (r == 0)
		r = op_window_stack(window, sampler->locations, named, ret);
	if (r == 0 && view.generation)
		op_cache_add(&sampler->stacks, &key, *ret);
	return r;
}
