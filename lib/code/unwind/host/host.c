/* SPDX-License-Identifier: Apache-2.0 */
#include "code/unwind/host.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/macros.h"

/* The sources of bpf/ are written for clang's BPF target. */
#if defined(__x86_64__)
#define __TARGET_ARCH_x86
#elif defined(__aarch64__)
#define __TARGET_ARCH_arm64
#endif
#ifndef __always_inline
#define __always_inline inline __attribute__((always_inline))
#endif

#include "bpf/walk/fold.h"
#include "bpf/walk/step.h"

static void host_prepare(struct op_unwind *u, const struct op_unwind_input *input)
{
	const struct op_registers *r = input->registers;
	__u64 words;

	u->pc = r->pc;
	u->sp = r->sp;
	u->fp = r->fp;
	u->lr = r->lr;
	memcpy(u->reg, r->reg, sizeof(u->reg));
	u->process.thread_pointer = r->thread_pointer;
	u->process.task_size = r->task_size;
	op_walk_begin(u);
	u->exact = !input->is_caller;
	u->kept_lost = input->is_caller;
	u->heap_moved = input->heap_moved;
	u->out.words = input->words_len;
	u->out.frames = input->frames;
	u->out.max_frames = input->max_frames ? input->max_frames : OP_FRAMES_MAX;
	u->process.at = input->process;
	words = op_arena_u64(u, input->process, 0);
	u->process.mapping_count = (__u32)(words >> 32);
	words = op_arena_u64(u, input->process, 8);
	u->process.starts = (op_ref)words;
	u->process.mappings = (op_ref)(words >> 32);
	u->end = OP_END_TRUNCATED;
}

int op_unwind_host(const struct op_unwind_input *input, struct op_unwind_result *ret)
{
	_cleanup_free_ struct op_unwind *u = calloc(1, sizeof(*u));
	_cleanup_free_ uint64_t *words = calloc(OP_WORDS_MAX, sizeof(*words));
	struct op_unwind_context context = { .input = input,
					     .words = words,
					     .chain = { .bytes = input->chain,
							.len = input->chain_len } };
	int steps = OP_DEEP_STEPS_MAX;

	if (!u || !words)
		return -ENOMEM;
	u->platform = (uintptr_t)&context;
	if (input->words_len > OP_USER_WORDS_MAX)
		return -EINVAL;
	host_prepare(u, input);
	if (input->words_len)
		memcpy(words, input->words, input->words_len * sizeof(*words));
	while (steps-- > 0)
		if (op_step(u, ~0ULL) != OP_NEXT_CONTINUE && !op_fold(u))
			break;
	ret->words = u->out.words;
	ret->frames = u->out.frames;
	ret->end = u->end;
	ret->end_pc = u->end_pc;
	ret->end_sp = u->sp;
	memcpy(ret->word, words,
	       OP_MIN(u->out.words, (uint32_t)OP_USER_WORDS_MAX) * sizeof(*words));
	return 0;
}
