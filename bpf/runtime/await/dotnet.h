/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The async methods that await the running one. An async method that has awaited is resumed
 * by its box: an AsyncStateMachineBox, which is the task of its call and holds its state
 * machine. So a method of that type on the stack leads to the box, which is one of the
 * words around its frame. A task has its continuation: the box that awaits it, or another
 * task, such as WhenAll()'s, or a delegate or a continuation that holds one of them.
 *
 * Behind the frame of the resumed method the step pushes the awaiting ones. Then the box's
 * own frame follows. Between them may be ExecutionContext's, which is set aside until then.
 */
#ifndef OP_AWAIT_DOTNET_H
#define OP_AWAIT_DOTNET_H

#include "bpf/runtime/dotnet/frame.h"

enum {
	/* the word OP_DN_OBJECT has the box's MethodTable, then the object that is read;
	 * OP_DN_OFFSET has Task's MethodTable; OP_DN_AWAIT has */
	OP_DN_AWAIT_PHASE = 0xff,    /* enum op_dn_await, */
	OP_DN_AWAIT_TASKS = 1 << 8,  /* the number of tasks that were read, */
	OP_DN_AWAIT_WORDS = 1 << 16, /* and of words that were searched; */
	OP_DN_AWAIT_LAST =
		32, /* from this bit on: where the last pushed method's words begin */
	/* words of the stack that may be the box: callees save registers below the frame */
	OP_DN_AWAIT_BELOW = 8,
	OP_DN_AWAIT_SEARCHED = 48,
	/* of runtime_bytes: the number of words that are set aside, and these; a MethodTable */
	OP_DN_ASIDE = 0,
	OP_DN_TABLE = 64,
	/* offsets in bytes */
	OP_DN_TABLE_PARENT = 16,
	OP_DN_TABLE_CANONICAL = 40, /* the MethodTable whose code it shares, plus 1 */
	OP_DN_TABLE_DICTIONARIES = 48,
	OP_DN_TABLE_BYTES = 56,
	OP_DN_TASK_CONTEXT = 16, /* of a box: its ExecutionContext */
	OP_DN_TASK_COMPLETED = 0x1600000,
	OP_DN_HELD = 8, /* in a delegate: its target; in a continuation: its task */
};

enum op_dn_await {
	OP_DN_AWAIT_NONE = 0,
	OP_DN_AWAIT_FIND, /* the box */
	OP_DN_AWAIT_NEXT, /* the continuation of a task */
	OP_DN_AWAIT_TAKE, /* a continuation */
	OP_DN_AWAIT_HELD, /* what a continuation holds */
	OP_DN_AWAIT_DONE,
};

static __always_inline int op_dn_read(struct op_unwind *u, __u64 addr, __u64 *ret)
{
	return op_platform_read(u, ret, sizeof(*ret), addr);
}

static __always_inline __u32 op_dn_phase(struct op_unwind *u)
{
	return op_state(u)->word[OP_DN_AWAIT] & OP_DN_AWAIT_PHASE;
}

static __always_inline void op_dn_set_phase(struct op_unwind *u, enum op_dn_await phase)
{
	__u64 *word = &op_state(u)->word[OP_DN_AWAIT];

	*word = (*word & ~(__u64)OP_DN_AWAIT_PHASE) | phase;
}

static __always_inline bool op_dn_is_awaiting(struct op_unwind *u)
{
	__u32 phase = op_dn_phase(u);

	return phase && phase != OP_DN_AWAIT_DONE;
}

/* Find the MethodTable of the type of method @desc. */
static __always_inline int op_dn_table_of(struct op_unwind *u, __u64 desc, __u64 *ret)
{
	__u8 index = 0;

	if (op_platform_read(u, &index, sizeof(index), desc + OP_DOTNET_METHOD_CHUNK))
		return -1;
	return op_dn_read(
		u, desc - (__u64)index * OP_DOTNET_METHOD_ALIGN - OP_DOTNET_CHUNK_BYTES,
		ret);
}

/* Read the MethodTable at @table into runtime_bytes. */
static __always_inline int op_dn_read_table(struct op_unwind *u, __u64 table)
{
	return op_platform_read(u, u->runtime_bytes + OP_DN_TABLE, OP_DN_TABLE_BYTES,
				table);
}

/* The word of op_dotnet that begins with @box. */
static __always_inline __u64 op_dn_task_word(struct op_unwind *u)
{
	return op_runtime_u64(u, __builtin_offsetof(struct op_dotnet, box));
}

/* Byte @member of struct op_dotnet, which is in that word. */
#define OP_DN_TASK_BYTE(word, member)                                                    \
	((__u8)((word) >> (__builtin_offsetof(struct op_dotnet, member) -                \
			   __builtin_offsetof(struct op_dotnet, box)) *                  \
				  8))

/* The row of a type in its module, of the @bits of its MethodTable that have it. */
static __always_inline __u32 op_dn_row(struct op_unwind *u, __u32 bits)
{
	return bits >> (OP_DN_TASK_BYTE(op_dn_task_word(u), row_bits) & 31);
}

/* Is the one that was read that of a box? */
static __always_inline bool op_dn_is_box(struct op_unwind *u)
{
	__u64 core = op_runtime_u64(u, __builtin_offsetof(struct op_dotnet, core));
	__u32 bits = op_dn_half(u, OP_DN_TABLE + OP_DOTNET_TABLE_ROW);

	return op_dn_row(u, bits) == (__u32)op_dn_task_word(u) &&
	       op_dn_word(u, OP_DN_TABLE + OP_DOTNET_TABLE_MODULE) == core;
}

/* Find the MethodTable of the state machine of the box whose own one was read: its second
 * type argument. Its base, Task`1, has the first dictionary. */
static __always_inline int op_dn_machine(struct op_unwind *u, __u64 *ret)
{
	__u64 at = op_dn_word(u, OP_DN_TABLE + OP_DN_TABLE_DICTIONARIES);

	return op_dn_read(u, at + 8, &at) || op_dn_read(u, at + 8, ret) ? -1 : 0;
}

/* A frame of method @desc is next. If its type is a box, what awaits the method that the
 * box has resumed is followed first. Returns false if not. */
static __always_inline bool op_dn_await_begin(struct op_unwind *u, __u64 desc)
{
	__u64 table = 0;

	if (op_dn_phase(u) == OP_DN_AWAIT_DONE || u->heap_moved || !op_dn_task_word(u))
		return false;
	if (!op_dn_table_of(u, desc, &table) && !op_dn_read_table(u, table) &&
	    op_dn_is_box(u)) {
		op_state(u)->word[OP_DN_OBJECT] = table;
		op_dn_set_phase(u, OP_DN_AWAIT_FIND);
		return true;
	}
	op_state(u)->word[OP_DN_AWAIT] = (__u64)u->out.words << OP_DN_AWAIT_LAST;
	return false;
}

/* Continue with the box's frame. After an @error the stack is marked. */
static __always_inline enum op_next op_dn_await_end(struct op_unwind *u, __u32 error)
{
	__u32 count = op_dn_half(u, OP_DN_ASIDE);
	__u32 i;

	if (error && !u->error)
		u->error = error;
	if (op_dn_phase(u) != OP_DN_AWAIT_FIND && count) {
		for (i = 0; i < OP_DOTNET_FRAME_WORDS; i++)
			if (i < count)
				op_push_word(u, op_dn_word(u, OP_DN_ASIDE + 8 + i * 8));
		u->out.frames++;
	}
	op_dn_set_phase(u, OP_DN_AWAIT_DONE);
	return OP_NEXT_CONTINUE;
}

/* The frame of ExecutionContext is the last that was pushed, unless the box's first frame
 * calls the method: that of @machine. Returns the number of its words. */
static __always_inline __u32 op_dn_between(struct op_unwind *u, __u64 machine)
{
	__u32 last = op_state(u)->word[OP_DN_AWAIT] >> OP_DN_AWAIT_LAST;
	__u64 canonical = 0;
	__u64 table = 0;

	if (!u->out.frames)
		return 0;
	if (!last || last + OP_DOTNET_FRAME_WORDS != u->out.words)
		return 1;
	op_platform_bound(last);
	if (last >= OP_WORDS_MAX ||
	    op_dn_table_of(u, op_platform_words(u)[last] & OP_FRAME_ADDRESS_MASK, &table))
		return 0;
	if (table == machine ||
	    op_dn_read(u, machine + OP_DN_TABLE_CANONICAL, &canonical) ||
	    (canonical & ~1ULL) == table)
		return 0;
	return OP_DOTNET_FRAME_WORDS;
}

/* Set the frame between the method and its box aside. */
static __always_inline void op_dn_set_aside(struct op_unwind *u, __u64 machine)
{
	__u32 count = op_dn_between(u, machine);
	__u32 at = u->out.words - count;
	__u32 i;

	*(__u64 *)(u->runtime_bytes + OP_DN_ASIDE) = count;
	for (i = 0; i < OP_DOTNET_FRAME_WORDS; i++) {
		__u32 from = at + i;

		op_platform_bound(from);
		if (from < OP_WORDS_MAX)
			*(__u64 *)(u->runtime_bytes + OP_DN_ASIDE + 8 + i * 8) =
				op_platform_words(u)[from];
	}
	u->out.words = at;
	u->out.frames -= !!count;
}

/* The box is at @box, and its MethodTable at @table. */
static __always_inline enum op_next op_dn_found(struct op_unwind *u, __u64 box,
						__u64 table)
{
	__u64 machine = 0;
	__u64 context = 0;
	__u64 task = 0;

	if (op_dn_read_table(u, table) || op_dn_machine(u, &machine) ||
	    op_dn_read(u,
		       op_dn_word(u, OP_DN_TABLE + OP_DN_TABLE_PARENT) +
			       OP_DN_TABLE_PARENT,
		       &task) ||
	    op_dn_read(u, box + OP_DN_TASK_CONTEXT, &context))
		return op_dn_await_end(u, OP_ERROR_dotnet_read_await);
	*(__u64 *)(u->runtime_bytes + OP_DN_ASIDE) = 0;
	if (context)
		op_dn_set_aside(u, machine);
	op_state(u)->word[OP_DN_OFFSET] = task;
	op_state(u)->word[OP_DN_OBJECT] = box;
	op_dn_set_phase(u, OP_DN_AWAIT_NEXT);
	return OP_NEXT_CONTINUE;
}

/* Is the next word of the stack the box? A box that has completed is another call's. If
 * it is in none of them, nothing awaits it. */
static __always_inline enum op_next op_dn_find(struct op_unwind *u)
{
	__u64 *word = op_state(u)->word;
	__u32 i = (word[OP_DN_AWAIT] / OP_DN_AWAIT_WORDS) & 0xff;
	__u64 at = u->sp + (__u64)i * 8 - OP_DN_AWAIT_BELOW * 8;
	__u64 canonical = 0;
	__u64 table = 0;
	__u64 box = 0;
	__u32 state = 0;

	if (i >= OP_DN_AWAIT_SEARCHED)
		return op_dn_await_end(u, 0);
	word[OP_DN_AWAIT] += OP_DN_AWAIT_WORDS;
	if (op_read_stack(u, at, &box) || !box || (box & 7) || op_dn_read(u, box, &table))
		return OP_NEXT_CONTINUE;
	if (table != word[OP_DN_OBJECT] &&
	    (op_dn_read(u, table + OP_DN_TABLE_CANONICAL, &canonical) ||
	     canonical != (word[OP_DN_OBJECT] | 1)))
		return OP_NEXT_CONTINUE;
	if (op_platform_read(u, &state, sizeof(state),
			     box + OP_DN_TASK_BYTE(op_dn_task_word(u), state)) ||
	    (state & OP_DN_TASK_COMPLETED))
		return OP_NEXT_CONTINUE;
	return op_dn_found(u, box, table);
}

/* Read who awaits the task. */
static __always_inline enum op_next op_dn_next(struct op_unwind *u)
{
	__u64 *word = op_state(u)->word;
	__u64 of = OP_DN_TASK_BYTE(op_dn_task_word(u), continuation);
	__u64 next = 0;

	if ((word[OP_DN_AWAIT] / OP_DN_AWAIT_TASKS & 0xff) >= OP_DOTNET_AWAITS_MAX)
		return op_dn_await_end(u, OP_ERROR_dotnet_awaits_cut);
	word[OP_DN_AWAIT] += OP_DN_AWAIT_TASKS;
	if (op_dn_read(u, word[OP_DN_OBJECT] + of, &next))
		return op_dn_await_end(u, OP_ERROR_dotnet_read_await);
	if (!next)
		return op_dn_await_end(u, 0);
	word[OP_DN_OBJECT] = next;
	op_dn_set_phase(u, OP_DN_AWAIT_TAKE);
	return OP_NEXT_CONTINUE;
}

/* Push the method of a box whose MethodTable was read. */
static __always_inline enum op_next op_dn_push_box(struct op_unwind *u)
{
	__u64 machine = 0;
	__u32 bits = 0;

	if (!op_frame_room(u))
		return op_end(u, OP_END_TRUNCATED);
	if (op_dn_machine(u, &machine) ||
	    op_platform_read(u, &bits, sizeof(bits), machine + OP_DOTNET_TABLE_ROW))
		return op_dn_await_end(u, OP_ERROR_dotnet_read_await);
	op_push_word(u, op_runtime_word(u, OP_DOTNET_FRAME_WORDS, machine));
	op_push_word(u, (__u64)op_dn_row(u, bits) << 32);
	op_push_word(u, 0);
	u->out.frames++;
	op_dn_set_phase(u, OP_DN_AWAIT_NEXT);
	return OP_NEXT_CONTINUE;
}

/* Take a continuation, or what it holds: a box, another task, or neither. */
static __always_inline enum op_next op_dn_take(struct op_unwind *u, bool held)
{
	__u64 *word = op_state(u)->word;
	__u64 parent;
	__u64 table = 0;

	if (op_dn_read(u, word[OP_DN_OBJECT], &table) || op_dn_read_table(u, table))
		return op_dn_await_end(u, OP_ERROR_dotnet_read_await);
	if (op_dn_is_box(u))
		return op_dn_push_box(u);
	parent = op_dn_word(u, OP_DN_TABLE + OP_DN_TABLE_PARENT);
	if (parent && parent != word[OP_DN_OFFSET] &&
	    op_dn_read(u, parent + OP_DN_TABLE_PARENT, &parent))
		return op_dn_await_end(u, OP_ERROR_dotnet_read_await);
	if (parent == word[OP_DN_OFFSET]) {
		op_dn_set_phase(u, OP_DN_AWAIT_NEXT);
		return OP_NEXT_CONTINUE;
	}
	if (held || op_dn_read(u, word[OP_DN_OBJECT] + OP_DN_HELD, &word[OP_DN_OBJECT]) ||
	    !word[OP_DN_OBJECT])
		return op_dn_await_end(u, 0);
	op_dn_set_phase(u, OP_DN_AWAIT_HELD);
	return OP_NEXT_CONTINUE;
}

/* One step on the way through the tasks. */
static __always_inline enum op_next op_dn_await(struct op_unwind *u)
{
	switch (op_dn_phase(u)) {
	case OP_DN_AWAIT_FIND:
		return op_dn_find(u);
	case OP_DN_AWAIT_NEXT:
		return op_dn_next(u);
	default:
		return op_dn_take(u, op_dn_phase(u) == OP_DN_AWAIT_HELD);
	}
}

#endif
