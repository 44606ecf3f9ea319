/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * CPython: what the step needs to know of a process, and the words of its frames.
 *
 * A frame has two words:
 *   word 0  the code object's address
 * |  word 1  low half: the position in the code. Since 3.11: instruction pointer - code
 *           object; before: f_lasti. OP_PYTHON_NO_PLACE if it does not fit.
 *           high half: that of the code object's identity. It tells one from another that
 *           had its memory before.
 */
#ifndef OP_PYTHON_H
#define OP_PYTHON_H

#include "op_records.h"

#define OP_PYTHON_NO_PLACE 0xfffffffeU

enum {
	OP_PYTHON_FRAME_WORDS = 2,
	OP_PYTHON_READ_MAX = 104,    /* bytes read of a frame */
	OP_PYTHON_CFRAME_BYTES = 24, /* read of a _PyCFrame */
	OP_PYTHON_EDGES = 4,
	OP_PYTHON_CODE_WORDS = 4, /* of a code object's identity */
	OP_PYTHON_OPTIMIZED = 1,  /* CO_OPTIMIZED of co_flags: a function's */
	/* PyASCIIObject.hash, which CPython has computed for the name of a code object */
	OP_PYTHON_NAME_HASH = 24,
	/* PyASCIIObject.length, and what follows the object, up to Python 3.11. Of a file's name the
	 * hash is often not computed. */
	OP_PYTHON_TEXT_LENGTH = 16,
	OP_PYTHON_TEXT = 48,
	OP_PYTHON_TEXT_LENGTH_MASK = 0xfff,
	OP_PYTHON_TAIL_WORDS = 2,
	/* objects that are read on the way through tasks that await each other */
	OP_PYTHON_AWAITS_MAX = 128,
};

/* Where the ASCII string at @text has its last bytes. In others it is some other place. */
static inline __attribute__((always_inline)) __u64 op_python_tail(__u64 text,
								  __u64 length)
{
	return text + OP_PYTHON_TEXT + (length & OP_PYTHON_TEXT_LENGTH_MASK) -
	       OP_PYTHON_TAIL_WORDS * 8;
}

/* The last word of an identity: @hash of the name, @length and @tail of the file's name. */
static inline __attribute__((always_inline)) __u64
op_python_texts(__u64 hash, __u64 length, const __u64 tail[OP_PYTHON_TAIL_WORDS])
{
	return op_object_id(op_object_id(op_object_id(hash, length), tail[0]), tail[1]);
}

/* Flags of struct op_python. */
enum {
	OP_PYTHON_STATE_INDIRECT = 1 << 0, /* state_at locates a pointer to the block */
	/* a C activation of the loop runs one frame (<= 3.10) */
	OP_PYTHON_ONE_FRAME = 1 << 1,
	/* the marked frame is not a Python frame (>= 3.12) */
	OP_PYTHON_MARK_HIDDEN = 1 << 2,
	OP_PYTHON_CFRAME = 1 << 3, /* the activation holds a _PyCFrame (3.10-3.12) */
	/* the _PyCFrame points to the innermost frame (>= 3.11) */
	OP_PYTHON_CFRAME_FRAME = 1 << 4,
	/* the position is a pointer into the code object */
	OP_PYTHON_RELATIVE = 1 << 5,
	/* a frame whose function is None is hidden (>= 3.12) */
	OP_PYTHON_FUNCTION = 1 << 6,
};

/*
 * Tasks of asyncio and coroutines, since 3.14. Offsets are in bytes: state_* in PyThreadState,
 * task_* in the object of a task or a future, generator_* in that of a coroutine or a
 * generator.
 */
struct op_python_tasks {
	__u16 state_task; /* the task that runs. 0: tasks are not followed */
	__u8 task_coroutine;
	__u8 task_awaiter; /* who awaits it: a task or a future, or a set of them */
	__u8 task_is_task; /* a byte: it is a task, not a future */
	__u8 task_in_set;  /* a byte: task_awaiter is a set */
	__u8 generator_frame;
	__u8 generator_state; /* a byte */
	__u8 awaits;	      /* the value of that byte where it awaits another one, */
	__u8 awaited_below;   /* which is so far below the frame's stack pointer */
	__u8 frame_stack; /* that pointer, from the first byte that is read of a frame */
	__u8 reserved[5];
	/* Addresses of types: frames of these are known. */
	__u64 coroutine_type;
	__u64 generator_type;
	__u64 asend_type; /* what an asynchronous generator's __anext__() returns */
	__u64 asyncgen_type;
};

/*
 * Identity of a code object, to distinguish it from another one at the same address.
 * Since 3.12 its version, a number that no other has. Before that: where its name and
 * file are, its first line, and for a function the hash of its name.
 */
struct op_python_code_id {
	__u8 from; /* first byte that is read */
	__u8 bytes;
	__u8 at[OP_PYTHON_CODE_WORDS]; /* words, from that byte on */
	__u8 name;  /* 1: and the hash of the name, to which the last word points */
	__u8 flags; /* the low byte of co_flags, from that byte on */
};

/*
 * Data of a process for the step. Offsets are in bytes: state_* in PyThreadState,
 * cframe_* in _PyCFrame, frame_* from the first byte that is read of a frame.
 */
struct op_python {
	__s32 state_at;	   /* from the thread pointer: PyThreadState *, or its block */
	__s32 state_block; /* STATE_INDIRECT: place of the PyThreadState * in the block */
	__u8 flags;
	__u8 state_frame;  /* the innermost frame (if not CFRAME_FRAME) */
	__u8 state_cframe; /* the innermost _PyCFrame */
	__u8 cframe_frame;
	__u8 cframe_previous;
	__u8 read_from; /* first byte that is read of a frame */
	__u8 read_bytes;
	__u8 frame_function;
	__u8 frame_code;
	__u8 frame_previous;
	__u8 frame_place;
	__u8 reserved;
	__u8 frame_mark;   /* a byte that marks the first frame of a C activation */
	__u8 mark;	   /* the value of that byte */
	__u8 pointer_mask; /* low bits of the code pointer that are tags */
	__u8 edge_count;
	__u64 none; /* address of None */
	/* Address ranges of the loop, [first, end), in which an activation's frame is not
	 * linked into the thread's chain: not yet, or no longer. */
	__u64 edge[OP_PYTHON_EDGES][2];
	/* The entry stub of compiled traces, which begins a page. */
	__u64 entry_code;  /* the 8 bytes of code that its call returns to; 0: unknown */
	__u8 entry_return; /* their offset in the page */
	__u8 entry_saved;  /* words that it has pushed at the call */
	__u8 entry_bytes;  /* the stub's length */
	__u8 entry_reserved[5];
	/* Up to 3.11: where the interpreter has the PyThreadState that runs, and the
	 * member that identifies its thread: its innermost _PyCFrame (3.10, 3.11), or
	 * its thread_id. A state that is not the thread's own belongs to a
	 * sub-interpreter. 0: unknown */
	__u64 current;
	__u64 state_owner;
	struct op_python_tasks tasks;
	struct op_python_code_id id;
	/* how to find the names of a code object */
	struct op_object_step object[OP_OBJECT_STEPS];
};

_Static_assert(sizeof(struct op_python) ==
		       120 + OP_OBJECT_STEPS * 8 + OP_PYTHON_EDGES * 16,
	       "layout");

#endif
