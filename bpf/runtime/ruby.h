/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The Ruby step. A thread's control frames stand in an array, the newest one first. One C
 * activation of vm_exec() runs a section of it, a "run": down to the frame that C code began
 * (FINISH). vm_exec() calls vm_exec_core(), which runs the instructions, or compiled code. The
 * step pushes the run's frames at vm_exec_core()'s native frame, or else at vm_exec()'s, one a
 * call; the next activation goes on where this one ended. Functions in C have frames in the run
 * of the activation that called them, and native frames before it. So native and Ruby frames
 * appear in their true order.
 *
 * The frames and the activations do not change at the same moment: C code pushes the first
 * frame of a run before it calls vm_exec(), and the run's end pops it before vm_exec()
 * returns. So at the innermost activation the step decides whether it has frames.
 */
#ifndef OP_RUBY_STEP_H
#define OP_RUBY_STEP_H

#include "bpf/runtime/await/ruby.h"
#include "bpf/runtime/ruby_state.h"

static __always_inline __u64 op_rb_field(struct op_unwind *u, __u32 off)
{
	return *(__u64 *)(u->runtime_bytes + (off & (OP_RUNTIME_BYTES - 8)));
}

static __always_inline bool op_rb_within(const struct op_runtime_view *p, __u64 addr,
					 __u32 range)
{
	return addr >= op_runtime_seen(p, range) && addr < op_runtime_seen(p, range + 8);
}

/* Leave the step and continue with the native frame. After an @error no Ruby frame
 * follows. */
static __always_inline enum op_next op_rb_leave(struct op_unwind *u, __u32 error)
{
	if (error)
		op_state(u)->error = error;
	return op_leave_runtime(u, 1);
}

/* The thread's execution context. Returns 0 or an error number. */
static __always_inline __u32 op_rb_context(struct op_unwind *u,
					   const struct op_runtime_view *p, __u64 word,
					   __u64 *ret)
{
	__u64 at = OP_RB_WORD(p, ec_at);
	__u64 module = OP_RB_WORD(p, module);
	__u64 block = u->process.thread_pointer;
	__u64 thread = 0;

	if (!block)
		return OP_ERROR_ruby_no_context;
	if (OP_RB_BYTE(word, flags) & OP_RUBY_SHARED) {
		/* the context of another thread, while this one runs without the lock */
		if (op_platform_read(u, ret, 8, at) || !*ret ||
		    op_platform_read(u, &thread, 8, *ret + OP_RB_BYTE(word, ec_thread)) ||
		    op_platform_read(u, &thread, 8, thread + (word >> 32 & 0x7fffffff)) ||
		    block - thread >= OP_RB_THREAD_BYTES)
			return OP_ERROR_ruby_no_context;
		return 0;
	}
	if ((__u32)module &&
	    (op_platform_read(u, &block, 8, block + (__s64)(__s16)(module >> 32)) ||
	     op_platform_read(u, &block, 8, block + (__u32)module * (module >> 48)) ||
	     !block || block == ~0ULL))
		return OP_ERROR_ruby_no_context;
	if (op_platform_read(u, ret, 8, block + at) || !*ret)
		return OP_ERROR_ruby_no_context;
	return 0;
}

/* The first step of a walk: find the newest frame. Returns 0 or an error number. */
static __always_inline __u32 op_rb_begin(struct op_unwind *u,
					 const struct op_runtime_view *p, bool follow)
{
	__u64 word = OP_RB_WORD(p, flags);
	__u64 *state = op_state(u)->word;
	__u64 ec = 0;
	__u32 error;

	if (u->heap_moved)
		return OP_ERROR_ruby_late;
	error = op_rb_context(u, p, word, &ec);
	if (error)
		return error;
	error = op_rb_newest(u, word, ec);
	if (error)
		return error;
	if (follow && OP_RB_WORD(p, fiber_prev))
		state[OP_RB_FIBER] = ec & OP_RB_FIBER_ADDRESS;
	state[OP_RB_BEGUN] = word | 1ULL << OP_RB_BEGUN_BIT;
	return 0;
}

/* Was the frame that was popped last the end of a run? */
static __always_inline bool op_rb_popped_end(struct op_unwind *u)
{
	__u64 popped = op_state(u)->word[OP_RB_NEXT] -
		       OP_RB_BYTE(op_state(u)->word[OP_RB_BEGUN], frame_bytes);
	__u64 ep = 0;
	__u64 flags = 0;

	return !op_platform_read(u, &ep, 8, popped + OP_RUBY_FRAME_EP) &&
	       !op_platform_read(u, &flags, 8, ep) && (flags & OP_RUBY_FRAME_FINISH);
}

/* Read the control frame at @frame with its flags, and the body of its code, if any.
 * Returns 0 or -1. */
static __always_inline int op_rb_read(struct op_unwind *u, __u64 frame)
{
	__u64 iseq;
	__u64 body = 0;

	*(__u64 *)(u->runtime_bytes + OP_RB_METHOD) = 0;
	if (op_platform_read(u, u->runtime_bytes, OP_RUBY_FRAME_EP + 8, frame) ||
	    op_platform_read(u, u->runtime_bytes + OP_RB_ENV, OP_RUBY_ENV_METHOD + 8,
			     op_rb_field(u, OP_RUBY_FRAME_EP) - OP_RUBY_ENV_METHOD))
		return -1;
	iseq = op_rb_field(u, OP_RUBY_FRAME_ISEQ);
	/* compiled code sets the pc only before it calls C */
	if (!iseq ||
	    (!op_rb_field(u, OP_RUBY_FRAME_PC) && !op_state(u)->word[OP_RB_COMPILED]) ||
	    (op_rb_field(u, OP_RB_ENV + OP_RUBY_ENV_METHOD) & OP_RUBY_FRAME_CFRAME))
		return 0;
	if (op_platform_read(u, &body, 8, iseq + OP_RUBY_ISEQ_BODY) ||
	    op_platform_read(u, u->runtime_bytes + OP_RB_BODY, OP_RUBY_BODY_BYTES, body))
		return -1;
	*(__u64 *)(u->runtime_bytes + OP_RB_METHOD) = body;
	return 0;
}

/* Has the code of the frame in runtime_bytes not begun yet? */
static __always_inline bool op_rb_is_new(struct op_unwind *u)
{
	return op_rb_field(u, OP_RB_METHOD) &&
	       op_rb_field(u, OP_RUBY_FRAME_PC) ==
		       op_rb_field(u, OP_RB_BODY + OP_RUBY_BODY_CODE);
}

/* Is the pc in code that leaves an activation? */
static __always_inline bool op_rb_is_after(struct op_unwind *u,
					   const struct op_runtime_view *p)
{
	__u64 in = 0;
	__u32 i;

	for (i = 0; i < OP_RUBY_AFTER; i++) {
		__u32 at = __builtin_offsetof(struct op_ruby, after) + i * 16;

		/* without a branch, which the verifier would follow */
		in |= ~(u->pc - op_runtime_seen(p, at)) &
		      (u->pc - op_runtime_seen(p, at + 8));
	}
	return in >> 63;
}

/*
 * Has the run of the innermost activation ended? @is_new: the newest frame has not begun to run, and
 * C code pushed it.
 *
 * Where vm_exec_core() was interrupted, its register names the frame that it runs: one that is newer
 * than the thread's newest was just popped. vm_exec() itself has a tag in its stack frame. Without it
 * it throws to its caller, or has just been called.
 */
static __always_inline bool op_rb_ended(struct op_unwind *u,
					const struct op_runtime_view *p, bool in_core,
					bool is_new)
{
	__u64 *state = op_state(u)->word;
	__u64 tag = state[OP_RB_TAG];
	bool popped;

	if (in_core) {
		if (u->exact &&
		    (u->loop_cfa - u->sp <= OP_RB_SAVED_BYTES || op_rb_is_after(u, p)))
			return !is_new;
		popped = u->exact &&
			 u->reg[OP_RB_FRAME_REG] +
					 OP_RB_BYTE(state[OP_RB_BEGUN], frame_bytes) ==
				 state[OP_RB_NEXT];
	} else if (!u->exact) {
		if (tag >= u->loop_cfa)
			return !is_new;
		popped = state[OP_RB_COMPILED] == OP_RB_IN_EXIT;
	} else {
		if (tag < u->sp || tag >= u->loop_cfa)
			return !is_new;
		return op_rb_is_after(u, p);
	}
	return popped && op_rb_popped_end(u);
}

/* The address of the stack's frame @i if native code precedes it, or 0. */
static __always_inline __u64 op_rb_native(struct op_unwind *u, __u32 i)
{
	__u64 word;

	i += u->out.words_user;
	op_platform_bound(i);
	if (i >= OP_WORDS_MAX || i >= u->out.words)
		return 0;
	word = op_platform_words(u)[i];
	return word >> OP_FRAME_KIND_SHIFT <= OP_FRAME_NATIVE_EXACT
		       ? word & OP_FRAME_ADDRESS_MASK
		       : 0;
}

/* Was C code interrupted between pushing a frame and calling vm_exec()? */
static __always_inline bool op_rb_is_calling(struct op_unwind *u,
					     const struct op_runtime_view *p)
{
	__u32 in_plt = op_rb_within(p, op_rb_native(u, 0),
				    __builtin_offsetof(struct op_ruby, plt));
	__u64 at = op_rb_native(u, in_plt);

	return op_rb_within(p, at, __builtin_offsetof(struct op_ruby, callers)) &&
	       !op_rb_within(p, at, __builtin_offsetof(struct op_ruby, exec));
}

/* Push the frame of a function in C. Returns 0 or -1. */
static __always_inline int op_rb_push_c(struct op_unwind *u)
{
	__u64 method = op_rb_field(u, OP_RB_ENV);
	__u64 words[3]; /* def, called_id, owner */

	if (op_platform_read(u, words, sizeof(words), method + OP_RUBY_METHOD_DEF))
		return -1;
	op_push_word(u, op_runtime_word(u, OP_RUBY_FRAME_WORDS, method));
	op_push_word(u,
		     OP_RUBY_IN_C | (__u64)op_ruby_guard(words[0], words[1], words[2], 0)
					    << 32);
	u->out.frames++;
	return 0;
}

/* The type of the imemo at @addr, or -1 if the object is none. */
static __always_inline int op_rb_imemo(struct op_unwind *u, __u64 addr)
{
	__u64 flags = 0;

	if (!addr || (addr & 7) || op_platform_read(u, &flags, 8, addr) ||
	    (flags & OP_RUBY_OBJECT_TYPE) != OP_RUBY_IMEMO)
		return -1;
	return (int)(flags >> OP_RUBY_IMEMO_SHIFT & OP_RUBY_IMEMO_MASK);
}

/*
 * Push the frame of Ruby code in runtime_bytes. @method: the address of its method entry, or 0.
 * Returns the guard.
 */
static __always_inline __u32 op_rb_push(struct op_unwind *u, __u64 method)
{
	__u64 code = op_rb_field(u, OP_RB_BODY + OP_RUBY_BODY_CODE);
	__u64 size = op_rb_field(u, OP_RB_BODY) >> 32;
	__u64 place = (op_rb_field(u, OP_RUBY_FRAME_PC) - code) / 8;
	__u32 location = OP_RB_BODY + OP_RUBY_BODY_LOCATION;
	__u32 guard = op_ruby_body_guard(
		op_rb_field(u, OP_RB_BODY), op_rb_field(u, location),
		op_rb_field(u, location + 16), op_rb_field(u, location + 24));
	__u64 words[3]; /* of the entry: def, called_id, owner */

	if (place > size || op_state(u)->word[OP_RB_COMPILED] == OP_RB_IN_CODE)
		place = OP_RUBY_NO_PLACE;
	op_state(u)->word[OP_RB_COMPILED] = 0;
	if (method &&
	    op_platform_read(u, words, sizeof(words), method + OP_RUBY_METHOD_DEF))
		method = 0;
	op_push_word(
		u, op_runtime_word(u, method ? OP_RUBY_METHOD_WORDS : OP_RUBY_FRAME_WORDS,
				   op_rb_field(u, OP_RB_METHOD)));
	op_push_word(u, place | (__u64)guard << 32);
	if (method)
		op_push_word(u, method | (__u64)(op_ruby_guard(words[0], words[1],
							       words[2], 0) >>
						 OP_RUBY_GUARD_CUT)
						 << OP_RUBY_GUARD_SHIFT);
	u->out.frames++;
	return guard;
}

/* Leave the step behind the frames of an activation. */
static __always_inline enum op_next op_rb_end(struct op_unwind *u, bool in_core)
{
	op_state(u)->word[OP_RB_DONE] = in_core;
	return op_rb_leave(u, 0);
}

/* The current frame is done. @ends: it ends the run. */
static __always_inline enum op_next op_rb_next(struct op_unwind *u, bool ends)
{
	__u64 *state = op_state(u)->word;

	state[OP_RB_NEXT] += OP_RB_BYTE(state[OP_RB_BEGUN], frame_bytes);
	state[OP_RB_LOOK] = ends ? OP_RB_LOOK_AHEAD | state[OP_RB_NEXT] : 0;
	return OP_NEXT_CONTINUE;
}

/*
 * A run has ended. Are the remaining frames only functions in C? Then C code has called
 * them at the start of a thread or of a fiber. No activation comes for them, and they
 * follow.
 */
static __always_inline enum op_next op_rb_ahead(struct op_unwind *u, __u64 at,
						bool in_core)
{
	__u64 *state = op_state(u)->word;
	__u64 ep = 0;
	__u64 flags = 0;

	state[OP_RB_LOOK] = 0;
	if (at >= state[OP_RB_END])
		return OP_NEXT_CONTINUE;
	if (at - state[OP_RB_NEXT] >= OP_RB_LAST_MAX * OP_RUBY_FRAME_BYTES_MAX ||
	    op_platform_read(u, &ep, 8, at + OP_RUBY_FRAME_EP) ||
	    op_platform_read(u, &flags, 8, ep) || !(flags & OP_RUBY_FRAME_CFRAME))
		return op_rb_end(u, in_core);
	state[OP_RB_LOOK] =
		OP_RB_LOOK_AHEAD | (at + OP_RB_BYTE(state[OP_RB_BEGUN], frame_bytes));
	return OP_NEXT_CONTINUE;
}

/*
 * Search for the method entry of the frame in runtime_bytes: it is in the frame's
 * environment, or in that of a block around it. Push the frame when it is found, or if
 * there is none.
 */
static __always_inline enum op_next op_rb_env(struct op_unwind *u, __u64 look)
{
	__u64 method = 0;
	__u64 env[3]; /* method, parent, flags */
	int kind = -1;
	bool last = op_platform_read(u, env, sizeof(env),
				     (look & OP_RUBY_ADDRESS_MASK) - OP_RUBY_ENV_METHOD);

	if (!last) {
		method = env[0];
		kind = op_rb_imemo(u, method);
		last = (env[2] & OP_RUBY_ENV_LOCAL) ||
		       (look & OP_RB_LOOK_COUNT) == OP_RB_LOOK_COUNT;
	}
	if (kind == OP_RUBY_IMEMO_SVAR && last) {
		if (op_platform_read(u, &method, 8, method + OP_RUBY_SVAR_METHOD))
			method = 0;
		kind = op_rb_imemo(u, method);
	}
	if (kind != OP_RUBY_IMEMO_METHOD) {
		if (!last) {
			op_state(u)->word[OP_RB_LOOK] =
				(look & ~OP_RUBY_ADDRESS_MASK) + OP_RB_LOOK_NEXT +
				(env[1] & OP_RUBY_ADDRESS_MASK & ~3ULL);
			return OP_NEXT_CONTINUE;
		}
		method = 0;
	}
	(void)op_rb_push(u, method);
	return op_rb_next(u, look & OP_RB_LOOK_ENDS);
}

/*
 * Push the frame of Ruby code in runtime_bytes, or let the next step do it. Code that
 * rescues or ensures has a frame of its own above that of its function. Since 3.4 both
 * have one label.
 */
static __always_inline enum op_next op_rb_code_frame(struct op_unwind *u, bool ends)
{
	__u64 *state = op_state(u)->word;
	bool classes = OP_RB_BYTE(state[OP_RB_BEGUN], flags) & OP_RUBY_CLASSES;
	__u32 type = (__u32)op_rb_field(u, OP_RB_BODY);
	bool hidden = state[OP_RB_HIDDEN];
	__u32 guard;

	if (!classes) {
		guard = op_rb_push(u, 0);
		op_platform_object(u, __builtin_offsetof(struct op_ruby, object),
				   op_runtime_word(u, OP_RUBY_FRAME_WORDS,
						   op_rb_field(u, OP_RB_METHOD)),
				   guard, guard & 1);
		return op_rb_next(u, ends);
	}
	state[OP_RB_HIDDEN] = type == OP_RUBY_ISEQ_RESCUE || type == OP_RUBY_ISEQ_ENSURE;
	if (hidden)
		return op_rb_next(u, ends);
	state[OP_RB_LOOK] = OP_RB_LOOK_METHOD | (ends ? OP_RB_LOOK_ENDS : 0) |
			    (op_rb_field(u, OP_RUBY_FRAME_EP) & OP_RUBY_ADDRESS_MASK);
	if (type > OP_RUBY_ISEQ_PLAIN || !(OP_RUBY_ISEQ_OF_METHODS >> type & 1))
		state[OP_RB_LOOK] &= ~OP_RUBY_ADDRESS_MASK; /* there is none */
	return OP_NEXT_CONTINUE;
}

/* Push the next frame of the run, or find that there is none. */
static __always_inline enum op_next op_rb_frame(struct op_unwind *u,
						const struct op_runtime_view *p,
						bool in_core, bool follow)
{
	__u64 *state = op_state(u)->word;
	__u64 flags;
	bool ends;
	bool is_new;

	if (state[OP_RB_NEXT] >= state[OP_RB_END])
		return follow && op_rb_resumer(u, p) ? OP_NEXT_CONTINUE
						     : op_rb_end(u, in_core);
	if (op_rb_read(u, state[OP_RB_NEXT]))
		return op_rb_leave(u, OP_ERROR_ruby_read_frame);
	flags = op_rb_field(u, OP_RB_ENV + OP_RUBY_ENV_METHOD);
	ends = flags & OP_RUBY_FRAME_FINISH;
	if (follow && (state[OP_RB_FIBER] & OP_RB_FIBER_RESUMER))
		ends = false; /* its activations are on another stack */
	if (!state[OP_RB_SETTLED]) {
		state[OP_RB_SETTLED] = 1;
		is_new = ends && op_rb_is_new(u);
		if (op_rb_ended(u, p, in_core, is_new))
			return op_rb_end(u, in_core);
		if (!u->exact && is_new && op_rb_is_calling(u, p))
			ends = false;
	}
	if (!op_frame_room(u))
		return op_end(u, OP_END_TRUNCATED);
	if (op_rb_field(u, OP_RB_METHOD))
		return op_rb_code_frame(u, ends);
	if ((flags & OP_RUBY_FRAME_TYPE) == OP_RUBY_FRAME_IS_C && op_rb_push_c(u))
		return op_rb_leave(u, OP_ERROR_ruby_read_frame);
	return op_rb_next(u, ends);
}

/* The bytes between sp and the CFA of compiled code, which begins by pushing three registers. */
static __always_inline __u32 op_rb_code_bytes(struct op_unwind *u)
{
	__u64 *compiled = &op_state(u)->word[OP_RB_COMPILED];
	__u64 code = 0;

	if (!u->exact || op_platform_read(u, &code, 8, u->pc))
		return 32;
	*compiled = OP_RB_IN_EXIT;
	if ((code & 0xffffffffffff) == 0xc35d415c415b) /* pop rbx, r12, r13; ret */
		return 32;
	if ((code & 0xffffffffff) == 0xc35d415c41)
		return 24;
	if ((code & 0xffffff) == 0xc35d41)
		return 16;
	if ((code & 0xff) == 0xc3)
		return 8;
	*compiled = OP_RB_IN_CODE;
	if ((code & 0xffffffffff) == 0x5354415541) /* push r13, r12, rbx */
		return 8;
	if ((code & 0xffffff) == 0x535441)
		return 16;
	return (code & 0xff) == 0x53 ? 24 : 32;
}

/*
 * YJIT's code. It has one native frame for many of Ruby, whose control frames are
 * pushed at vm_exec() or vm_exec_core(), which called it. Code of another form is
 * walked like any code without a file.
 */
static __always_inline enum op_next op_rb_code(struct op_unwind *u,
					       const struct op_runtime_view *p)
{
	__u64 cfa;
	__u64 ra = 0;

#if defined(__TARGET_ARCH_arm64)
	/* it has a frame record */
	if (u->exact)
		op_state(u)->word[OP_RB_COMPILED] = OP_RB_IN_CODE;
	return op_leave_runtime(u, 1);
#endif
	/* in memory: for the verifier all paths to this point are then one */
	*(__u64 *)u->runtime_bytes = u->sp + op_rb_code_bytes(u);
	cfa = op_rb_field(u, 0);
	if (op_read_stack(u, cfa - 8, &ra) ||
	    (!op_rb_within(p, ra, __builtin_offsetof(struct op_ruby, exec)) &&
	     !op_rb_within(p, ra, __builtin_offsetof(struct op_ruby, core))))
		return op_leave_runtime(u, 1);
	u->pc = ra;
	u->sp = cfa;
	u->exact = 0;
	u->kept_lost = 1;
	return op_leave_runtime(u, 0);
}

/* Push one frame of the activation at u->pc, or continue natively. @follow: the frames of the
 * fibers that resumed the running one are behind its own. */
static __always_inline enum op_next op_step_ruby(struct op_unwind *u, bool follow)
{
	__u64 *state = op_state(u)->word;
	struct op_runtime_view p;
	bool in_core;
	__u32 error;

	if (!op_runtime_see(u, &p))
		return op_rb_leave(u, 0);
	if (u->map.flags & OP_MAPPING_CODE)
		return op_rb_code(u, &p);
	if (op_state(u)->error)
		return op_rb_leave(u, 0);
	if (!state[OP_RB_BEGUN]) {
		error = op_rb_begin(u, &p, follow);
		if (error)
			return op_rb_leave(u, error);
	}
	if (state[OP_RB_LOOK] & OP_RB_LOOK_METHOD)
		return op_rb_env(u, state[OP_RB_LOOK]);
	in_core = op_rb_within(&p, u->exact ? u->pc : u->pc - 1,
			       __builtin_offsetof(struct op_ruby, core));
	if (state[OP_RB_LOOK])
		return op_rb_ahead(u, state[OP_RB_LOOK] & ~OP_RB_LOOK_AHEAD, in_core);
	if (!in_core && state[OP_RB_DONE])
		return op_rb_end(u, false);
	return op_rb_frame(u, &p, in_core, follow);
}

#endif
