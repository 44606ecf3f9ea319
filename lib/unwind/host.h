/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The kernel's unwinder in user space: the sources of bpf/ compiled for the host, over the
 * same arena, with a process's memory given by the caller. Used for the first samples of a
 * process, whose tables were not made yet when they were taken.
 */
#ifndef OP_UNWIND_HOST_H
#define OP_UNWIND_HOST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/memory.h"
#include "op_user_types.h"
#include "unwind/arena.h"

struct op_host_input {
	struct op_arena *arena;
	const struct op_rule *rules; /* OP_RULES_MAX */
	op_ref process;		     /* of struct op_process */
	const struct op_registers *registers;
	const struct op_memory *memory;
	uint32_t max_frames; /* 0: OP_FRAMES_MAX */
	/* What the kernel's walk had found before the registers, which are of the frame that
	 * it came to; it is not among them. */
	const uint64_t *words;
	uint32_t words_len; /* at most OP_USER_WORDS_MAX */
	uint32_t frames;    /* in them */
	bool is_caller;	    /* registers->pc is a return address */
	/* The process went on since the registers were taken: what an interpreter keeps on
	 * its heap is of another moment, and its frames are left out. */
	bool heap_moved;
	/* May be NULL: the rule at process address @pc of a mapping that is still lazy. Returns
	 * whether it is known. */
	bool (*direct)(void *ctx, uint64_t pc, struct op_rule *ret);
	void *direct_ctx;
};

struct op_host_stack {
	uint32_t words;
	uint32_t frames;
	uint16_t end; /* enum op_end, or an error */
	uint64_t end_pc;
	uint64_t end_sp; /* of the last frame */
	uint64_t word[OP_USER_WORDS_MAX];
};

/* Walk the stack. Always gives a stack, which says how it ended; end == OP_END_UNKNOWN with
 * end_pc where it met a mapping that is still lazy and no rule was told. Returns 0 or -ENOMEM. */
int op_host_unwind(const struct op_host_input *input, struct op_host_stack *ret);

#endif
