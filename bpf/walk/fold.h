/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Stacks deeper than max_frames: half of the frames are those at the leaf, and the rest
 * of the buffer has the outermost ones. A word of OP_FRAME_LEFT_OUT is between them.
 *
 * The buffer has four quarters. Each time it is full, the last quarter moves to the
 * third one, so at the end it has one to two quarters of the outermost frames. A walk
 * with frames of a runtime is cut, because runtimes take back frames that they have
 * pushed.
 */
#ifndef OP_FOLD_H
#define OP_FOLD_H

#include "bpf/walk/unwind.h"

/* The walk ended. Was the buffer full, and is space free now? Then the same step runs
 * again. */
static __always_inline bool op_fold(struct op_unwind *u)
{
	__u32 quarter = u->out.max_frames / 4;
	__u32 third = u->out.words_user + 2 * quarter;
	__u32 last = u->out.words - (quarter - 1);

	if (u->end != OP_END_TRUNCATED || u->step != OP_STEP_NATIVE ||
	    u->state.instance || op_frame_room(u) ||
	    u->out.words != u->out.words_user + u->out.frames)
		return false;
	op_platform_bound(third);
	op_platform_bound(quarter);
	op_platform_bound(last);
	if (third > OP_KERNEL_FRAMES_MAX + OP_FRAMES_MAX / 2 || quarter < 2 ||
	    quarter > OP_FRAMES_MAX / 4 || last > OP_WORDS_MAX)
		return false;
	op_platform_words(u)[third] = op_frame_word(OP_FRAME_LEFT_OUT, 0);
	op_platform_move(u, third + 1, last, quarter - 1);
	u->out.frames = 3 * quarter;
	u->out.words = third + quarter;
	return true;
}

#endif
