/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The Perl step. An interpreter's contexts are in arrays, the newest last. Each array
 * belongs to a PERL_SI, which leads to the one before. One C activation of the run loop
 * runs a group of contexts. A group ends with the sub (or string eval) that C code
 * called, which returns to no op, or at the bottom of a sort's PERL_SI. So native and
 * Perl frames appear in their true order. Each step reads one context.
 *
 * Contexts and activations do not change at the same moment. And two kinds of C code keep
 * the context of a sub that they call repeatedly: sort, and MULTICALL (List::Util,
 * (?{})). While no op of that sub runs, its group has no activation. So the first step
 * decides whether the newest group has one.
 *
 * If C code calls a sub that begins with an eval, docatch() begins a second activation in
 * the middle of the group, which then runs the group to its end. The group's frames
 * belong to this activation, and the first one has none. A JMPENV on the C stack between
 * the two shows that, if the group itself was not called with one.
 */
#ifndef OP_PERL_STEP_H
#define OP_PERL_STEP_H

#include "bpf/walk/unwind.h"
#include "op_perl.h"

/* Numbers of op_state(u)->word. */
enum {
	OP_PL_SI = 0,	/* the PERL_SI before the current one; 0: none */
	OP_PL_NEXT = 1, /* the next context */
	OP_PL_FIRST =
		2, /* the oldest one of its array; above OP_PL_NEXT when all are done */
	OP_PL_COP = 3, /* the COP that the next frame is at */
	OP_PL_ENV = 4, /* the next JMPENV */
	OP_PL_BEGUN =
		5,	/* the word of struct op_perl with `where`, and OP_PL_BEGUN_BIT */
	OP_PL_TYPE = 6, /* si_type of the current PERL_SI, and OP_PL_BASE_BLOCK */
	OP_PL_FLAGS = 7, /* OP_PL_IS_* */
	OP_PL_FILE =
		8, /* address of the name of the last frame's file, and OP_PL_FILE_EVAL */
	OP_PL_FRAMES = 9, /* frames of the walk before the activation's own */
};

/* The oldest context of a sort or a MULTICALL belongs to a block: its last op leads to no
 * op. */
#define OP_PL_BASE_BLOCK (1ULL << 32)
#define OP_PL_FILE_EVAL	 (1ULL << 63)

enum {
	OP_PL_IS_ENTERED = 1 << 0, /* the frames of an activation are being pushed */
	OP_PL_IS_ENDED =
		1 << 1,		/* docatch() may have begun the last group's activation */
	OP_PL_IS_DONE = 1 << 2, /* all frames are pushed */
	/* a group's last sub is pushed; call_sv() may have made a context before that */
	OP_PL_IS_LAST = 1 << 3,
	/* not the first interpreter: the thread that has it may end soon */
	OP_PL_IS_THREAD = 1 << 4,

	OP_PL_BEGUN_BIT = 63,
	/* contexts of one PERL_SI; a larger number is invalid */
	OP_PL_CONTEXTS_MAX = 1 << 24,
	OP_PL_ENVS_MAX = 4, /* JMPENVs between two activations */
	/* most bytes from an activation of the loop to a struct op in the frames that it
	 * called */
	OP_PL_NEAR = 1 << 16,
	/* offset in runtime_bytes, after the current context */
	OP_PL_READ = 96,
};

/* Byte @member of the word of struct op_perl that begins with `where`. */
#define OP_PL_BYTE(word, member)                                                         \
	((__u8)((word) >> ((__builtin_offsetof(struct op_perl, member) -                 \
			    __builtin_offsetof(struct op_perl, where)) *                 \
			   8)))
/* Word @member of the struct op_perl in view @v. */
#define OP_PL_WORD(v, member)                                                            \
	op_runtime_seen(v, __builtin_offsetof(struct op_perl, member))

static __always_inline __u64 op_pl_field(struct op_unwind *u, __u32 off)
{
	return *(__u64 *)(u->runtime_bytes + (off & (OP_RUNTIME_BYTES - 8)));
}

/* Leave the step and continue with the loop's native frame. After an @error no Perl frame
 * follows. */
static __always_inline enum op_next op_pl_leave(struct op_unwind *u, __u32 error)
{
	if (error)
		op_state(u)->error = error;
	op_state(u)->word[OP_PL_FLAGS] &= ~(__u64)(OP_PL_IS_ENTERED | OP_PL_IS_LAST);
	return op_leave_runtime(u, 1);
}

/* Find the thread's interpreter. Returns 0 or -1. */
static __always_inline int op_pl_interpreter(struct op_unwind *u,
					     const struct op_runtime_view *v, __u8 where,
					     __u64 *ret)
{
	__u64 at = OP_PL_WORD(v, at);
	__u64 module = OP_PL_WORD(v, module);
	__u64 block = u->process.thread_pointer;

	*ret = 0;
	if (where == OP_PERL_GLOBALS)
		return 0;
	if (where == OP_PERL_POINTER)
		return op_platform_read(u, ret, 8, at) || !*ret ? -1 : 0;
	if (!block)
		return -1;
	if (where == OP_PERL_KEY) {
		if (op_platform_read(u, &block, 8, block + at))
			return -1;
		at = OP_PL_WORD(v, block);
	} else if ((__u32)module &&
		   (op_platform_read(u, &block, 8,
				     block + (__s64)(__s16)(module >> 32)) ||
		    op_platform_read(u, &block, 8,
				     block + (__u32)module * (module >> 48)) ||
		    !block || block == ~0ULL)) {
		return -1;
	}
	return op_platform_read(u, ret, 8, block + at) || !*ret ? -1 : 0;
}

/* OP_PL_IS_THREAD, if @perl is not the first interpreter. */
static __always_inline __u64 op_pl_is_thread(struct op_unwind *u,
					     const struct op_runtime_view *v, __u64 perl)
{
	__u64 at = OP_PL_WORD(v, first);
	__u64 first = 0;

	return at && (op_platform_read(u, &first, 8, at) || first != perl)
		       ? OP_PL_IS_THREAD
		       : 0;
}

/* A context's type without its flags, counted from OP_PERL_CX_SUB. */
static __always_inline __u32 op_pl_type(struct op_unwind *u, __u64 bits)
{
	return ((__u32)bits & OP_PERL_CX_TYPE) -
	       OP_PL_BYTE(op_state(u)->word[OP_PL_BEGUN], cx_sub);
}

/* Make @si the current PERL_SI. Returns 0 or -1. */
static __always_inline int op_pl_load(struct op_unwind *u, __u64 si)
{
	__u64 *state = op_state(u)->word;
	__u64 word = state[OP_PL_BEGUN];
	__u32 type_at = OP_PL_BYTE(word, si_type);
	__u64 type;
	__u32 count;
	__u64 first = 0;

	if (op_platform_read(u, u->runtime_bytes + OP_PL_READ, OP_PERL_SI_BYTES, si))
		return -1;
	count = (__u32)op_pl_field(u, OP_PL_READ + OP_PERL_SI_CXIX) + 1;
	if (count > OP_PL_CONTEXTS_MAX)
		return -1;
	type = (__u32)(op_pl_field(u, OP_PL_READ + (type_at & 0x28)) >>
		       (type_at & 4) * 8);
	state[OP_PL_SI] = op_pl_field(u, OP_PL_READ + OP_PERL_SI_CXSTACK + 8);
	state[OP_PL_FIRST] = op_pl_field(u, OP_PL_READ + OP_PERL_SI_CXSTACK);
	state[OP_PL_NEXT] =
		state[OP_PL_FIRST] + ((__u64)count - 1) * OP_PL_BYTE(word, cx_bytes);
	if (count && (type == OP_PERL_SI_SORT || type == OP_PERL_SI_MULTICALL)) {
		if (op_platform_read(u, &first, 8, state[OP_PL_FIRST]))
			return -1;
		if (op_pl_type(u, first) != OP_PERL_CX_SUB || (first & OP_PERL_CX_REGEX))
			type |= OP_PL_BASE_BLOCK;
	}
	state[OP_PL_TYPE] = type;
	return 0;
}

/* Does the current PERL_SI have more contexts? */
static __always_inline bool op_pl_some(const __u64 *state)
{
	return (__s64)(state[OP_PL_NEXT] - state[OP_PL_FIRST]) >= 0;
}

/* Does the sub's context in runtime_bytes have its CV? Not while the sub is entered or
 * left. */
static __always_inline bool op_pl_has_cv(struct op_unwind *u)
{
	__u64 cv = op_pl_field(u, OP_PL_BYTE(op_state(u)->word[OP_PL_BEGUN], cx_cv));
	__u64 head[2];

	return cv && !op_platform_read(u, head, sizeof(head), cv) &&
	       (__u8)(head[1] >> 32) == OP_PERL_TYPE_CV;
}

/*
 * Skip the newest group if it has no activation. @op is PL_op. It is 0 between two calls
 * of a sort's sub or of a MULTICALL, except in regular expressions. While C code calls a
 * sub it is an op on the C stack. The COP is the caller's until the sub's first
 * statement. Returns 0, 1 if the current activation has left its group, or -1.
 */
static __always_inline int op_pl_newest(struct op_unwind *u, __u64 op)
{
	__u64 *state = op_state(u)->word;
	__u32 type = (__u32)state[OP_PL_TYPE];
	bool is_new;

	if (!op_pl_some(state))
		return 0;
	if (op_platform_read(u, u->runtime_bytes, OP_PERL_CX_BYTES, state[OP_PL_NEXT]))
		return -1;
	is_new = op_pl_field(u, OP_PERL_CX_OLDCOP) == state[OP_PL_COP];
	if ((type == OP_PERL_SI_SORT && !op) ||
	    (type == OP_PERL_SI_MULTICALL &&
	     (!op || (is_new && state[OP_PL_NEXT] == state[OP_PL_FIRST])))) {
		state[OP_PL_COP] = op_pl_field(u, OP_PERL_CX_OLDCOP);
		return op_pl_load(u, state[OP_PL_SI]);
	}
	if (op_pl_type(u, op_pl_field(u, 0)) != OP_PERL_CX_SUB)
		return 0;
	if (!(is_new && u->loop_cfa - op < OP_PL_NEAR) && op_pl_has_cv(u))
		return 0;
	state[OP_PL_COP] = op_pl_field(u, OP_PERL_CX_OLDCOP);
	state[OP_PL_NEXT] -= OP_PL_BYTE(state[OP_PL_BEGUN], cx_bytes);
	return !is_new && !op_pl_field(u, OP_PERL_CX_RETOP);
}

/*
 * The first activation of a walk: find the newest context. Returns 0 or an error number.
 * Sets OP_PL_IS_ENTERED if the activation has frames.
 */
static __always_inline __u32 op_pl_begin(struct op_unwind *u,
					 const struct op_runtime_view *v)
{
	__u64 *state = op_state(u)->word;
	__u64 word = OP_PL_WORD(v, where);
	__u64 perl = 0;
	__u64 si = 0;
	__u64 op = 0;
	int r;

	if (u->heap_moved)
		return OP_ERROR_perl_late;
	if (op_pl_interpreter(u, v, (__u8)word, &perl))
		return OP_ERROR_perl_no_interpreter;
	if (op_platform_read(u, &op, 8, perl + OP_PL_WORD(v, op)) ||
	    op_platform_read(u, &state[OP_PL_COP], 8, perl + OP_PL_WORD(v, curcop)) ||
	    op_platform_read(u, &state[OP_PL_ENV], 8, perl + OP_PL_WORD(v, top_env)) ||
	    op_platform_read(u, &si, 8, perl + OP_PL_WORD(v, stackinfo)))
		return OP_ERROR_perl_read_interpreter;
	/* the loop ran its last op and is about to return */
	if (u->exact && !op)
		return 0;
	state[OP_PL_BEGUN] = word | 1ULL << OP_PL_BEGUN_BIT;
	r = op_pl_load(u, si);
	if (!r)
		r = op_pl_newest(u, op);
	if (r < 0)
		return OP_ERROR_perl_read_context;
	if (r)
		return OP_ERROR_perl_no_activation;
	state[OP_PL_FRAMES] = u->out.frames;
	state[OP_PL_FLAGS] = OP_PL_IS_ENTERED | op_pl_is_thread(u, v, perl);
	return 0;
}

/* Did an inner activation, begun by docatch(), run the group of the current one? */
static __always_inline bool op_pl_caught(struct op_unwind *u)
{
	__u64 *state = op_state(u)->word;
	bool found = false;
	__u32 i;

	for (i = 0; i < OP_PL_ENVS_MAX; i++) {
		if (!state[OP_PL_ENV] || state[OP_PL_ENV] >= u->sp)
			break;
		found = true;
		if (op_platform_read(u, &state[OP_PL_ENV], 8, state[OP_PL_ENV]))
			state[OP_PL_ENV] = 0;
	}
	found = found && (state[OP_PL_FLAGS] & OP_PL_IS_ENDED);
	state[OP_PL_FLAGS] &= ~(__u64)OP_PL_IS_ENDED;
	return found;
}

/* The address of the file's name. For an eval's code it is 0, with OP_PERL_TEXT in
 * *@ret_kind: the name is freed with the code. */
static __always_inline __u64 op_pl_file(struct op_unwind *u, __u64 file, __u64 *ret_kind)
{
	__u64 *last = &op_state(u)->word[OP_PL_FILE];
	__u64 text = 0;
	__u64 at;

	file &= OP_PERL_ADDRESS_MASK;
	if ((*last & OP_PERL_ADDRESS_MASK) != file) {
		*last = at = file;
		if (OP_PL_BYTE(op_state(u)->word[OP_PL_BEGUN], globs)) {
			if (op_platform_read(u, &at, 8, at) ||
			    op_platform_read(u, &at, 8, at + OP_PERL_GV_NAME))
				at = 0;
			at += OP_PERL_GV_FILE;
		}
		if (!op_platform_read(u, &text, 8, at) &&
		    (text & OP_PERL_EVAL_MASK) == OP_PERL_EVAL_TEXT)
			*last |= OP_PL_FILE_EVAL;
	}
	if (!(*last & OP_PL_FILE_EVAL))
		return file;
	*ret_kind |= OP_PERL_TEXT;
	return 0;
}

/* Send the name of a file, which is at @file, unless it was sent. Returns its identity. */
static __always_inline __u32 op_pl_keep(struct op_unwind *u, __u64 file)
{
	__u64 id = 0;
	__u32 check;
	__u32 i;

	if (op_platform_read(u, u->runtime_bytes + OP_PL_READ, OP_PERL_FILE_BYTES, file))
		return 0;
	for (i = 0; i < OP_PERL_FILE_BYTES; i += 8)
		id = op_object_id(id, op_pl_field(u, OP_PL_READ + i));
	check = op_perl_check(id, OP_PERL_OBJECT_FILE);
	op_platform_object(u, __builtin_offsetof(struct op_perl, file),
			   op_runtime_word(u, OP_PERL_FRAME_WORDS, file), check, true);
	return check;
}

/* Push a frame of @kind at the current COP. @check and @name describe a sub. Returns 0 or
 * -1. */
static __always_inline int op_pl_push(struct op_unwind *u, __u64 kind, __u64 name,
				      __u32 check)
{
	__u64 cop = op_state(u)->word[OP_PL_COP];
	__u64 place[3] = { 0, 0, 0 };
	__u64 file;

	if (cop && op_platform_read(u, place, OP_PERL_COP_BYTES, cop + OP_PERL_COP_READ))
		return -1;
	file = op_pl_file(u, place[2], &kind);
	if (kind == OP_PERL_FILE && !OP_PL_BYTE(op_state(u)->word[OP_PL_BEGUN], globs)) {
		name = file;
		check = op_pl_keep(u, file);
	}
	op_push_word(u, op_runtime_word(u, OP_PERL_FRAME_WORDS, name));
	op_push_word(u, place[0] >> 32 | (__u64)check << 32);
	op_push_word(u, file | kind << OP_PERL_KIND_SHIFT);
	u->out.frames++;
	return 0;
}

/* The description of a frame to push. */
struct op_pl_frame {
	__u64 kind;
	__u64 name;
	__u32 check;
};

/* Read the hash and the length of the name (HEK) of the package at @hash. Returns 0 or
 * -1. */
static __always_inline int op_pl_package(struct op_unwind *u, __u64 hash, __u64 *ret)
{
	__u32 aux = OP_PL_BYTE(op_state(u)->word[OP_PL_BEGUN], hash_aux);
	__u64 at = 0;
	__u64 max = 0;

	if (op_platform_read(u, u->runtime_bytes + OP_PL_READ, OP_PERL_SV_BYTES, hash))
		return -1;
	at = op_pl_field(u, OP_PL_READ) + aux;
	if (!aux) {
		if (op_platform_read(u, &max, 8, at + OP_PERL_HV_MAX))
			return -1;
		at = op_pl_field(u, OP_PL_READ + OP_PERL_SV_POINTER) + (max + 1) * 8;
	}
	/* where it has several names, this identifies their list */
	return op_platform_read(u, &at, 8, at) || op_platform_read(u, ret, 8, at) ? -1
										  : 0;
}

/* Where the name and the package of the sub of @f are; its CV is in runtime_bytes.
 * *@ret_recipe: how to send them. Returns 0 or -1. */
static __always_inline int op_pl_named(struct op_unwind *u, const struct op_pl_frame *f,
				       __u64 ret[2], __u32 *ret_recipe)
{
	__u64 effective = 0;
	__u64 body;

	*ret_recipe = __builtin_offsetof(struct op_perl, cv);
	ret[0] = op_pl_field(u, OP_PL_READ + OP_PERL_CV_NAME - OP_PERL_CV_STASH);
	ret[1] = op_pl_field(u, OP_PL_READ);
	if (f->kind & OP_PERL_NAMED)
		return 0;
	if (op_platform_read(u, u->runtime_bytes + OP_PL_READ, OP_PERL_SV_BYTES, f->name))
		return -1;
	body = op_pl_field(u, OP_PL_READ);
	(void)op_platform_read(u, &effective, 8,
			       op_pl_field(u, OP_PL_READ + OP_PERL_SV_POINTER) +
				       OP_PERL_GP_EFFECTIVE);
	*ret_recipe = effective && effective != f->name
			      ? __builtin_offsetof(struct op_perl, effective)
			      : __builtin_offsetof(struct op_perl, glob);
	return op_platform_read(u, ret, 16, body + OP_PERL_GV_NAME) ? -1 : 0;
}

/* Send what names the sub of @f, whose CV is in runtime_bytes, unless it was sent. Returns
 * its identity, or 0 if that cannot be read. */
static __always_inline __u32 op_pl_meet(struct op_unwind *u, const struct op_pl_frame *f)
{
	enum op_perl_named is =
		f->kind & OP_PERL_NAMED ? OP_PERL_OBJECT_CV : OP_PERL_OBJECT_GLOB;
	__u64 word = op_runtime_word(u, OP_PERL_FRAME_WORDS, f->name);
	__u64 at[2];
	__u64 name = 0;
	__u64 package = 0;
	__u32 check = 0;
	__u32 recipe;

	if (op_platform_object_known(u, word, &check) &&
	    (check & OP_PERL_OBJECT_MASK) == is)
		return check;
	if (op_pl_named(u, f, at, &recipe) || op_platform_read(u, &name, 8, at[0]) ||
	    (at[1] && op_pl_package(u, at[1], &package)))
		return 0;
	check = op_perl_check(op_perl_name_id(name, at[1], package), is);
	op_platform_object(u, recipe, word, check,
			   op_state(u)->word[OP_PL_FLAGS] & OP_PL_IS_THREAD);
	return check;
}

/* Describe the frame of the sub with the CV at @cv. Returns 1 or -1. */
static __always_inline int op_pl_sub(struct op_unwind *u, __u64 cv,
				     struct op_pl_frame *ret)
{
	__u64 body = 0;
	__u32 flags;

	if (op_platform_read(u, &body, 8, cv) ||
	    op_platform_read(u, u->runtime_bytes + OP_PL_READ, OP_PERL_CV_BYTES,
			     body + OP_PERL_CV_STASH))
		return -1;
	flags = (__u32)(op_pl_field(u,
				    OP_PL_READ + OP_PERL_CV_FLAGS - OP_PERL_CV_STASH) >>
			32);
	ret->kind = OP_PERL_SUB;
	ret->name = op_pl_field(u, OP_PL_READ + OP_PERL_CV_NAME - OP_PERL_CV_STASH);
	if (flags & OP_PERL_CV_NAMED) {
		ret->kind |= OP_PERL_NAMED;
		ret->name = cv;
	}
	ret->check = op_pl_meet(u, ret);
	return 1;
}

/* Describe the frame of the context in runtime_bytes. Returns 1, 0 if it has none, or
 * -1. */
static __always_inline int op_pl_context(struct op_unwind *u, __u32 type, __u32 flags,
					 struct op_pl_frame *ret)
{
	__u32 cv = OP_PL_BYTE(op_state(u)->word[OP_PL_BEGUN], cx_cv);

	if (type == OP_PERL_CX_SUB)
		return flags & OP_PERL_CX_REGEX_FAKE
			       ? 0
			       : op_pl_sub(u, op_pl_field(u, cv), ret);
	ret->kind = OP_PERL_FORMAT;
	if (type == OP_PERL_CX_EVAL)
		ret->kind = flags & (OP_PERL_CX_REAL | OP_PERL_CX_BLOCK) ? OP_PERL_EVAL
									 : OP_PERL_FILE;
	return (type == OP_PERL_CX_EVAL || type == OP_PERL_CX_FORMAT) &&
	       !((flags & OP_PERL_CX_TRY) && (flags & OP_PERL_CX_BLOCK));
}

/* Is the context in runtime_bytes the oldest of its group? */
static __always_inline bool op_pl_ends(struct op_unwind *u, __u32 type, __u32 flags)
{
	const __u64 *state = op_state(u)->word;

	if (state[OP_PL_NEXT] == state[OP_PL_FIRST] &&
	    (__u32)state[OP_PL_TYPE] == OP_PERL_SI_SORT)
		return true;
	if (type == OP_PERL_CX_DEFER)
		return true;
	return type <= OP_PERL_CX_EVAL && !op_pl_field(u, OP_PERL_CX_RETOP) &&
	       (type != OP_PERL_CX_EVAL || !(flags & OP_PERL_CX_BLOCK));
}

/*
 * A group's last sub is pushed. Does the context in runtime_bytes, the one before it,
 * belong to the same group? It does in two cases. The last op of a block called what
 * seemed to be the last sub. Or call_sv() that catches made an eval's context, with a
 * JMPENV like docatch().
 */
static __always_inline bool op_pl_belongs(struct op_unwind *u, __u32 type, __u32 flags)
{
	__u64 *state = op_state(u)->word;

	if (type == OP_PERL_CX_DEFER || ((state[OP_PL_TYPE] & OP_PL_BASE_BLOCK) &&
					 state[OP_PL_NEXT] == state[OP_PL_FIRST])) {
		state[OP_PL_FLAGS] &= ~(__u64)OP_PL_IS_LAST;
		return true;
	}
	return type == OP_PERL_CX_EVAL && (flags & OP_PERL_CX_BLOCK) &&
	       !op_pl_field(u, OP_PERL_CX_RETOP);
}

/* The context in runtime_bytes is done. */
static __always_inline enum op_next op_pl_done(struct op_unwind *u, __u32 type,
					       __u32 flags)
{
	__u64 *state = op_state(u)->word;
	bool ends = op_pl_ends(u, type, flags);

	state[OP_PL_NEXT] -= OP_PL_BYTE(state[OP_PL_BEGUN], cx_bytes);
	/* eval_sv() makes a JMPENV too, and so does the code that runs a defer block */
	if ((state[OP_PL_FLAGS] & OP_PL_IS_LAST) ||
	    (ends && (type == OP_PERL_CX_EVAL || type == OP_PERL_CX_DEFER)))
		return op_pl_leave(u, 0);
	if (ends)
		state[OP_PL_FLAGS] |= OP_PL_IS_LAST;
	return OP_NEXT_CONTINUE;
}

/* Push the frame of the next context, if it has one, or that of the main program. */
static __always_inline enum op_next op_pl_next(struct op_unwind *u)
{
	__u64 *state = op_state(u)->word;
	struct op_pl_frame frame = { .kind = OP_PERL_MAIN };
	bool some = op_pl_some(state);
	__u32 flags = 0;
	__u32 type = 0;
	int r = 1;

	if (!op_frame_room(u))
		return op_end(u, OP_END_TRUNCATED);
	if (some) {
		if (op_platform_read(u, u->runtime_bytes, OP_PERL_CX_BYTES,
				     state[OP_PL_NEXT]))
			return op_pl_leave(u, OP_ERROR_perl_read_context);
		flags = (__u32)op_pl_field(u, 0);
		type = op_pl_type(u, flags);
	}
	if ((state[OP_PL_FLAGS] & OP_PL_IS_LAST) &&
	    !(some && op_pl_belongs(u, type, flags))) {
		state[OP_PL_FLAGS] |= OP_PL_IS_ENDED;
		/* if no other activation follows, the group had none */
		return op_pl_leave(u, state[OP_PL_FRAMES] == u->out.frames
					      ? OP_ERROR_perl_no_activation
					      : 0);
	}
	if (some)
		r = op_pl_context(u, type, flags, &frame);
	else if (state[OP_PL_SI])
		return op_pl_load(u, state[OP_PL_SI])
			       ? op_pl_leave(u, OP_ERROR_perl_read_context)
			       : OP_NEXT_CONTINUE;
	if (r < 0 || (r && op_pl_push(u, frame.kind, frame.name, frame.check)))
		return op_pl_leave(u, OP_ERROR_perl_read_frame);
	if (!some) {
		state[OP_PL_FLAGS] |= OP_PL_IS_DONE;
		return op_pl_leave(u, 0);
	}
	if (r)
		state[OP_PL_COP] = op_pl_field(u, OP_PERL_CX_OLDCOP);
	return op_pl_done(u, type, flags);
}

/* Read one context of the activation at u->pc, or continue natively. */
static __always_inline enum op_next op_step_perl(struct op_unwind *u)
{
	__u64 *state = op_state(u)->word;
	struct op_runtime_view v;
	__u32 error;

	if (op_state(u)->error == OP_ERROR_perl_no_activation)
		op_state(u)->error = 0; /* this is an activation */
	if (op_state(u)->error || (state[OP_PL_FLAGS] & OP_PL_IS_DONE))
		return op_pl_leave(u, 0);
	if (!state[OP_PL_BEGUN]) {
		if (!op_runtime_see(u, &v))
			return op_pl_leave(u, OP_ERROR_perl_no_interpreter);
		error = op_pl_begin(u, &v);
		if (!(state[OP_PL_FLAGS] & OP_PL_IS_ENTERED))
			return op_pl_leave(u, error);
	}
	if (!(state[OP_PL_FLAGS] & OP_PL_IS_ENTERED)) {
		state[OP_PL_FLAGS] |= OP_PL_IS_ENTERED;
		state[OP_PL_FRAMES] = u->out.frames;
		if (op_pl_caught(u))
			return op_pl_leave(u, 0);
	}
	return op_pl_next(u);
}

#endif
