/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The Node.js step unwinds V8's frames. They lie on the thread's own stack, and each has
 * a frame record: {return address, caller's fp <- fp, context or frame type, function,
 * ...}. The step goes from record to record while the pc is in code that V8 generated or
 * in V8's builtins, which are part of the node binary. It hands over to the native step
 * when the pc leaves both.
 *
 * If the word below fp has its lowest bit clear, it is a frame type, and the frame is one
 * of V8's own. Otherwise it is a context, and the frame belongs to a function. That
 * function runs in the interpreter if the pc is in a builtin and the function is not a
 * builtin itself; it is compiled if the pc is in generated code.
 *
 * Only the innermost frame may be half made. In a builtin this does not matter: the frame
 * at fp, the builtin's or its caller's, says what it is. In generated code the bytes
 * around the pc decide, because all functions that V8 generates begin and end the same
 * way.
 */
#ifndef OP_NODE_STEP_H
#define OP_NODE_STEP_H

#include "bpf/runtime/await/node.h"
#include "bpf/runtime/node_frame.h"
#include "bpf/walk/native.h"

enum {
	OP_NODE_CONTEXT_SLOT = 8,
	OP_NODE_FUNCTION_SLOT = 16,
	OP_NODE_BEFORE = 16, /* bytes of code read before the pc */
	/* bytes of code read from the pc on */
	OP_NODE_AFTER = 32,
	/* bytes from where a builtin that saves rax below its frame may begin that frame to
	 * its call of C++, and how many of them may be the first */
	OP_NODE_SAVES_BEFORE = 64,
	OP_NODE_SAVES_PLACES = 24,
	OP_NODE_ENTRY = 24, /* bytes from a function's start to its push of fp */
	OP_NODE_PAGE_MASK = 0xfff,
	OP_NODE_STUB_WORDS = 3,	     /* words that a frameless builtin may have pushed */
	OP_NODE_FRAME_MAX = 1 << 24, /* largest distance from sp to fp, in bytes */
	/* bytes of a BytecodeArray's header; smaller offsets are invalid */
	OP_NODE_OFFSET_MIN = 24,
#if defined(__TARGET_ARCH_x86)
	OP_NODE_FUNCTION_REG = OP_X86_RDI,
	OP_NODE_OFFSET_REG = 9,
	OP_NODE_ARRAY_REG = 12,
#else
	OP_NODE_FUNCTION_REG = 1,
	OP_NODE_OFFSET_REG = 19,
	OP_NODE_ARRAY_REG = 20,
#endif
};

/* x86-64: "push rbp; mov rbp, rsp" and "mov rsp, rbp; pop rbp". */
#define OP_NODE_MAKES_FRAME 0xe5894855U
#define OP_NODE_ENDS_FRAME  0x5de58b48U
/* "mov rsp, rbp", shifted left by 8. */
#define OP_NODE_DROPS_FRAME 0xe58b4800U
#define OP_NODE_PUSH_RAX    0x50
/* The first three bytes of "call [r13 + n]", shifted left by 8, and the opcode of "mov
 * r12, n". */
#define OP_NODE_CALLS_TABLE 0x95ff4100U
#define OP_NODE_LOADS_R12   0xbc49

static __always_inline bool op_node_in_builtins(const struct op_runtime_view *v, __u64 pc)
{
	return pc >= OP_NODE_WORD(v, builtins) && pc < OP_NODE_WORD(v, builtins_end);
}

static __always_inline bool op_node_in_code(const struct op_runtime_view *v, __u64 pc)
{
	return pc >= OP_NODE_WORD(v, code) && pc < OP_NODE_WORD(v, code_end);
}

static __always_inline bool op_node_is_v8(const struct op_runtime_view *v, __u64 word)
{
	return op_node_in_code(v, word - 1) || op_node_in_builtins(v, word - 1);
}

/* A builtin's frame is native: the node binary's symbols name it. */
static __always_inline void op_node_push_builtin(struct op_unwind *u)
{
	op_push_word(u, op_frame_word(u->exact ? OP_FRAME_NATIVE_EXACT : OP_FRAME_NATIVE,
				      u->pc));
	u->out.frames++;
}

/* Continue at the caller: with this step while its code is V8's, otherwise natively. */
static __always_inline enum op_next op_node_go(struct op_unwind *u,
					       const struct op_runtime_view *v, __u64 pc,
					       __u64 sp, __u64 fp)
{
	u->pc = pc;
	u->sp = sp;
	u->fp = fp;
	u->exact = 0;
	u->guessed = 0;
	u->kept_lost = 1;
	if (op_node_in_code(v, pc - 1) || op_node_in_builtins(v, pc - 1))
		return OP_NEXT_CONTINUE;
	return op_leave_runtime(u, 0);
}

/* Go to the caller by the frame record at fp. */
static __always_inline enum op_next op_node_record(struct op_unwind *u,
						   const struct op_runtime_view *v)
{
	__u64 fp = u->fp;
	__u64 next = 0;
	__u64 ra = 0;

	if (op_read_stack(u, fp + 8, &ra) || op_read_stack(u, fp, &next))
		return op_end(u, OP_ERROR_node_read_frame);
	return op_node_go(u, v, ra, fp + 16, next);
}

/* Four of the bytes last read, from offset @at on, which may be unaligned. */
static __always_inline __u32 op_node_bytes(struct op_unwind *u, __u32 at)
{
	__u32 ret;

	__builtin_memcpy(&ret, u->runtime_bytes + at, sizeof(ret));
	return ret;
}

/* Did the builtin that called C++ at pc push rax before it made its frame? */
static __always_inline bool op_node_saves_first(struct op_unwind *u)
{
	__u32 i;

	if (op_platform_read(u, u->runtime_bytes, OP_NODE_SAVES_PLACES + 4,
			     u->pc - OP_NODE_SAVES_BEFORE))
		return false;
	for (i = 1; i < OP_NODE_SAVES_PLACES; i++)
		if (op_node_bytes(u, i) == OP_NODE_MAKES_FRAME)
			return u->runtime_bytes[i - 1] == OP_NODE_PUSH_RAX;
	return false;
}

/* Go to the caller of a builtin's own frame. In
 * InterpreterOnStackReplacement_ToBaseline the accumulator is in the place of the
 * return address, which is above it. */
static __always_inline enum op_next op_node_own_record(struct op_unwind *u,
						       const struct op_runtime_view *v)
{
	__u64 fp = u->fp;
	__u64 above = 0;
	__u64 next = 0;
	__u64 ra = 0;

	if (!u->exact && !op_read_stack(u, fp + 8, &ra) && !op_node_is_v8(v, ra) &&
	    !op_read_stack(u, fp + 16, &above) && op_node_is_v8(v, above) &&
	    !op_read_stack(u, fp, &next) && op_node_saves_first(u))
		return op_node_go(u, v, above, fp + 24, next);
	return op_node_record(u, v);
}

/* Is @marker a frame type, and not a context? */
static __always_inline bool op_node_is_type(__u64 marker)
{
	return !(marker & 1);
}

/* Is the pc in the builtin that baseline code calls to make its frame? */
static __always_inline bool op_node_in_prologue(const struct op_unwind *u,
						const struct op_runtime_view *v)
{
	return u->pc >= OP_NODE_WORD(v, prologue) &&
	       u->pc < OP_NODE_WORD(v, prologue_end);
}

/* The frame at fp belongs to @function, which the interpreter runs: push it. */
static __always_inline enum op_next
op_node_interpreted(struct op_unwind *u, const struct op_runtime_view *v,
		    const struct op_node_callee *function)
{
	__u64 fp = u->fp;
	__u64 offset = 0;
	__u64 array = 0;

	if (op_read_stack(u, fp - OP_NODE_BYTE(v, array_slot), &array) ||
	    op_read_stack(u, fp - OP_NODE_BYTE(v, offset_slot), &offset))
		return op_end(u, OP_ERROR_node_read_frame);
	/* The frame is still being made, or belongs to baseline code, which stores no
	 * offset. */
	if ((u->exact &&
	     (u->sp > fp - OP_NODE_BYTE(v, offset_slot) || op_node_in_prologue(u, v))) ||
	    (offset & 1)) {
		array = 0;
		offset = 0;
	}
	/* V8 stores it as a small integer, in the upper 32 bits as a rule */
	offset = OP_NODE_BYTE(v, compressed) ? (__u32)offset >> 1 : offset >> 32;
	/* The registers are ahead of the frame's slots, if they still belong to the same
	 * array. */
	if (u->exact && array && u->reg[OP_NODE_ARRAY_REG] == array &&
	    u->reg[OP_NODE_OFFSET_REG] - OP_NODE_OFFSET_MIN <
		    OP_NODE_OFFSET_MAX - OP_NODE_OFFSET_MIN)
		offset = u->reg[OP_NODE_OFFSET_REG];
	if (offset > OP_NODE_OFFSET_MAX)
		offset = 0;
	op_node_push(u, function->shared,
		     (__u64)OP_NODE_INTERPRETED << OP_NODE_KIND_SHIFT |
			     offset << OP_NODE_OFFSET_SHIFT | function->check,
		     array ? array - 1 : 0);
	return op_node_record(u, v);
}

/* The pc is in a builtin that has not made its frame yet or has none, so its return
 * address is near sp. Returns that address if it is in generated code, otherwise 0. */
static __always_inline __u64 op_node_called_from(struct op_unwind *u,
						 const struct op_runtime_view *v)
{
	__u64 sp = u->sp;
	__u64 word = 0;
	int i;

	/* Baseline code calls this builtin to make its frame, so its own caller is one
	 * word up. */
	if (op_node_in_prologue(u, v) && !op_read_stack(u, sp + 8, &word) &&
	    op_node_is_v8(v, word))
		sp += 8;
	for (i = 0; i < OP_NODE_STUB_WORDS; i++, sp += 8) {
		if (sp >= u->fp || op_read_stack(u, sp, &word))
			return 0;
		if (op_node_in_code(v, word - 1))
			return word;
		if (op_node_in_builtins(v, word - 1))
			return 0;
	}
	return 0;
}

/* The pc is in a builtin: push the builtin, or the function that the interpreter runs.
 * @follow: before a builtin that has resumed a function, push those that await it. */
static __always_inline enum op_next
op_node_builtin(struct op_unwind *u, const struct op_runtime_view *v, bool follow)
{
	struct op_node_callee function;
	__u64 marker = 0;
	__u64 slot = 0;
	__u64 ra;

	if (op_read_stack(u, u->fp - OP_NODE_CONTEXT_SLOT, &marker) ||
	    op_read_stack(u, u->fp - OP_NODE_FUNCTION_SLOT, &slot))
		return op_end(u, OP_ERROR_node_read_frame);
	if (u->exact || op_node_is_type(marker))
		op_node_push_builtin(u);
	/* The frame is still being made. Its slots are not filled yet. */
	if (u->exact && u->sp > u->fp - OP_NODE_FUNCTION_SLOT)
		return op_node_record(u, v);
	if (op_node_is_type(marker))
		return op_node_own_record(u, v);
	op_node_find_callee(u, v, slot, &function);
	if (function.builtin) {
		if (follow && !u->exact && op_node_await_begin(u, v, marker))
			return OP_NEXT_CONTINUE;
		if (!u->exact)
			op_node_push_builtin(u);
		return op_node_record(u, v);
	}
	if (!op_frame_room(u))
		return op_end(u, OP_END_TRUNCATED);
	ra = u->exact ? op_node_called_from(u, v) : 0;
	if (!ra)
		return op_node_interpreted(u, v, &function);
	op_node_push(u, function.shared,
		     (__u64)OP_NODE_CODE << OP_NODE_KIND_SHIFT | function.check, ra);
	return op_node_record(u, v);
}

/*
 * Is there, @ahead bytes after the pc, a call of the builtin that begins baseline code?
 * Baseline code begins with xor ebx, ebx or mov ebx, n; mov r12, n; call. The builtins
 * may be mapped at two addresses, so only the target's offset in its page is compared.
 */
static __always_inline bool
op_node_calls_prologue(struct op_unwind *u, const struct op_runtime_view *v, __u32 ahead)
{
	__u64 target = u->pc + ahead + 5;

	if (op_node_bytes(u, OP_NODE_BEFORE + ahead) << 8 == OP_NODE_CALLS_TABLE)
		return (__u16)op_node_bytes(u, OP_NODE_BEFORE + ahead - 10) ==
		       OP_NODE_LOADS_R12;
	if (u->runtime_bytes[OP_NODE_BEFORE + ahead] != 0xe8)
		return false;
	target += (__u64)(__s64)(__s32)op_node_bytes(u, OP_NODE_BEFORE + ahead + 1);
	return ((target ^ OP_NODE_WORD(v, prologue)) & OP_NODE_PAGE_MASK) == 0;
}

/*
 * Where is the return address if generated code was interrupted? Returns 0 in the body,
 * where the frame is complete; 1 if the return address is at sp; 2 if the caller's fp is
 * at sp and the return address above it.
 */
static __always_inline int op_node_unmade(struct op_unwind *u,
					  const struct op_runtime_view *v)
{
	__u32 last = 0; /* the four bytes that end at byte i */
	__u64 ra = 0;
	__u32 i;

	if (op_platform_read(u, u->runtime_bytes, OP_NODE_BEFORE + OP_NODE_AFTER,
			     u->pc - OP_NODE_BEFORE))
		return 0;
	if (op_node_bytes(u, OP_NODE_BEFORE - 1) == OP_NODE_MAKES_FRAME)
		return 2;
	for (i = OP_NODE_BEFORE; i < OP_NODE_BEFORE + OP_NODE_ENTRY + 3; i++) {
		last = last >> 8 | (__u32)u->runtime_bytes[i] << 24;
		if (last == OP_NODE_MAKES_FRAME)
			return 1;
	}
	if (op_node_calls_prologue(u, v, 0) || op_node_calls_prologue(u, v, 10) ||
	    op_node_calls_prologue(u, v, 12) || op_node_calls_prologue(u, v, 15))
		return 1;
	if (u->runtime_bytes[OP_NODE_BEFORE] == 0xc3 || /* ret */
	    u->runtime_bytes[OP_NODE_BEFORE] == 0xc2)
		return 1;
	for (i = 0; i < OP_NODE_BEFORE; i++) {
		last = last >> 8 | (__u32)u->runtime_bytes[i] << 24;
		if (last == OP_NODE_ENDS_FRAME)
			break;
	}
	/* The code after a return looks the same, but there no return address is
	 * at sp. */
	return i < OP_NODE_BEFORE && !op_read_stack(u, u->sp, &ra) &&
	       op_node_is_v8(v, ra);
}

/* The pc is in generated code that has no frame at this moment;
 * @where: op_node_unmade(). */
static __always_inline enum op_next
op_node_frameless(struct op_unwind *u, const struct op_runtime_view *v, int where)
{
	__u64 sp = u->sp;
	__u64 fp = u->fp;
	__u64 ra = 0;

	if (where == 2) {
		if (op_read_stack(u, sp, &fp))
			return op_end(u, OP_ERROR_node_read_frame);
		sp += 8;
	}
	if (op_read_stack(u, sp, &ra))
		return op_end(u, OP_ERROR_node_read_frame);
	op_node_push(u, 0, (__u64)OP_NODE_CODE_EXACT << OP_NODE_KIND_SHIFT, u->pc);
	return op_node_go(u, v, ra, sp + 8, fp);
}

/* The pc is in generated code: push its function. */
static __always_inline enum op_next op_node_compiled(struct op_unwind *u,
						     const struct op_runtime_view *v)
{
	struct op_node_callee function = { 0 };
	__u64 kind = u->exact ? OP_NODE_CODE_EXACT : OP_NODE_CODE;
	__u64 marker = 0;
	__u64 slot = 0;
	__u64 type = 0;
	int where;

	where = u->exact ? op_node_unmade(u, v) : 0;
	if (where)
		return op_node_frameless(u, v, where);
	if (op_read_stack(u, u->fp - OP_NODE_CONTEXT_SLOT, &marker) ||
	    op_read_stack(u, u->fp - OP_NODE_FUNCTION_SLOT, &slot))
		return op_end(u, OP_ERROR_node_read_frame);
	/* The frame does not hold the function yet. What is dropped still holds it. */
	if (u->exact && u->sp > u->fp - OP_NODE_FUNCTION_SLOT &&
	    op_node_bytes(u, OP_NODE_BEFORE - 3) << 8 != OP_NODE_DROPS_FRAME) {
		slot = u->reg[OP_NODE_FUNCTION_REG];
		marker = 1;
	}
	if (op_node_is_type(marker))
		type = marker >> 1 & OP_NODE_OFFSET_MAX;
	else
		op_node_find_callee(u, v, slot, &function);
	op_node_push(u, function.shared,
		     kind << OP_NODE_KIND_SHIFT | type << OP_NODE_OFFSET_SHIFT |
			     function.check,
		     u->pc);
	return op_node_record(u, v);
}

/* Push one of V8's frames and go to its caller. @follow: the functions that await one that
 * was resumed have their frames behind its own. */
static __always_inline enum op_next op_step_node(struct op_unwind *u, bool follow)
{
	struct op_runtime_view v;
	__u64 look = u->exact ? u->pc : u->pc - 1;

	if (!op_runtime_see(u, &v))
		return op_end(u, OP_ERROR_node_no_process);
	if (!op_frame_room(u))
		return op_end(u, OP_END_TRUNCATED);
	if (u->fp - u->sp > OP_NODE_FRAME_MAX || (u->fp & 7))
		return op_end(u, OP_ERROR_node_frame_pointer);
	if (follow && op_state(u)->word[OP_NODE_STATE] == OP_NODE_AWAIT_FOLLOW)
		return op_node_await(u, &v);
	if (op_node_in_builtins(&v, look))
		return op_node_builtin(u, &v, follow);
	return op_node_compiled(u, &v);
}

#endif
