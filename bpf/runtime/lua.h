/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The LuaJIT step. The interpreter is one piece of assembly. When C calls it, it makes a
 * C frame of 80 bytes with the lua_State (L), and L points to the innermost of these. Lua
 * frames are on L's own stack. One activation of the interpreter runs a section of them,
 * down to the frame that C called. The step pushes them at the activation, so native and
 * Lua frames appear in their true order. A coroutine is another L, with an activation of
 * its own.
 *
 * Each step reads the caller of the current frame, and then pushes the current frame,
 * because the caller's bytecode has its name.
 *
 * A trace is generated code that runs in the C frame of the interpreter which entered it, with more
 * bytes below it. Its functions are inlined: the frame has the trace and the place in it.
 */
#ifndef OP_LUA_STEP_H
#define OP_LUA_STEP_H

#include "bpf/walk/native.h"
#include "bpf/walk/unwind.h"
#include "op_lua.h"

#if defined(__TARGET_ARCH_x86)

/* Numbers of op_state(u)->word. */
enum {
	OP_LJ_STATE = 0,  /* L; 0: not found yet */
	OP_LJ_BASE = 1,	  /* the start of the current frame's slots */
	OP_LJ_LINK = 2,	  /* the word before them: how the frame was called */
	OP_LJ_OBJECT = 3, /* words 0 and 1 of the current frame; 0: none is left */
	OP_LJ_PLACE = 4,
	OP_LJ_CALLER = 5,  /* with OP_LJ_CONT: the caller's pc; OP_LJ_IS_LEAF: its sp */
	OP_LJ_BOTTOM = 6,  /* the base at which the frames end */
	OP_LJ_ENTERED = 7, /* words 4 and 5 of a trace's frame; until then global_State */
	OP_LJ_ENTERED_PLACE = 8,
	OP_LJ_FLAGS = 9, /* OP_LJ_IS_*, and bytes searched for a C frame */
};

/* The work on an activation, in steps: find the C frame, read the innermost frame, enter
 * the activation, then go from each frame to its caller. One place in the code reads
 * frames, which keeps the verifier's work small. */
enum {
	OP_LJ_IS_RUN = 1 << 0,	 /* the frames of an activation are being pushed */
	OP_LJ_IS_TRACE = 1 << 1, /* a trace runs, in the innermost frame */
	OP_LJ_IS_LEAF = 1 << 2,	 /* the interpreter's own function was interrupted */
	OP_LJ_SEARCH = 1 << 4,	 /* C frames are aligned to 16 */
	OP_LJ_SEARCH_MASK = 0xfff0,
	OP_LJ_SEARCH_MAX = 2048,
	/* the C frame is found; OP_LJ_BASE is the innermost frame's */
	OP_LJ_IS_FOUND = 1 << 16,
	OP_LJ_IS_READ = 1 << 17,     /* the innermost frame is the current one */
	OP_LJ_IS_SEARCHED = 1 << 18, /* the C frame is above sp */
	OP_LJ_IS_WHOLE = 1 << 19,    /* the registers are the interpreter's */
	OP_LJ_IS_RETURNED = 1 << 20, /* the innermost frame has returned */
	OP_LJ_IS_END = 1 << 21,	     /* no frame is left */

	/* in a C frame */
	OP_LJ_CFRAME_RESULTS = 8,
	OP_LJ_CFRAME_STATE = 16,
	OP_LJ_CFRAME_PC = 24,
	OP_LJ_CFRAME_RETURN = 72,
	/* a link's low bits are its type; with type 0 the link is the caller's pc */
	OP_LJ_LINK_TYPE = 7,
	OP_LJ_LINK_LUA_MASK = 3,
	OP_LJ_CONT = 2,	       /* through a continuation, such as that of a metamethod */
	OP_LJ_VARARG = 3,      /* a copy of the frame below */
	OP_LJ_FROM_C = 1,      /* of type & 3 */
	OP_LJ_JUMP_BYTES = 16, /* of the jump into a trace, after sp was moved */
	OP_LJ_CONT_CALLBACK = 1, /* the continuation of a callback through the FFI */
	OP_LJ_COPY = 2,		 /* the caller's pc: the frame is a copy of it */

	/* of runtime_bytes */
	OP_LJ_AT_LINKS = 0,
	OP_LJ_AT_OBJECT = 32,
	OP_LJ_AT_PROTO = 80,
	OP_LJ_AT_STATE = 0,
	OP_LJ_AT_TRACE = 96,
	OP_LJ_AT_CALLER = 248,
};

#define OP_LJ_ADDRESS_MASK ((1ULL << 47) - 1)

/* Word @i of struct op_lua, which is in @slab. */
static __always_inline __u64 op_lj_word(struct op_unwind *u, const __u8 *slab, __u32 i)
{
	return op_slab_u64(slab, (op_state(u)->ref << OP_REF_SHIFT) & (OP_SLAB_BYTES - 1),
			   i);
}

#define OP_LJ_SLAB(u)		    op_platform_slab(u, op_state(u)->ref >> OP_REF_SLAB_SHIFT)
#define OP_LJ_AT(member)	    (__builtin_offsetof(struct op_lua, member) / 8)
#define OP_LJ_WORD(u, slab, member) op_lj_word(u, slab, OP_LJ_AT(member))

/* 1 if pc is in [begin, end), 0 if not. Without a branch, which the verifier splits. */
static __always_inline __u64 op_lj_within(const struct op_unwind *u, __u64 begin,
					  __u64 end)
{
	return (~(u->pc - begin) & (u->pc - end)) >> 63;
}

/* The same for the range that begins with word @i of struct op_lua. */
static __always_inline __u64 op_lj_in_code(struct op_unwind *u, const __u8 *slab, __u32 i)
{
	return op_lj_within(u, op_lj_word(u, slab, i), op_lj_word(u, slab, i + 1));
}

static __always_inline __u64 op_lj_field(struct op_unwind *u, __u32 off)
{
	return *(__u64 *)(u->runtime_bytes + (off & (OP_RUNTIME_BYTES - 8)));
}

/* The type of the object at @off of runtime_bytes. */
static __always_inline __u8 op_lj_type(struct op_unwind *u, __u32 off)
{
	return u->runtime_bytes[(off + OP_LUA_OBJECT_TYPE) & (OP_RUNTIME_BYTES - 1)];
}

/* Leave the step to the native frame. After an @error no Lua frame follows. */
static __always_inline enum op_next op_lj_leave(struct op_unwind *u, __u32 error)
{
	if (error)
		op_state(u)->error = error;
	op_state(u)->word[OP_LJ_FLAGS] = 0;
	return op_leave_runtime(u, 1);
}

/* Read L at @state into runtime_bytes. Returns the innermost C frame that it has, or 0. */
static __always_inline __u64 op_lj_state(struct op_unwind *u, __u64 state)
{
	if (!state || (state & 7) ||
	    op_platform_read(u, u->runtime_bytes, OP_LUA_STATE_BYTES, state) ||
	    op_lj_type(u, OP_LJ_AT_STATE) != OP_LUA_TYPE_THREAD)
		return 0;
	return op_lj_field(u, OP_LUA_STATE_CFRAME) & ~3ULL; /* the low bits are flags */
}

/* Make the frame at @base the current one, without its object. Returns 0 or -1. */
static __always_inline int op_lj_links(struct op_unwind *u, __u64 base)
{
	__u64 *state = op_state(u)->word;

	/* continuation, caller's pc, function, link */
	if (op_platform_read(u, u->runtime_bytes + OP_LJ_AT_LINKS, 32, base - 32))
		return -1;
	state[OP_LJ_BASE] = base;
	state[OP_LJ_LINK] = op_lj_field(u, OP_LJ_AT_LINKS + 24);
	state[OP_LJ_CALLER] = op_lj_field(u, OP_LJ_AT_LINKS + 8);
	if (op_lj_field(u, OP_LJ_AT_LINKS) <= OP_LJ_CONT_CALLBACK)
		state[OP_LJ_CALLER] = op_lj_field(u, OP_LJ_AT_LINKS);
	return 0;
}

/* Read the object of the frame whose links were read. Returns 0 or -1. */
static __always_inline int op_lj_object(struct op_unwind *u)
{
	__u64 function = op_lj_field(u, OP_LJ_AT_LINKS + 16) & OP_LJ_ADDRESS_MASK;
	__u64 *state = op_state(u)->word;
	__u64 proto;
	__u8 type;
	__u8 ffid;

	state[OP_LJ_OBJECT] = 0;
	state[OP_LJ_PLACE] = 0;
	if (state[OP_LJ_BASE] <= state[OP_LJ_BOTTOM])
		return 0;
	if (op_platform_read(u, u->runtime_bytes + OP_LJ_AT_OBJECT, OP_LUA_FUNCTION_BYTES,
			     function))
		return -1;
	type = op_lj_type(u, OP_LJ_AT_OBJECT);
	ffid = u->runtime_bytes[OP_LJ_AT_OBJECT + OP_LUA_OBJECT_TYPE + 1];
	state[OP_LJ_PLACE] = OP_LUA_C << OP_LUA_KIND_SHIFT | ffid;
	if (type == OP_LUA_TYPE_THREAD) /* L itself: a frame of its error handling */
		return 0;
	if (type != OP_LUA_TYPE_FUNCTION)
		return -1;
	state[OP_LJ_OBJECT] =
		op_lj_field(u, OP_LJ_AT_OBJECT + OP_LUA_FUNCTION_C) & OP_LJ_ADDRESS_MASK;
	if (ffid)
		return 0;
	proto = op_lj_field(u, OP_LJ_AT_OBJECT + OP_LUA_FUNCTION_PC) - OP_LUA_PROTO_BYTES;
	if (op_platform_read(u, u->runtime_bytes + OP_LJ_AT_PROTO, OP_LUA_PROTO_LINES + 8,
			     proto) ||
	    op_lj_type(u, OP_LJ_AT_PROTO) != OP_LUA_TYPE_PROTO)
		return -1;
	state[OP_LJ_OBJECT] = proto;
	state[OP_LJ_PLACE] =
		OP_LUA_NO_PLACE |
		(__u64)op_lua_guard(op_lj_field(u, OP_LJ_AT_PROTO + OP_LUA_PROTO_SIZE) >>
					    32,
				    op_lj_field(u, OP_LJ_AT_PROTO + OP_LUA_PROTO_FILE),
				    op_lj_field(u, OP_LJ_AT_PROTO + OP_LUA_PROTO_LINES))
			<< 32;
	return 0;
}

static __always_inline __u32 op_lj_kind(__u64 place)
{
	return (__u8)(place >> OP_LUA_KIND_SHIFT);
}

/* Is the current frame Lua code? */
static __always_inline bool op_lj_is_code(const __u64 *state)
{
	return state[OP_LJ_OBJECT] && op_lj_kind(state[OP_LJ_PLACE]) == OP_LUA_CODE;
}

/* Set the current frame's place. @pc is the address of its next instruction. */
static __always_inline void op_lj_at(__u64 *state, __u64 pc)
{
	__u64 place = (pc - state[OP_LJ_OBJECT] - OP_LUA_PROTO_BYTES) / 4;

	if (!op_lj_is_code(state))
		return;
	if (place >= OP_LUA_RETURNS)
		place = OP_LUA_NO_PLACE;
	state[OP_LJ_PLACE] = (state[OP_LJ_PLACE] & ~(__u64)OP_LUA_PLACE_MASK) | place;
}

/* Push the frame with the words @object and @place, and those in @state. */
static __always_inline void op_lj_push(struct op_unwind *u, __u64 object, __u64 place,
				       bool named)
{
	const __u64 *state = op_state(u)->word;
	bool trace = op_lj_kind(place) == OP_LUA_TRACE;
	__u32 words = OP_LUA_FRAME_WORDS + (named | trace) * 2 + trace * 2;
	__u32 first = u->out.words;
	__u64 keep = -(__u64)named;

	if (!object)
		return;
	/* push all words without branches: those past the length do not count */
	op_push_word(u, op_runtime_word(u, words, object));
	op_push_word(u, place);
	op_push_word(u, state[OP_LJ_OBJECT] & keep);
	op_push_word(u, state[OP_LJ_PLACE] & keep);
	op_push_word(u, state[OP_LJ_ENTERED]);
	op_push_word(u, state[OP_LJ_ENTERED_PLACE]);
	u->out.words = first + words;
	u->out.frames++;
}

/* The base of the current frame's caller, or 0. The caller's next instruction goes to
 * OP_LJ_AT_CALLER, or OP_LJ_CONT_CALLBACK if C called. */
static __always_inline __u64 op_lj_caller(struct op_unwind *u)
{
	__u64 *state = op_state(u)->word;
	__u64 link = state[OP_LJ_LINK];
	__u64 base = state[OP_LJ_BASE];
	__u32 type = link & OP_LJ_LINK_TYPE;
	__u64 pc = (type & OP_LJ_LINK_LUA_MASK) == OP_LJ_FROM_C;
	__u32 instruction = 0;

	if (!(type & OP_LJ_LINK_LUA_MASK)) {
		pc = link;
		if (op_platform_read(u, &instruction, 4, pc - 4))
			return 0;
		/* the slot of the called function */
		base -= 16 + 8 * (instruction >> 8 & 0xff);
	} else {
		base -= link & ~(__u64)OP_LJ_LINK_TYPE;
	}
	if (type == OP_LJ_CONT)
		pc = state[OP_LJ_CALLER];
	if (type == OP_LJ_VARARG)
		pc = OP_LJ_COPY;
	*(__u64 *)(u->runtime_bytes + OP_LJ_AT_CALLER) = pc;
	return base < state[OP_LJ_BASE] ? base : 0;
}

/* Push the frame with the words @object and @place. Its caller is the current frame, if
 * it could be read. */
static __always_inline enum op_next op_lj_next(struct op_unwind *u, __u64 object,
					       __u64 place, bool failed)
{
	__u64 *state = op_state(u)->word;
	__u64 pc = op_lj_field(u, OP_LJ_AT_CALLER);

	if (!failed)
		op_lj_at(state, pc);
	op_lj_push(u, object, place,
		   pc > OP_LJ_CONT_CALLBACK && !failed && op_lj_is_code(state));
	if (failed)
		return op_lj_leave(u, OP_ERROR_lua_read_frame);
	return pc == OP_LJ_CONT_CALLBACK ? op_lj_leave(u, 0) : OP_NEXT_CONTINUE;
}

/* 1 if the first @bytes of @code are @of, 0 if not, without a branch. */
static __always_inline __u64 op_lj_is(__u64 code, __u64 of, __u32 bytes)
{
	return (((code ^ of) << (64 - 8 * bytes) >> 1) - 1) >> 63;
}

/* If the code at pc has no complete C frame: the distance of the return address from sp.
 * The interpreter pushes rbp, rbx, r15 and r14, and subtracts 40 from sp. The
 * instructions at pc show how far that is done. Elsewhere pc is in a function of the
 * interpreter without a frame. */
static __always_inline __u64 op_lj_unmade(struct op_unwind *u, const __u8 *slab)
{
	__u64 code = 0;
	__u64 off;

	if (op_platform_read(u, &code, 8, u->pc))
		return 0;
	off = op_lj_is(code, 0x41574153, 4) * 8 + /* of push rbp, rbx, r15, r14 */
	      op_lj_is(code, 0x56415741, 4) * 16 + op_lj_is(code, 0x83485641, 4) * 24 +
	      op_lj_is(code, 0x28ec8348, 4) * 32 + /* sub rsp, 40 */
	      (op_lj_is(code, 0x28c48348, 4) | op_lj_is(code, 0x28c48348c031, 6)) *
		      OP_LJ_CFRAME_RETURN +
	      op_lj_is(code, 0x5f415e41, 4) * 32 + /* of pop r14, r15, rbx, rbp */
	      op_lj_is(code, 0x5d5b5f41, 4) * 24 + op_lj_is(code, 0x5d5b, 2) * 16 +
	      op_lj_is(code, 0x5d, 1) * 8;
	off |= (op_lj_in_code(u, slab, OP_LJ_AT(enter)) & op_lj_is(off, 0, 4) &
		~op_lj_is(code, 0x57415355, 4)) *
	       OP_LJ_CFRAME_RETURN;
	return off;
}

/* Push the native frame at pc: the return address is at sp + @off, rbp below that. */
static __always_inline enum op_next op_lj_native(struct op_unwind *u, __u64 off)
{
	__u64 ra = 0;

	if (!op_frame_room(u))
		return op_end(u, OP_END_TRUNCATED);
	if (op_read_stack(u, u->sp + off, &ra) ||
	    (off && op_read_stack(u, u->sp + off - 8, &u->fp)))
		return op_lj_leave(u, OP_ERROR_lua_no_activation);
	op_push_word(u, op_frame_word(OP_FRAME_NATIVE_EXACT, u->pc));
	u->out.frames++;
	u->pc = ra;
	u->sp += off + 8;
	u->exact = 0;
	u->kept_lost = 1;
	op_state(u)->word[OP_LJ_FLAGS] = off ? 0 : OP_LJ_IS_LEAF;
	op_state(u)->word[OP_LJ_CALLER] = u->sp;
	return op_leave_runtime(u, 0);
}

/* The start of the slots of L's innermost frame. L is in runtime_bytes. 0: it cannot be
 * read. */
static __always_inline __u64 op_lj_innermost(struct op_unwind *u, const __u8 *slab)
{
	__u64 *state = op_state(u)->word;
	__u64 bottom = op_lj_field(u, OP_LUA_STATE_STACK) + 16;
	__u64 limit = op_lj_field(u, OP_LUA_STATE_LIMIT);
	__u64 own = op_lj_field(u, OP_LUA_STATE_BASE);
	__u64 flags = state[OP_LJ_FLAGS];
	/* in rdx, in rbp while C runs that cannot fail, in L while C runs that can */
	__u64 base = flags & OP_LJ_IS_WHOLE ? u->reg[OP_X86_RDX] : u->fp;

	if (base < bottom || base > limit || (base & 7) || base == state[OP_LJ_STATE])
		base = own;
	state[OP_LJ_BOTTOM] = bottom;
	state[OP_LJ_ENTERED] = op_lj_field(u, OP_LUA_STATE_GLOBAL);
	if (flags & OP_LJ_IS_END)
		base = u->reg[OP_X86_RBX];
	if (!(flags & OP_LJ_IS_TRACE))
		return base;
	if (op_platform_read(u, &base, 8,
			     state[OP_LJ_ENTERED] + (OP_LJ_WORD(u, slab, running) >> 32)))
		return 0;
	if (base)
		return base;
	state[OP_LJ_FLAGS] = flags ^ OP_LJ_IS_TRACE; /* the trace has ended */
	return own;
}

/* Set the place of the innermost frame when the interpreter was interrupted. */
static __always_inline void op_lj_interrupted(struct op_unwind *u)
{
	__u64 *state = op_state(u)->word;
	__u64 size = op_lj_field(u, OP_LJ_AT_PROTO + OP_LUA_PROTO_SIZE) >> 32;
	__u64 pc = u->reg[OP_X86_RBX];
	__u32 code = 0;

	/* mov [rdx - 8], rbx is about to store the link */
	if (!op_platform_read(u, &code, 4, u->pc) && code == 0xf85a8948)
		state[OP_LJ_LINK] = pc;
	if (!op_lj_is_code(state))
		return;
	if (pc - state[OP_LJ_OBJECT] - OP_LUA_PROTO_BYTES <= size * 4)
		op_lj_at(state, pc);
	else if (pc == state[OP_LJ_LINK])
		state[OP_LJ_PLACE] ^= OP_LUA_NO_PLACE ^ OP_LUA_RETURNS;
}

/* If the running trace is known and pc is in it, it replaces the current frame, which it
 * entered. */
static __always_inline void op_lj_trace(struct op_unwind *u)
{
	const __u8 *slab = OP_LJ_SLAB(u);
	__u64 *state = op_state(u)->word;
	__u64 global = state[OP_LJ_ENTERED];
	__u32 number = 0;
	__u64 trace = 0;
	__u64 at;

	if (!slab || !op_lj_is_code(state) ||
	    op_platform_read(u, &number, 4,
			     global + (__u32)OP_LJ_WORD(u, slab, running)) ||
	    op_platform_read(u, &trace, 8, global + (__u32)OP_LJ_WORD(u, slab, traces)) ||
	    number >= 1U << 16 || op_platform_read(u, &trace, 8, trace + number * 8ULL) ||
	    op_platform_read(u, u->runtime_bytes + OP_LJ_AT_TRACE, OP_LUA_TRACE_BYTES,
			     trace) ||
	    op_lj_type(u, OP_LJ_AT_TRACE) != OP_LUA_TYPE_TRACE)
		return;
	at = u->pc - op_lj_field(u, OP_LJ_AT_TRACE + OP_LUA_TRACE_CODE) - !u->exact;
	if (at >= op_lj_field(u, OP_LJ_AT_TRACE + OP_LUA_TRACE_SIZE) >> 32)
		at = OP_LUA_NO_PLACE; /* an exit of the trace */
	state[OP_LJ_ENTERED] = state[OP_LJ_OBJECT];
	state[OP_LJ_ENTERED_PLACE] = state[OP_LJ_PLACE];
	state[OP_LJ_OBJECT] = trace & OP_LJ_ADDRESS_MASK;
	state[OP_LJ_PLACE] =
		(at & OP_LUA_PLACE_MASK) | OP_LUA_TRACE << OP_LUA_KIND_SHIFT |
		(__u64)op_lua_guard(op_lj_field(u, OP_LJ_AT_TRACE + OP_LUA_TRACE_PROTO),
				    op_lj_field(u, OP_LJ_AT_TRACE + OP_LUA_TRACE_PC),
				    op_lj_field(u, OP_LJ_AT_TRACE + OP_LUA_TRACE_CODE))
			<< 32;
}

/* The innermost frame could not be read: it has returned, and its result overwrote its
 * function. The next step reads its caller. */
static __always_inline enum op_next op_lj_returned(struct op_unwind *u)
{
	__u64 *state = op_state(u)->word;
	__u64 pc = state[OP_LJ_LINK];
	__u32 instruction = 0;

	if (!(state[OP_LJ_FLAGS] & OP_LJ_IS_WHOLE) ||
	    (state[OP_LJ_FLAGS] & (OP_LJ_IS_TRACE | OP_LJ_IS_RETURNED | OP_LJ_IS_END)) ||
	    pc != u->reg[OP_X86_RBX] || (pc & OP_LJ_LINK_LUA_MASK) ||
	    op_platform_read(u, &instruction, 4, pc - 4))
		return op_lj_leave(u, OP_ERROR_lua_read_frame);
	state[OP_LJ_BASE] -= 16 + 8 * (instruction >> 8 & 0xff);
	state[OP_LJ_FLAGS] |= OP_LJ_IS_RETURNED;
	return OP_NEXT_CONTINUE;
}

/* The innermost frame is now the current one. */
static __always_inline enum op_next op_lj_begun(struct op_unwind *u)
{
	__u64 *state = op_state(u)->word;
	__u32 flags = (__u32)state[OP_LJ_FLAGS];

	/* returning to C: the next activation of L continues with the caller */
	if (flags & OP_LJ_IS_END)
		return op_lj_leave(u, 0);
	if (flags & OP_LJ_IS_RETURNED)
		op_lj_at(state, u->reg[OP_X86_RBX]);
	else if (flags & OP_LJ_IS_TRACE)
		op_lj_trace(u);
	else if (flags & OP_LJ_IS_WHOLE)
		op_lj_interrupted(u);
	state[OP_LJ_FLAGS] = flags | OP_LJ_IS_READ;
	return OP_NEXT_CONTINUE;
}

/* Read the activation's innermost frame, or push the current frame and read its
 * caller. */
static __always_inline enum op_next op_lj_frame(struct op_unwind *u)
{
	const __u8 *slab = OP_LJ_SLAB(u);
	__u64 *state = op_state(u)->word;
	__u64 object = state[OP_LJ_OBJECT];
	__u64 place = state[OP_LJ_PLACE];
	__u64 base = state[OP_LJ_BASE];
	bool failed;

	if (!slab)
		return op_lj_leave(u, OP_ERROR_lua_read_frame);
	*(__u64 *)(u->runtime_bytes + OP_LJ_AT_CALLER) = 0;
	if (state[OP_LJ_FLAGS] & OP_LJ_IS_RUN) {
		if (base <= state[OP_LJ_BOTTOM])
			return op_lj_leave(u, 0);
		if (!op_frame_room(u))
			return op_end(u, OP_END_TRUNCATED);
		base = op_lj_caller(u);
	} else if (!(state[OP_LJ_FLAGS] & OP_LJ_IS_RETURNED)) {
		base = op_lj_innermost(u, slab);
	}
	if (op_lj_links(u, base))
		return op_lj_leave(u, OP_ERROR_lua_read_frame);
	if (op_lj_field(u, OP_LJ_AT_CALLER) == OP_LJ_COPY)
		return OP_NEXT_CONTINUE;
	failed = op_lj_object(u);
	if (state[OP_LJ_FLAGS] & OP_LJ_IS_RUN)
		return op_lj_next(u, object, place, failed);
	return failed ? op_lj_returned(u) : op_lj_begun(u);
}

/* The activation's flags by pc: OP_LJ_IS_*, and the bytes searched. The registers are the
 * interpreter's if it was interrupted, or one of its own functions, which keep them. */
static __always_inline __u64 op_lj_known(struct op_unwind *u, const __u8 *slab)
{
	const __u64 *state = op_state(u)->word;
	__u64 jump = OP_LJ_WORD(u, slab, jump);
	__u64 trace = u->map.flags / OP_MAPPING_CODE & 1;
	__u64 leaf = state[OP_LJ_FLAGS] / OP_LJ_IS_LEAF &
		     op_lj_is(state[OP_LJ_CALLER], u->sp, 6);
	__u64 left = op_lj_in_code(u, slab, OP_LJ_AT(leave)) |
		     op_lj_within(u, jump - OP_LJ_JUMP_BYTES, jump);
	__u64 end = op_lj_in_code(u, slab, OP_LJ_AT(end)) & u->exact;

	return (state[OP_LJ_FLAGS] & (OP_LJ_SEARCH_MASK | OP_LJ_IS_LEAF)) |
	       (u->exact | leaf) * OP_LJ_IS_WHOLE | trace * OP_LJ_IS_TRACE |
	       (trace | left) * OP_LJ_IS_SEARCHED | (end & ~left) * OP_LJ_IS_END;
}

/* Look for the C frame of the activation at pc, one place in each step: at sp, or above
 * it if a trace runs or has exited to the interpreter. */
static __always_inline enum op_next op_lj_find(struct op_unwind *u)
{
	const __u8 *slab = OP_LJ_SLAB(u);
	__u64 *state = op_state(u)->word;
	__u64 searched;
	__u64 flags;
	__u64 off;
	__u64 at;
	__u64 l = 0;
	bool same;

	if (!slab)
		return op_lj_leave(u, OP_ERROR_lua_no_activation);
	flags = state[OP_LJ_FLAGS] = op_lj_known(u, slab);
	off = flags & OP_LJ_SEARCH_MASK;
	searched = flags / OP_LJ_IS_SEARCHED & 1;
	at = (u->sp & ~(searched * 15)) + searched * off;
	if (off >= OP_LJ_SEARCH_MAX || op_read_stack(u, at + OP_LJ_CFRAME_STATE, &l))
		return op_lj_leave(u, searched && !(flags & OP_LJ_IS_TRACE)
					      ? 0 /* C code */
					      : OP_ERROR_lua_no_activation);
	same = l == state[OP_LJ_STATE] && !u->exact;
	if (op_lj_state(u, l) == at && at >= u->sp) {
		state[OP_LJ_STATE] = l;
		state[OP_LJ_FLAGS] |= same ? OP_LJ_IS_READ : OP_LJ_IS_FOUND;
	} else if (state[OP_LJ_FLAGS] & OP_LJ_IS_SEARCHED) {
		state[OP_LJ_FLAGS] += OP_LJ_SEARCH;
	} else if (u->exact) {
		return op_lj_native(u, op_lj_unmade(u, slab));
	} else if (!same) {
		return op_lj_leave(u, OP_ERROR_lua_no_activation);
	} else { /* an outer activation of L */
		state[OP_LJ_FLAGS] |= OP_LJ_IS_READ;
	}
	return OP_NEXT_CONTINUE;
}

/* The innermost frame of the activation is read: begin pushing its frames. */
static __always_inline enum op_next op_lj_enter(struct op_unwind *u)
{
	const __u8 *slab = OP_LJ_SLAB(u);
	__u64 *state = op_state(u)->word;
	__u32 flags = (__u32)state[OP_LJ_FLAGS];
	__s32 results;

	if (flags & OP_LJ_IS_SEARCHED) {
		u->sp = (u->sp & ~15ULL) + (flags & OP_LJ_SEARCH_MASK);
		u->exact = 0;
		u->kept_lost = 1;
		if (u->map.flags & OP_MAPPING_CODE && slab)
			u->pc = OP_LJ_WORD(u, slab, jump);
	}
	/* number of results, L, pc */
	if (op_platform_read_stack(u, u->runtime_bytes, 24, u->sp + OP_LJ_CFRAME_RESULTS))
		return op_lj_leave(u, OP_ERROR_lua_no_activation);
	results = (__s32)op_lj_field(u, 0);
	/* a C function called in this way has no Lua frame, so there are none */
	if (results < 0 && state[OP_LJ_BASE] - 8 < state[OP_LJ_BOTTOM] - 16 - results)
		return op_lj_leave(u, 0);
	if (((flags & OP_LJ_IS_SEARCHED) || !(flags & OP_LJ_IS_WHOLE)) &&
	    (state[OP_LJ_PLACE] & OP_LUA_PLACE_MASK) == OP_LUA_NO_PLACE)
		op_lj_at(state, op_lj_field(u, 16));
	state[OP_LJ_FLAGS] = OP_LJ_IS_RUN;
	return OP_NEXT_CONTINUE;
}

/* Push one frame of the activation at u->pc, or continue natively. */
static __always_inline enum op_next op_step_lua(struct op_unwind *u)
{
	__u32 flags = (__u32)op_state(u)->word[OP_LJ_FLAGS];

	if (u->heap_moved && !op_state(u)->error)
		op_state(u)->error = OP_ERROR_lua_late;
	if (op_state(u)->error)
		return op_lj_leave(u, 0);
	if (flags & OP_LJ_IS_READ)
		return op_lj_enter(u);
	return flags & (OP_LJ_IS_FOUND | OP_LJ_IS_RUN) ? op_lj_frame(u) : op_lj_find(u);
}

#else

static __always_inline enum op_next op_step_lua(struct op_unwind *u)
{
	return op_leave_runtime(u, 1);
}

#endif
#endif
