/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The LuaJIT step. The interpreter is one piece of assembly. When C calls it, it makes a C frame
 * of 80 bytes with the lua_State (L), and L has the innermost of these. The frames of Lua stand on
 * L's own stack. One activation of the interpreter runs a section of them, down to the frame that C
 * called. The step pushes them at the activation, so native and Lua frames appear in their true
 * order. A coroutine is another L, with an activation of its own.
 *
 * Each step reads the caller of the frame at hand, and then pushes that frame: the caller's
 * bytecode names it.
 *
 * A trace is generated code that runs in the C frame of the interpreter which entered it, with more
 * bytes below it. Its functions are inlined: the frame has the trace and the place in it.
 */
#ifndef OP_LUA_STEP_H
#define OP_LUA_STEP_H

#include "bpf/runtime/op_lua.h"
#include "bpf/walk/native.h"
#include "bpf/walk/unwind.h"

#if defined(__TARGET_ARCH_x86)

/* Numbers of op_state(u)->word. */
enum {
	OP_LJ_STATE = 0,  /* L; 0: none yet */
	OP_LJ_BASE = 1,	  /* where the slots of the frame at hand begin */
	OP_LJ_LINK = 2,	  /* the word before them: how the frame was called */
	OP_LJ_OBJECT = 3, /* words 0 and 1 of the frame at hand; 0: none is left */
	OP_LJ_PLACE = 4,
	OP_LJ_CALLER = 5,  /* with OP_LJ_CONT: the caller's pc; OP_LJ_IS_LEAF: its sp */
	OP_LJ_BOTTOM = 6,  /* the frame of this base is none */
	OP_LJ_ENTERED = 7, /* words 4 and 5 of a trace's frame */
	OP_LJ_ENTERED_PLACE = 8,
	OP_LJ_FLAGS = 9, /* OP_LJ_IS_*, and bytes searched for a C frame */
};

enum {
	OP_LJ_IS_RUN = 1 << 0,	 /* the frames of an activation are being pushed */
	OP_LJ_IS_TRACE = 1 << 1, /* a trace led to the activation that is next */
	OP_LJ_IS_LEAF = 1 << 2,	 /* the interpreter's own function was interrupted */
	OP_LJ_SEARCH = 1 << 4,	 /* C frames are aligned to 16 */
	OP_LJ_SEARCH_MASK = 0xfff0,
	OP_LJ_SEARCH_MAX = 2048,

	/* in a C frame */
	OP_LJ_CFRAME_RESULTS = 8,
	OP_LJ_CFRAME_STATE = 16,
	OP_LJ_CFRAME_PC = 24,
	OP_LJ_CFRAME_RETURN = 72,
	/* the type of a link is in its low bits; with type 0 it is the caller's pc */
	OP_LJ_LINK_TYPE = 7,
	OP_LJ_LINK_LUA_MASK = 3,
	OP_LJ_CONT = 2,	       /* by way of a continuation, of a metamethod or the like */
	OP_LJ_VARARG = 3,      /* a copy of the frame below */
	OP_LJ_FROM_C = 1,      /* of type & 3 */
	OP_LJ_JUMP_BYTES = 16, /* of the jump into a trace, after sp was moved */
	OP_LJ_CONT_CALLBACK = 1, /* the continuation of what C called through the FFI */

	/* of runtime_bytes */
	OP_LJ_AT_LINKS = 0,
	OP_LJ_AT_OBJECT = 32,
	OP_LJ_AT_PROTO = 80,
	OP_LJ_AT_STATE = 0,
	OP_LJ_AT_TRACE = 96,
	OP_LJ_AT_CALLER = 248,
};

#define OP_LJ_ADDRESS_MASK ((1ULL << 47) - 1)
#define OP_LJ_WORD(u, member)                                                            \
	op_arena_u64(u, op_state(u)->ref, __builtin_offsetof(struct op_lua, member))

static __always_inline __u64 op_lj_field(struct op_unwind *u, __u32 off)
{
	return *(__u64 *)(u->runtime_bytes + (off & (OP_RUNTIME_BYTES - 8)));
}

/* Is pc in the range at @off of struct op_lua? */
static __always_inline bool op_lj_within(struct op_unwind *u, __u32 off)
{
	return u->pc >= op_arena_u64(u, op_state(u)->ref, off) &&
	       u->pc < op_arena_u64(u, op_state(u)->ref, off + 8);
}

/* The type of the object at @off of runtime_bytes. */
static __always_inline __u8 op_lj_type(struct op_unwind *u, __u32 off)
{
	return u->runtime_bytes[(off + OP_LUA_OBJECT_TYPE) & (OP_RUNTIME_BYTES - 1)];
}

/* Leave the step and go on with the native frame. After an @error no Lua frame follows. */
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
	return op_lj_field(u, OP_LUA_STATE_CFRAME) & ~3ULL; /* bits: how it ends */
}

/* Make the frame with @base the one at hand, without its object. Returns 0 or -1. */
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
	if (type == OP_LUA_TYPE_THREAD) /* L itself: its error has this frame */
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

/* Is the frame at hand of code of Lua? */
static __always_inline bool op_lj_is_code(const __u64 *state)
{
	return state[OP_LJ_OBJECT] && op_lj_kind(state[OP_LJ_PLACE]) == OP_LUA_CODE;
}

/* The frame at hand is at @pc, the address of the next instruction. */
static __always_inline void op_lj_at(__u64 *state, __u64 pc)
{
	__u64 place = (pc - state[OP_LJ_OBJECT] - OP_LUA_PROTO_BYTES) / 4;

	if (!op_lj_is_code(state))
		return;
	if (place >= OP_LUA_RETURNS)
		place = OP_LUA_NO_PLACE;
	state[OP_LJ_PLACE] = (state[OP_LJ_PLACE] & ~(__u64)OP_LUA_PLACE_MASK) | place;
}

/* The frame that @frame, its words 0 and 1, and @state made. */
static __always_inline void op_lj_push(struct op_unwind *u, __u64 object, __u64 place,
				       bool named)
{
	const __u64 *state = op_state(u)->word;
	bool trace = op_lj_kind(place) == OP_LUA_TRACE;
	__u32 words = OP_LUA_FRAME_WORDS;

	if (!object)
		return;
	if (named)
		words = OP_LUA_CALLED_WORDS;
	if (trace)
		words = OP_LUA_TRACE_WORDS;
	op_push_word(u, op_runtime_word(u, words, object));
	op_push_word(u, place);
	if (named || trace) {
		op_push_word(u, named ? state[OP_LJ_OBJECT] : 0);
		op_push_word(u, named ? state[OP_LJ_PLACE] : 0);
	}
	if (trace) {
		op_push_word(u, state[OP_LJ_ENTERED]);
		op_push_word(u, state[OP_LJ_ENTERED_PLACE]);
	}
	u->out.frames++;
}

/* Push the frame at hand, and make its caller the one at hand. */
static __always_inline enum op_next op_lj_next(struct op_unwind *u)
{
	__u64 *state = op_state(u)->word;
	__u64 object = state[OP_LJ_OBJECT];
	__u64 place = state[OP_LJ_PLACE];
	__u64 link = state[OP_LJ_LINK];
	__u64 base = state[OP_LJ_BASE];
	__u32 type = link & OP_LJ_LINK_TYPE;
	/* of the caller; OP_LJ_CONT_CALLBACK: C called */
	__u64 pc = (type & OP_LJ_LINK_LUA_MASK) == OP_LJ_FROM_C;
	__u32 instruction = 0;

	if (base <= state[OP_LJ_BOTTOM])
		return op_lj_leave(u, 0);
	if (!op_frame_room(u))
		return op_end(u, OP_END_TRUNCATED);
	if (!(type & OP_LJ_LINK_LUA_MASK)) {
		pc = link;
		if (op_platform_read(u, &instruction, 4, pc - 4))
			return op_lj_leave(u, OP_ERROR_lua_read_frame);
		base -= 16 +
			8 * (instruction >> 8 & 0xff); /* where it put what it calls */
	} else {
		base -= link & ~(__u64)OP_LJ_LINK_TYPE;
	}
	if (type == OP_LJ_CONT)
		pc = state[OP_LJ_CALLER];
	/* in memory, as above */
	*(__u64 *)(u->runtime_bytes + OP_LJ_AT_CALLER) = pc;
	if (base >= state[OP_LJ_BASE] || op_lj_links(u, base))
		return op_lj_leave(u, OP_ERROR_lua_read_frame);
	if (type == OP_LJ_VARARG)
		return OP_NEXT_CONTINUE;
	if (op_lj_object(u)) {
		op_lj_push(u, object, place, false);
		return op_lj_leave(u, OP_ERROR_lua_read_frame);
	}
	pc = op_lj_field(u, OP_LJ_AT_CALLER);
	op_lj_at(state, pc);
	op_lj_push(u, object, place, pc > OP_LJ_CONT_CALLBACK && op_lj_is_code(state));
	return pc == OP_LJ_CONT_CALLBACK ? op_lj_leave(u, 0) : OP_NEXT_CONTINUE;
}

/*
 * Has the code before pc made no C frame, or ended it? Then the return address is that many bytes
 * above sp. The interpreter pushes rbp, rbx, r15, r14 and makes room of 40 bytes; what is at pc tells
 * how far it is. Elsewhere it is a function of the interpreter's without a frame.
 */
static __always_inline __u32 op_lj_unmade(struct op_unwind *u)
{
	__u64 code = 0;

	if (op_platform_read(u, &code, 8, u->pc))
		return 0;
	if ((__u32)code == 0x57415355) /* push rbp, rbx, r15 */
		return 0;
	if ((__u32)code == 0x41574153)
		return 8;
	if ((__u32)code == 0x56415741)
		return 16;
	if ((__u32)code == 0x83485641)
		return 24;
	if ((__u32)code == 0x28ec8348) /* sub rsp, 40 */
		return 32;
	if ((__u32)code == 0x28c48348 || (code & 0xffffffffffff) == 0x28c48348c031)
		return OP_LJ_CFRAME_RETURN;
	if ((__u32)code == 0x5f415e41) /* pop r14, r15 */
		return 32;
	if ((__u32)code == 0x5d5b5f41)
		return 24;
	if ((__u16)code == 0x5d5b)
		return 16;
	if ((__u8)code == 0x5d)
		return 8;
	return op_lj_within(u, __builtin_offsetof(struct op_lua, enter))
		       ? OP_LJ_CFRAME_RETURN
		       : 0;
}

/* Push the native frame at pc, whose return address is @off bytes above sp, with rbp below it. */
static __always_inline enum op_next op_lj_native(struct op_unwind *u, __u32 off)
{
	__u64 ra = 0;

	/* in memory: to the verifier all ways to here are one then */
	*(__u64 *)u->runtime_bytes = off;
	off = (__u32)op_lj_field(u, 0);
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

/* Are the registers those of the interpreter? Its own functions leave them alone. */
static __always_inline bool op_lj_has_registers(struct op_unwind *u)
{
	const __u64 *state = op_state(u)->word;

	return u->exact ||
	       ((state[OP_LJ_FLAGS] & OP_LJ_IS_LEAF) && state[OP_LJ_CALLER] == u->sp);
}

/* Where the slots of the innermost frame of L begin, which was read into runtime_bytes. */
static __always_inline __u64 op_lj_base(struct op_unwind *u, __u64 l)
{
	__u64 bottom = op_lj_field(u, OP_LUA_STATE_STACK) + 16;
	__u64 limit = op_lj_field(u, OP_LUA_STATE_LIMIT);
	/* rdx has it; while C runs that cannot fail, rbp. L has it when C runs that can. */
	__u64 base = op_lj_has_registers(u) ? u->reg[OP_X86_RDX] : u->fp;

	if (base >= bottom && base <= limit && !(base & 7) && base != l)
		return base;
	return op_lj_field(u, OP_LUA_STATE_BASE);
}

/* The place of the innermost frame, of which the interpreter was interrupted. */
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

/* Is the trace that runs known, and pc in it? It takes the place of the frame that it entered,
 * which is at hand. @global: of L. */
static __always_inline void op_lj_trace(struct op_unwind *u, __u64 global)
{
	__u64 *state = op_state(u)->word;
	__u32 number = 0;
	__u64 trace = 0;
	__u64 at;

	if (!op_lj_is_code(state) ||
	    op_platform_read(u, &number, 4, global + (__u32)OP_LJ_WORD(u, running)) ||
	    op_platform_read(u, &trace, 8, global + (__u32)OP_LJ_WORD(u, traces)) ||
	    number >= 1U << 16 || op_platform_read(u, &trace, 8, trace + number * 8ULL) ||
	    op_platform_read(u, u->runtime_bytes + OP_LJ_AT_TRACE, OP_LUA_TRACE_BYTES,
			     trace) ||
	    op_lj_type(u, OP_LJ_AT_TRACE) != OP_LUA_TYPE_TRACE)
		return;
	at = u->pc - op_lj_field(u, OP_LJ_AT_TRACE + OP_LUA_TRACE_CODE) - !u->exact;
	if (at >= op_lj_field(u, OP_LJ_AT_TRACE + OP_LUA_TRACE_SIZE) >> 32)
		at = OP_LUA_NO_PLACE; /* an exit of it */
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

/* The frame at hand has returned, and its result is where its function was: its caller becomes the one
 * at hand. Returns 0 or -1. */
static __always_inline int op_lj_returned(struct op_unwind *u)
{
	__u64 *state = op_state(u)->word;
	__u64 pc = state[OP_LJ_LINK];
	__u32 instruction = 0;

	if (pc != u->reg[OP_X86_RBX] || (pc & OP_LJ_LINK_LUA_MASK) ||
	    op_platform_read(u, &instruction, 4, pc - 4) ||
	    op_lj_links(u, state[OP_LJ_BASE] - 16 - 8 * (instruction >> 8 & 0xff)) ||
	    op_lj_object(u))
		return -1;
	op_lj_at(state, pc);
	return 0;
}

/* Begin with L at @l, which is in runtime_bytes. Its innermost frame becomes the one at hand. @trace:
 * a trace runs. Returns 0 or -1. */
static __always_inline int op_lj_begin(struct op_unwind *u, __u64 l, bool trace)
{
	__u64 *state = op_state(u)->word;
	__u64 global = op_lj_field(u, OP_LUA_STATE_GLOBAL);
	__u64 base = trace ? 0 : op_lj_base(u, l);
	__u64 own = op_lj_field(u, OP_LUA_STATE_BASE);
	bool has_registers = op_lj_has_registers(u);

	state[OP_LJ_STATE] = l;
	state[OP_LJ_BOTTOM] = op_lj_field(u, OP_LUA_STATE_STACK) + 16;
	if (trace &&
	    op_platform_read(u, &base, 8, global + (__u32)(OP_LJ_WORD(u, running) >> 32)))
		return -1;
	if (!base) {
		trace = false; /* it has ended */
		base = own;
	}
	if (op_lj_links(u, base))
		return -1;
	if (op_lj_object(u))
		return has_registers && !trace ? op_lj_returned(u) : -1;
	if (trace)
		op_lj_trace(u, global);
	else if (has_registers)
		op_lj_interrupted(u);
	return 0;
}

/* The interpreter is returning to C: no frame is left. The next activation of L goes on with the
 * caller's. */
static __always_inline enum op_next op_lj_end(struct op_unwind *u, __u64 l)
{
	__u64 *state = op_state(u)->word;

	state[OP_LJ_STATE] = l;
	state[OP_LJ_BOTTOM] = op_lj_field(u, OP_LUA_STATE_STACK) + 16;
	return op_lj_leave(u, op_lj_links(u, u->reg[OP_X86_RBX]) || op_lj_object(u)
				      ? OP_ERROR_lua_read_frame
				      : 0);
}

/* Look for the C frame above sp: one of them a step. @trace: pc is in generated code. */
static __always_inline enum op_next op_lj_search(struct op_unwind *u, bool trace)
{
	__u64 *state = op_state(u)->word;
	__u64 off = state[OP_LJ_FLAGS] & OP_LJ_SEARCH_MASK;
	__u64 at = (u->sp & ~15ULL) + off;
	__u64 l = 0;

	if (off >= OP_LJ_SEARCH_MAX || op_read_stack(u, at + OP_LJ_CFRAME_STATE, &l))
		return op_lj_leave(u, trace ? OP_ERROR_lua_no_activation : 0);
	if (at < u->sp || op_lj_state(u, l) != at) {
		state[OP_LJ_FLAGS] += OP_LJ_SEARCH;
		return OP_NEXT_CONTINUE;
	}
	state[OP_LJ_FLAGS] = 0;
	if (state[OP_LJ_STATE] != l && op_lj_begin(u, l, trace))
		return op_lj_leave(u, OP_ERROR_lua_read_frame);
	if (trace)
		u->pc = OP_LJ_WORD(u, jump);
	u->sp = at;
	u->exact = 0;
	u->kept_lost = 1;
	state[OP_LJ_FLAGS] = OP_LJ_IS_TRACE;
	return op_leave_runtime(u, 0);
}

/* The first step at an activation of the interpreter, whose C frame is at sp. */
static __always_inline enum op_next op_lj_enter(struct op_unwind *u)
{
	__u64 *state = op_state(u)->word;
	__u64 results = 0;
	__u64 frame = 0;
	__u64 pc = 0;
	__u64 l = 0;
	bool has_registers = op_lj_has_registers(u);
	bool left = op_lj_within(u, __builtin_offsetof(struct op_lua, leave)) ||
		    OP_LJ_WORD(u, jump) - 1 - u->pc < OP_LJ_JUMP_BYTES;

	if (!(state[OP_LJ_FLAGS] & OP_LJ_IS_TRACE) && left)
		return op_lj_search(u, false);
	if (op_read_stack(u, u->sp + OP_LJ_CFRAME_RESULTS, &results) ||
	    op_read_stack(u, u->sp + OP_LJ_CFRAME_STATE, &l) ||
	    op_read_stack(u, u->sp + OP_LJ_CFRAME_PC, &pc))
		return op_lj_leave(u, OP_ERROR_lua_no_activation);
	if (u->exact || state[OP_LJ_STATE] != l) {
		frame = op_lj_state(u, l);
		if (u->exact && frame != u->sp)
			return op_lj_native(u, op_lj_unmade(u));
		if (frame != u->sp)
			return op_lj_leave(u, OP_ERROR_lua_no_activation);
		if (u->exact && op_lj_within(u, __builtin_offsetof(struct op_lua, end)))
			return op_lj_end(u, l);
		if (op_lj_begin(u, l, false))
			return op_lj_leave(u, OP_ERROR_lua_read_frame);
	}
	/* C that the interpreter called in this way has no frame of Lua; then there are none */
	if ((__s32)results < 0 &&
	    state[OP_LJ_BASE] - 8 < state[OP_LJ_BOTTOM] - 16 - (__s32)results)
		return op_lj_leave(u, 0);
	if (!has_registers && (state[OP_LJ_PLACE] & OP_LUA_PLACE_MASK) == OP_LUA_NO_PLACE)
		op_lj_at(state, pc);
	state[OP_LJ_FLAGS] = OP_LJ_IS_RUN;
	return OP_NEXT_CONTINUE;
}

/* Push one frame of the activation at u->pc, or go on natively. */
static __always_inline enum op_next op_step_lua(struct op_unwind *u)
{
	__u64 *state = op_state(u)->word;

	if (u->heap_moved && !op_state(u)->error)
		op_state(u)->error = OP_ERROR_lua_late;
	if (op_state(u)->error)
		return op_lj_leave(u, 0);
	if (u->map.flags & OP_MAPPING_CODE)
		return op_lj_search(u, true);
	return state[OP_LJ_FLAGS] & OP_LJ_IS_RUN ? op_lj_next(u) : op_lj_enter(u);
}

#else

static __always_inline enum op_next op_step_lua(struct op_unwind *u)
{
	return op_leave_runtime(u, 1);
}

#endif
#endif
