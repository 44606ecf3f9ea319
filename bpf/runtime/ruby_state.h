/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the Ruby step knows of a process and keeps from step to step. */
#ifndef OP_RUBY_STATE_H
#define OP_RUBY_STATE_H

#include "bpf/walk/unwind.h"
#include "op_ruby.h"

/* Numbers of op_state(u)->word. */
enum {
	OP_RB_NEXT = 0, /* the next control frame */
	OP_RB_END = 1,	/* end of the frames that count */
	OP_RB_TAG = 2,	/* the newest tag: vm_exec() has one in its stack frame */
	/* flags and frame_bytes of struct op_ruby, with a bit that is always set; 0: the walk
	 * has not begun */
	OP_RB_BEGUN = 3,
	OP_RB_SETTLED = 4, /* it is known whether the innermost activation has frames */
	OP_RB_DONE = 5,	  /* vm_exec_core() has had the frames of its caller, vm_exec() */
	OP_RB_HIDDEN = 6, /* the next frame of Ruby code has no label of its own */
	OP_RB_COMPILED = 7, /* compiled code was interrupted: enum op_rb_compiled */
	/* what the next step reads: an address and OP_RB_LOOK_*; 0: a frame */
	OP_RB_LOOK = 8,
	/* where fibers are followed: the execution context whose frames are pushed, and
	 * OP_RB_FIBER_*; 0: they are not */
	OP_RB_FIBER = 9,
};

#define OP_RB_FIBER_RESUMER (1ULL << 0)	 /* it is suspended */
#define OP_RB_FIBER_NEXT    (1ULL << 56) /* fibers that were left */
#define OP_RB_FIBER_ADDRESS (OP_RB_FIBER_NEXT - 8)

#define OP_RB_LOOK_AHEAD  (1ULL << 62)
#define OP_RB_LOOK_METHOD (1ULL << 61)
#define OP_RB_LOOK_ENDS	  (1ULL << 60) /* the method's frame ends the run */
#define OP_RB_LOOK_NEXT	  (1ULL << 56) /* environments that were read: 4 bits */
#define OP_RB_LOOK_COUNT  (15 * OP_RB_LOOK_NEXT)

enum op_rb_compiled {
	OP_RB_IN_CODE = 1,
	OP_RB_IN_EXIT = 2, /* where it returns to C; its last frame is popped */
};

enum {
	OP_RB_BEGUN_BIT = 63,
	OP_RB_SAVED_BYTES = 64, /* return address, callee-saved registers and padding */

	OP_RB_LAST_MAX = 6,	   /* frames of functions in C at the start of a thread */
	OP_RB_STACK_MAX = 1 << 27, /* words; a larger size is garbage */
	OP_RB_CONTEXT_MAX = 4096,  /* bytes from a fiber to its execution context */
	/* of runtime_bytes */
	OP_RB_ENV = 64,
	OP_RB_BODY = 128,
	OP_RB_METHOD = 224,
#if defined(__TARGET_ARCH_arm64)
	OP_RB_FRAME_REG = OP_RUBY_A64_FRAME,
	/* a pthread_t is less than this below the thread pointer */
	OP_RB_THREAD_BYTES = 4096,
#else
	OP_RB_FRAME_REG = 15,	/* DECL_SC_REG of vm_exec.c */
	OP_RB_THREAD_BYTES = 1, /* it is the thread pointer */
#endif
};

/* Word @member of the struct op_ruby in view @p. */
#define OP_RB_WORD(p, member)                                                            \
	op_runtime_seen(p, __builtin_offsetof(struct op_ruby, member))
/* Byte @member of the word of struct op_ruby that begins with its flags. */
#define OP_RB_BYTE(word, member)                                                         \
	((__u8)((word) >> ((__builtin_offsetof(struct op_ruby, member) -                 \
			    __builtin_offsetof(struct op_ruby, flags)) *                 \
			   8)))

#endif
