/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Shared by the parts of the CPython step: the words of its state, and a frame that is
 * read and pushed. */
#ifndef OP_PYTHON_FRAME_H
#define OP_PYTHON_FRAME_H

#include "bpf/walk/unwind.h"
#include "op_python.h"

/* Numbers of op_state(u)->word. */
enum {
	OP_PY_NONE = 0,	  /* op_python.none */
	OP_PY_FRAME = 1,  /* the next frame to push, or 0 */
	OP_PY_CFRAME = 2, /* the next _PyCFrame, or 0; of 3.10 to 3.12 */
	/* since 3.14: the frame of the running task's coroutine, or 0; its low bits are
	 * OP_PY_AWAITING and OP_PY_AWAITED */
	OP_PY_COROUTINE = 2,
	OP_PY_RUN = 3,	   /* first frame of the run, or 0 outside of a run */
	OP_PY_PUSHED = 4,  /* count of words and frames before the run */
	OP_PY_WORDS = 5,   /* words 1 and 2 of op_python; 0: the walk has not begun */
			   /* OP_PY_SLOT = 7 */
	OP_PY_OTHER = 7,   /* to 3.11: the PyThreadState of the outer frames, or 0 */
	OP_PY_TASK = 8,	   /* since 3.14: the running task, or 0 */
	OP_PY_CODE = 9,	   /* op_python.id */
	OP_PY_READ = 10,   /* address of the bytes of frames, or OP_PY_NOT_READ */
	OP_PY_SWITCH = 11, /* 1: it began in the module of greenlet */
};

#define OP_PY_NOT_READ (1ULL << 63) /* of word OP_PY_READ: no process has that address */

enum {
	/* of runtime_bytes: frames, a code object, and await/python.h's */
	OP_PY_FRAMES_BYTES = 256,
	OP_PY_CODE_BYTES = 128,
	OP_PY_CODE_AT = OP_PY_FRAMES_BYTES,
	OP_PY_AWAIT_AT = OP_PY_CODE_AT + OP_PY_CODE_BYTES,
	OP_PY_PAGE_MASK = 4095, /* of the smallest page */
};

/* Word @member of the struct op_python in view @v. */
#define OP_PY_WORD(v, member)                                                            \
	op_runtime_seen(v, __builtin_offsetof(struct op_python, member))
/* Byte number @at of @words. */
#define OP_PY_BYTE_OF(words, at) ((__u8)((words)[(at) / 8] >> ((at) % 8 * 8)))
/* Byte @member of the process's struct op_python; @words: its words 1 and 2. */
#define OP_PY_BYTE(words, member)                                                        \
	OP_PY_BYTE_OF(words, __builtin_offsetof(struct op_python, member) - 8)

static __always_inline int op_python_read(struct op_unwind *u, __u64 addr, __u64 *ret)
{
	return op_platform_read_chain(u, ret, sizeof(*ret), addr) ? -1 : 0;
}

/* Other bytes than frames' may have come into runtime_bytes. */
static __always_inline void op_python_forget_frames(struct op_unwind *u)
{
	op_state(u)->word[OP_PY_READ] = OP_PY_NOT_READ;
}

/*
 * Read the frame at @frame. Returns 0 and its place in runtime_bytes, or -1. A caller's frame
 * often lies just below, and a read costs more than its bytes. So the bytes below are
 * read, too, unless they are in another page, which may be absent.
 */
static __always_inline int op_python_read_frame(struct op_unwind *u, const __u64 *words,
						__u64 frame, __u64 *ret)
{
	__u64 at = frame + OP_PY_BYTE(words, read_from);
	__u64 len = OP_PY_BYTE(words, read_bytes);
	__u64 bytes = op_platform_has_chain(u) ? len : OP_PY_FRAMES_BYTES;
	__u64 below = at - op_state(u)->word[OP_PY_READ];

	if (below > OP_PY_FRAMES_BYTES - len) {
		below = at & OP_PY_PAGE_MASK;
		if (below > bytes - len)
			below = bytes - len;
		op_python_forget_frames(u);
		if (op_platform_read_chain(u, u->runtime_bytes, bytes, at - below))
			return -1;
		op_state(u)->word[OP_PY_READ] = at - below;
	}
	*ret = at - op_state(u)->word[OP_PY_READ];
	return 0;
}

/* The word at @at of runtime_bytes. */
static __always_inline __u64 op_python_field(struct op_unwind *u, __u64 at)
{
	return *(__u64 *)(u->runtime_bytes + (at & (OP_RUNTIME_BYTES - 8)));
}

static __always_inline __u8 op_python_byte(struct op_unwind *u, __u64 at)
{
	return u->runtime_bytes[at & (OP_RUNTIME_BYTES - 1)];
}

/* Byte @member of struct op_python_code_id in @id. */
#define OP_PY_ID_BYTE(id, member)                                                        \
	((__u8)((id) >> __builtin_offsetof(struct op_python_code_id, member) * 8))

/* The word of an identity that stands for the texts of @file and the name at *@name. */
static __always_inline int op_python_read_texts(struct op_unwind *u, __u64 file,
						__u64 *name)
{
	__u64 tail[OP_PYTHON_TAIL_WORDS] = { 0 };
	__u64 length = 0;

	if (op_python_read(u, *name + OP_PYTHON_NAME_HASH, name) ||
	    op_python_read(u, file + OP_PYTHON_TEXT_LENGTH, &length) ||
	    op_platform_read_chain(u, tail, sizeof(tail), op_python_tail(file, length)))
		return -1;
	*name = op_python_texts(*name, length, tail);
	return 0;
}

/*
 * Identify the code object at @code, and read it into runtime_bytes. Returns 0 and the
 * high half of its identity, or -1. *@ret_body: it is not a function's, but runs once,
 * as a module's does.
 */
static __always_inline int op_python_identify(struct op_unwind *u, __u64 code, __u32 *ret,
					      bool *ret_body)
{
	__u64 words = op_state(u)->word[OP_PY_CODE];
	__u32 len = OP_PY_ID_BYTE(words, bytes);
	__u64 name = 0;
	__u64 file;
	__u64 id;

	op_platform_bound(len);
	if (len > OP_PY_CODE_BYTES)
		len = OP_PY_CODE_BYTES;
	if (op_platform_read_chain(u, u->runtime_bytes + OP_PY_CODE_AT, len,
				   code + OP_PY_ID_BYTE(words, from)))
		return -1;
	id = op_object_id(
		code, op_python_field(u, OP_PY_CODE_AT + OP_PY_ID_BYTE(words, at[0])));
	id = op_object_id(
		id, op_python_field(u, OP_PY_CODE_AT + OP_PY_ID_BYTE(words, at[1])));
	id = op_object_id(
		id, op_python_field(u, OP_PY_CODE_AT + OP_PY_ID_BYTE(words, at[2])));
	name = op_python_field(u, OP_PY_CODE_AT + OP_PY_ID_BYTE(words, at[3]));
	*ret_body = !(op_python_byte(u, OP_PY_CODE_AT + OP_PY_ID_BYTE(words, flags)) &
		      OP_PYTHON_OPTIMIZED);
	file = op_python_field(u, OP_PY_CODE_AT + OP_PY_ID_BYTE(words, at[1]));
	/* bodies have a few names in common */
	if (OP_PY_ID_BYTE(words, name) && !*ret_body &&
	    op_python_read_texts(u, file, &name))
		return -1;
	*ret = (__u32)(op_object_id(id, name) >> 32);
	return 0;
}

/* Identify @code as above, and tell what names it. Returns 0 or -1. */
static __always_inline int op_python_told(struct op_unwind *u, __u64 code, __u32 *ret)
{
	__u64 word = op_runtime_word(u, OP_PYTHON_FRAME_WORDS, code);
	bool body;

	if (op_platform_object_known(u, word, ret))
		return 0;
	if (op_python_identify(u, code, ret, &body))
		return -1;
	op_platform_object(u, __builtin_offsetof(struct op_python, object), word, *ret,
			   body);
	return 0;
}

/* Push the frame at @at of runtime_bytes. Returns 0, or -1 if its code is not a code
 * object. */
static __always_inline int op_python_push(struct op_unwind *u, __u64 code,
					  const __u64 *words, __u64 at)
{
	__u64 place = op_python_field(u, at + OP_PY_BYTE(words, frame_place));
	__u64 word = op_runtime_word(u, OP_PYTHON_FRAME_WORDS, code);
	__u32 check = 0;

	if (op_python_told(u, code, &check))
		return -1;
	if ((OP_PY_BYTE(words, flags) & OP_PYTHON_RELATIVE) != 0) {
		place -= code;
		if (place > OP_PYTHON_NO_PLACE)
			place = OP_PYTHON_NO_PLACE;
	}
	op_push_word(u, word);
	op_push_word(u, (__u32)place | (__u64)check << 32);
	u->out.frames++;
	return 0;
}

#endif
