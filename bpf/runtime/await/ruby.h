/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Fibers that resumed the running one. Each has an array of control frames of its own. */
#ifndef OP_AWAIT_RUBY_H
#define OP_AWAIT_RUBY_H

#include "bpf/runtime/ruby_state.h"

/* Find the newest frame of the execution context @ec. @word: op_ruby.flags and what follows.
 * Returns 0 or an error number. */
static __always_inline __u32 op_rb_newest(struct op_unwind *u, __u64 word, __u64 ec)
{
	__u64 *state = op_state(u)->word;
	__u64 head[4]; /* stack, its words, frame, tag */

	if (op_platform_read(u, head, sizeof(head), ec + OP_RUBY_EC_STACK))
		return OP_ERROR_ruby_read_context;
	if (!head[0] || head[1] > OP_RB_STACK_MAX || head[2] < head[0] ||
	    head[2] > head[0] + head[1] * 8)
		return OP_ERROR_ruby_read_context;
	state[OP_RB_NEXT] = head[2];
	state[OP_RB_END] = head[0] + head[1] * 8 - OP_RB_BYTE(word, frame_bytes);
	state[OP_RB_TAG] = head[3];
	return 0;
}

/*
 * All frames of a fiber are pushed. Go on with those of the fiber that resumed it. The
 * process does not run meanwhile, so they stay as they were at the call of resume().
 * Returns false if there is none.
 */
static __always_inline bool op_rb_resumer(struct op_unwind *u,
					  const struct op_runtime_view *p)
{
	__u64 *state = op_state(u)->word;
	__u64 word = state[OP_RB_BEGUN];
	__u64 last = state[OP_RB_FIBER];
	__u64 ec = last & OP_RB_FIBER_ADDRESS;
	__u64 fiber = 0;
	__u64 prev = 0;

	state[OP_RB_FIBER] = 0;
	if (!ec || op_platform_read(u, &fiber, 8, ec + OP_RB_BYTE(word, ec_fiber)) ||
	    ec - fiber >= OP_RB_CONTEXT_MAX ||
	    op_platform_read(u, &prev, 8, fiber + OP_RB_WORD(p, fiber_prev)) || !prev)
		return false;
	ec = prev + (ec - fiber);
	if (last / OP_RB_FIBER_NEXT >= OP_RUBY_FIBERS_MAX ||
	    (ec & ~OP_RB_FIBER_ADDRESS) || op_rb_newest(u, word, ec)) {
		u->error = OP_ERROR_ruby_fibers_cut;
		return false;
	}
	state[OP_RB_FIBER] = ec | OP_RB_FIBER_RESUMER |
			     ((last + OP_RB_FIBER_NEXT) & -OP_RB_FIBER_NEXT);
	return true;
}

#endif
