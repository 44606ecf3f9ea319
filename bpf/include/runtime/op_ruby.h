/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Ruby: what the step needs to know of a process, and the words of its frames.
 *
 * Code of Ruby has a frame of two words, or of three where a method entry names it:
 *   word 0  the address of the instruction sequence's body
 *   word 1  low half: the number of the instruction that is next, OP_RUBY_NO_PLACE if it is
 *           none of the sequence's; high half: op_ruby_body_guard(), which tells it from a
 *           later one at the same address
 *   word 2  the method entry's address; from bit OP_RUBY_GUARD_SHIFT on, the upper bits of
 *           its op_ruby_guard()
 *
 * A function in C has a frame of two words:
 *   word 0  the method entry's address
 *   word 1  low half: OP_RUBY_IN_C; high half: op_ruby_guard() of words of the entry
 */
#ifndef OP_RUBY_H
#define OP_RUBY_H

#include "op_records.h"

#define OP_RUBY_NO_PLACE 0xfffffffeU
#define OP_RUBY_IN_C	 0xffffffffU

enum {
	OP_RUBY_FRAME_WORDS = 2,
	OP_RUBY_METHOD_WORDS = 3,
	OP_RUBY_GUARD_SHIFT = 48,
	OP_RUBY_GUARD_CUT = 16, /* bits of op_ruby_guard() that do not fit word 2 */
	OP_RUBY_AFTER = 5,
	OP_RUBY_FIBERS_MAX = 32, /* that resumed each other and are followed */
	OP_RUBY_A64_FRAME = 20,	 /* vm_exec_core()'s register of the frame (vm_exec.c) */

	/* rb_execution_context_t, the same since Ruby 2.5: the stack, its size in words, the
	 * newest frame, the newest tag */
	OP_RUBY_EC_STACK = 0,
	/* rb_control_frame_t */
	OP_RUBY_FRAME_PC = 0,
	OP_RUBY_FRAME_ISEQ = 16,
	OP_RUBY_FRAME_EP = 32,
	OP_RUBY_FRAME_BYTES_MAX = 64,
	/* bytes before the word to which a frame's ep points, which has its flags */
	OP_RUBY_ENV_METHOD = 16,
	OP_RUBY_ISEQ_BODY = 16, /* rb_iseq_t */
	/* rb_iseq_constant_body: its type and the number of instructions, 4 bytes each; the
	 * instructions; where the source is (pathobj, base_label, label, first_lineno) */
	OP_RUBY_BODY_TYPE = 0, /* then its size */
	OP_RUBY_BODY_SIZE = 4,
	OP_RUBY_BODY_CODE = 8,
	OP_RUBY_BODY_LOCATION = 64,
	OP_RUBY_BODY_BYTES = 96, /* of it that are read */
	/* rb_method_entry_t: def, called_id, owner */
	OP_RUBY_METHOD_DEF = 16,
	OP_RUBY_METHOD_BYTES = 24,

	/* the flags of a frame (vm_core.h) */
	OP_RUBY_FRAME_TYPE = 0x7fff0001,
	OP_RUBY_FRAME_IS_C = 0x55550001,
	OP_RUBY_FRAME_FINISH = 0x20, /* C code began it: vm_exec() returns behind it */
	OP_RUBY_FRAME_CFRAME = 0x80, /* it has no instruction sequence */
	OP_RUBY_ENV_LOCAL = 0x2,     /* no other environment follows this one */

	/* an object's flags: is it an imemo, and what is it? */
	OP_RUBY_OBJECT_TYPE = 0x1f,
	OP_RUBY_IMEMO = 0x1a,
	OP_RUBY_IMEMO_SHIFT = 12,
	OP_RUBY_IMEMO_MASK = 0xf,
	OP_RUBY_IMEMO_SVAR = 2,
	OP_RUBY_IMEMO_METHOD = 6,
	OP_RUBY_SVAR_METHOD = 8, /* vm_svar: the object in front of which it is */
};

/* rb_iseq_constant_body.type */
enum {
	OP_RUBY_ISEQ_TOP = 0,
	OP_RUBY_ISEQ_METHOD = 1,
	OP_RUBY_ISEQ_BLOCK = 2,
	OP_RUBY_ISEQ_RESCUE = 4,
	OP_RUBY_ISEQ_ENSURE = 5,
	OP_RUBY_ISEQ_EVAL = 6,
	OP_RUBY_ISEQ_PLAIN = 8,
	/* a bit for each of these: the label has the method's class */
	OP_RUBY_ISEQ_OF_METHODS = 1 << 1 | 1 << 2 | 1 << 4 | 1 << 5 | 1 << 6 | 1 << 8,
};

#define OP_RUBY_ADDRESS_MASK ((1ULL << OP_RUBY_GUARD_SHIFT) - 1)

/* Flags of struct op_ruby. */
enum {
	/* ec_at is the address of a pointer that all threads share: to 2.7 */
	OP_RUBY_SHARED = 1 << 0,
	/* labels have the class of the method: since 3.4 */
	OP_RUBY_CLASSES = 1 << 1,
};

/* Data of a process for the step. Offsets are in bytes. */
struct op_ruby {
	/* The place of a thread's pointer to its execution context: the thread pointer
	 * + ec_at, or with a module that module's block of the thread + ec_at. */
	__s64 ec_at;
	__u32 module;
	__s16 dtv_at;
	__u16 dtv_step;
	__u8 flags;
	__u8 frame_bytes; /* of a control frame */
	__u8 ec_thread;	  /* OP_RUBY_SHARED: in rb_execution_context_t, its thread */
	__u8 ec_fiber;	  /* in rb_execution_context_t: its fiber */
	__u32 thread_id;  /* OP_RUBY_SHARED: in rb_thread_t, its pthread_t */
	/* Address ranges, [first, end). */
	__u64 exec[2]; /* vm_exec() */
	__u64 core[2]; /* vm_exec_core(), which vm_exec() calls */
	/* in vm_exec(), behind that call; on aarch64 also in vm_exec_core(), where it has
	 * its caller's registers again */
	__u64 after[OP_RUBY_AFTER][2];
	__u64 callers[2]; /* functions that push frames and call vm_exec() */
	__u64 plt[2];	  /* through which they call it where it is exported */
	__u64 fiber_prev; /* in rb_fiber_t: who resumed it; 0: not followed */
	struct op_object_step
		object[OP_OBJECT_STEPS]; /* of a body; not OP_RUBY_CLASSES */
};

/* 32 bits of constant words of an object, which distinguish it from a later one at its
 * address. */
static inline __attribute__((always_inline)) __u32 op_ruby_guard(__u64 a, __u64 b,
								 __u64 c, __u64 d)
{
	__u64 mix = a * 0x9e3779b97f4a7c15ULL;

	mix = (mix ^ mix >> 29 ^ b) * 0xbf58476d1ce4e5b9ULL;
	mix = (mix ^ mix >> 32 ^ c) * 0x94d049bb133111ebULL;
	mix = (mix ^ mix >> 29 ^ d) * 0x9e3779b97f4a7c15ULL;
	return (__u32)(mix >> 32);
}

/*
 * The same for a body: its type and size and three words of its location. The lowest
 * bit is 1 for the code of a file or of an eval(), which is freed when it has run. Its
 * label is its parent's or Ruby's own, and stays. So the guard identifies it without
 * the address.
 */
static inline __attribute__((always_inline)) __u32
op_ruby_body_guard(__u64 type_and_size, __u64 path, __u64 label, __u64 line)
{
	__u32 type = (__u32)type_and_size;

	return (op_ruby_guard(type_and_size, path, label, line) & ~1U) |
	       (type == OP_RUBY_ISEQ_TOP || type == OP_RUBY_ISEQ_EVAL);
}

_Static_assert(sizeof(struct op_ruby) == 176 + OP_OBJECT_STEPS * 8, "layout");

#endif
