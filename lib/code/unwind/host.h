/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The programs' unwinder in user space: the sources of bpf/ compiled for the host. It
 * uses the same arena. The caller gives access to the memory of the process. It walks
 * first samples of a process, for which there were no tables when they were taken.
 */
#ifndef OP_CODE_UNWIND_HOST_H
#define OP_CODE_UNWIND_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/memory.h"
#include "code/unwind/arena.h"
#include "op_user_types.h"

struct op_unwind_input {
	struct op_arena *arena;
	const struct op_unwind_rule *rules; /* OP_UNWIND_RULES_MAX */
	op_ref process;			    /* struct op_process in the arena */
	const struct op_registers *registers;
	const struct op_memory *memory;
	const struct op_memory *stack; /* of stacks; NULL: memory */
	uint32_t max_frames;	       /* 0: OP_FRAMES_MAX */
	/* Words that the programs' walk found before it came to the frame of the
	 * registers, whose own words are not among them. */
	const uint64_t *words;
	uint32_t words_len; /* at most OP_USER_WORDS_MAX */
	uint32_t frames;    /* frames in these words */
	bool is_caller;	    /* registers->pc is a return address */
	/* The process has run since the registers were taken. The heap of an
	 * interpreter has changed since then, so its frames are left out, except those
	 * in the chain. */
	bool heap_moved;
	const uint8_t *chain; /* what OP_RECORD_CHAIN has; NULL: none */
	size_t chain_len;
	/* Finds the rule for process address @pc of a mapping that is still lazy.
	 * Returns whether it knows one. May be NULL. */
	bool (*direct)(void *ctx, uint64_t pc, struct op_unwind_rule *ret);
	void *direct_ctx;
};

struct op_unwind_result {
	uint32_t words;
	uint32_t frames;
	uint16_t end; /* enum op_end, or an error */
	uint64_t end_pc;
	uint64_t end_sp; /* sp of the last frame */
	uint64_t word[OP_USER_WORDS_MAX];
};

/*
 * Walk the stack. *@ret describes how the walk ended. At a mapping that is still lazy,
 * if `direct` had no rule, its end is OP_END_UNKNOWN, with end_pc. Returns 0, -ENOMEM,
 * or -EINVAL for too many words.
 */
int op_unwind_host(const struct op_unwind_input *input, struct op_unwind_result *ret);

#endif
