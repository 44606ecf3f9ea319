/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * LuaJIT: the data that the step needs for a process, and the words of its frames.
 *
 * All frames have the first two words. If Lua code called, the next two are its place: its bytecode
 * names the function. A trace's frame always has them, 0 for another caller.
 *   word 0  the address of the prototype (GCproto), of the function in C, or of the trace (GCtrace)
 *   word 1  bits 0 to 23: the number of the next instruction, OP_LUA_NO_PLACE or
 *           OP_LUA_RETURNS; of a function in C its ffid; of a trace the offset in its machine code;
 *           from bit OP_LUA_KIND_SHIFT on enum op_lua_kind; high half: a guard that
 *           distinguishes the object from a later one at its address
 *   word 2  the address of the caller's prototype
 *   word 3  like word 1, for the caller
 *   word 4  of a trace: the address of the prototype that it entered
 *   word 5  like word 1, for that prototype
 */
#ifndef OP_LUA_H
#define OP_LUA_H

enum {
	OP_LUA_FRAME_WORDS = 2,
	OP_LUA_CALLED_WORDS = 4,
	OP_LUA_TRACE_WORDS = 6,
	OP_LUA_KIND_SHIFT = 24,
	OP_LUA_PLACE_MASK = 0xffffff,
	OP_LUA_NO_PLACE = 0xffffff,
	OP_LUA_RETURNS = 0xfffffe, /* the function is returning */

	/* The rest is valid for LuaJIT 2.1 with pointers of 64 bits (GC64), since 2017.
	 * An object has its type at byte 9. A function has its ffid after that, 0 for Lua
	 * code. */
	OP_LUA_OBJECT_TYPE = 9,
	OP_LUA_TYPE_THREAD = 6,
	OP_LUA_TYPE_PROTO = 7,
	OP_LUA_TYPE_FUNCTION = 8,
	OP_LUA_TYPE_TRACE = 9,
	/* lua_State */
	OP_LUA_STATE_GLOBAL = 16,
	OP_LUA_STATE_BASE = 32,
	OP_LUA_STATE_LIMIT = 48,
	OP_LUA_STATE_STACK = 56,
	OP_LUA_STATE_CFRAME = 80,
	OP_LUA_STATE_BYTES = 88,
	/* GCfunc */
	OP_LUA_FUNCTION_PC = 32,
	OP_LUA_FUNCTION_C = 40,
	OP_LUA_FUNCTION_BYTES = 48,
	/* GCproto: the bytecode follows it */
	OP_LUA_PROTO_SIZE = 8, /* the number of instructions, in the high half */
	OP_LUA_PROTO_FILE = 64,
	OP_LUA_PROTO_LINES = 72, /* the first line, and the number of lines */
	OP_LUA_PROTO_BYTES = 104,
	/* GCtrace */
	OP_LUA_TRACE_PROTO = 64,
	OP_LUA_TRACE_PC = 72,
	OP_LUA_TRACE_SIZE = 80, /* bytes of machine code, in the high half */
	OP_LUA_TRACE_CODE = 88,
	OP_LUA_TRACE_BYTES = 96,
};

enum op_lua_kind {
	OP_LUA_CODE = 0,
	OP_LUA_C = 1,
	OP_LUA_TRACE = 2,
};

/* The data that the step needs for a process. */
struct op_lua {
	__u64 enter[2]; /* the interpreter's code that C calls: [begin, end) */
	__u64 leave[2]; /* the interpreter's code to which traces exit */
	__u64 end[2];	/* its code that returns to C: rbx has the caller's base */
	__u64 jump;	/* the address after the jump into a trace */
	/* offsets in global_State: the state of the VM, the base of the running trace,
	 * all traces */
	__u32 running;
	__u32 trace_base;
	__u32 traces;
	__u32 reserved;
};

/* 32 bits that distinguish an object from another at the same address. */
static inline __attribute__((always_inline)) __u32 op_lua_guard(__u64 a, __u64 b, __u64 c)
{
	return (__u32)(((a * 0x9e3779b97f4a7c15ULL ^ b) * 0x9e3779b97f4a7c15ULL ^ c) *
			       0x9e3779b97f4a7c15ULL >>
		       32);
}

_Static_assert(sizeof(struct op_lua) == 72, "layout");

#endif
