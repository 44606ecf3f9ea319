/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The state of one walk, and what every step uses: reading the user stack through a
 * window, reading the arena, pushing frames, ending the walk.
 *
 * A walk is a sequence of steps. Each advances by one native frame, or by one run of an
 * interpreter's frames. Steps call only the platform (op_platform.h), so the same
 * source runs in the kernel and, compiled for the host, in user space.
 */
#ifndef OP_UNWIND_H
#define OP_UNWIND_H

#include "op_errors.h"
#include "op_types.h"

enum {
	OP_WINDOW_BYTES = 512,
	/* bytes of it below the requested address: saved registers */
	OP_WINDOW_BELOW = 64,
	OP_DEEP_STEPS_MAX = 4 * OP_FRAMES_MAX + 16, /* of a walk that folds (fold.h) */
	OP_CONTEXT_WORDS = (sizeof(struct op_thread_context) + OP_TEXT_BYTES) / 8,
	OP_WORDS_MAX = OP_KERNEL_FRAMES_MAX + OP_USER_WORDS_MAX + OP_CONTEXT_WORDS + 1,
	OP_STEP_NATIVE = 0, /* op_unwind.step; else enum op_runtime */
	OP_STEP_GUESS = OP_RUNTIME_MAX,
	/* op_unwind.guessed */
	OP_GUESSED_FRAME = 1,  /* by frame pointer, in code without a file */
	OP_GUESSED_CALLER = 2, /* one of several: u->guess has the others */
	OP_GUESSED_WAY = 3,    /* the only way that there was */
	OP_RUNTIME_BYTES = 512,
	OP_RUNTIME_WORDS = 12,	  /* of state, for each runtime on the stack */
	OP_RUNTIMES_ON_STACK = 4, /* kept apart in one walk */
};

/* The state that one runtime keeps from step to step. All zero at its first step of a
 * walk. */
struct op_runtime_state {
	__u64 word[OP_RUNTIME_WORDS];
	__u32 instance; /* owner; 0: free */
	__u32 error;	/* why its frames are missing from here on, or 0 */
	op_ref ref;	/* of the runtime's own struct */
	__u32 runtime;	/* enum op_runtime */
};

/* What a call instruction shows about the code at pc: there is no call; it leads
 * elsewhere, so pc's function was entered by a jump; it may lead here. */
enum op_call {
	OP_CALL_NONE = 0,
	OP_CALL_ELSEWHERE,
	OP_CALL_HERE,
};

/* What a step returns. */
enum op_next {
	OP_NEXT_CONTINUE = 0,
	OP_NEXT_END = 1, /* u->end says why */
};

/* The process of a walk. */
struct op_walk_process {
	__u64 thread_pointer; /* of the thread; 0: unknown */
	__u64 task_size;      /* where the process's addresses end; 0: unknown */
	op_ref at;
	op_ref starts;
	op_ref mappings;
	__u32 mapping_count;
};

/* The frames that a walk has pushed. */
struct op_walk_output {
	__u32 frames;
	__u32 max_frames;
	__u32 words;	  /* of word[], kernel's included */
	__u32 words_user; /* where the user's words begin */
};

/* The mapping that held the last pc, and its segment. */
struct op_walk_mapping {
	__u64 start;
	__u64 end;
	__u64 bias;
	op_ref segment;
	__u32 flags;
	/* the words of segment `read`, 0: none's */
	__u64 vaddr;
	__u64 pages;
	__u64 loops;
	op_ref read;
	__u32 reserved;
};

/* State of a guess. */
struct op_walk_guess {
	__u64 fp;	 /* a word on the way that looks like a saved fp, or 0 */
	__u32 slot;	 /* of the stack, for the guess to examine next */
	__u32 elsewhere; /* 1 + the first with a return address of a call elsewhere, or 0 */
	/* the frame whose caller is guessed, in case the caller is not valid */
	__u64 pc;
	__u64 sp;
	__u64 frame; /* its fp */
	__u32 exact;
	__u32 framed; /* its frame record was tried */
	__u32 words;  /* of the stack up to it */
	__u32 reserved;
};

enum {
	OP_RETURNS_MAX = 8, /* calls with a uretprobe on one stack that a walk can pass */
};

/* The calls of the task whose return address a uretprobe has replaced, the innermost
 * first. */
struct op_walk_returns {
	__u64 trampoline;	  /* where they return */
	__u64 sp[OP_RETURNS_MAX]; /* of the caller, after the call */
	__u64 pc[OP_RETURNS_MAX]; /* the address that was replaced */
};

struct op_walk_passed {
	__u32 len;  /* all calls */
	__u32 next; /* the innermost that the walk has not passed */
};

struct op_unwind {
	__u64 pc;
	__u64 sp;
	__u64 fp;
	__u64 lr;
	__u64 end_pc;
	__u64 marks;	/* OP_MARK_SEEN_* for each mark, at OP_MARK_BITS * its number */
	__u64 platform; /* the host's context; unused in the kernel */

	struct op_walk_process process;
	struct op_walk_output out;
	__u32 step;  /* OP_STEP_NATIVE or enum op_runtime */
	__u32 exact; /* pc was interrupted (registers are whole), not a return address */
	__u32 runtime_done; /* the interpreter's frames at this native frame are pushed */
	__u16 end;
	__u16 guessed; /* the last step was not led by a table: OP_GUESSED_* */

	struct op_walk_mapping map;
	/* the process has run since: code is as it was, the heap is not */
	__u32 heap_moved;
	__u32 error;		      /* of a runtime that has no state, or 0 */
	__u32 guesses;		      /* of this walk */
	__u32 kept_lost;	      /* reg[OP_ARCH_KEPT_REG] is not the frame's */
	__u32 parked_count;	      /* of parked[] */
	struct op_walk_passed passed; /* of returns */
	__u64 loop_cfa;	 /* of the native frame whose interpreter's frames are wanted */
	__u64 window_at; /* address of window[0]; ~0: empty */
	/* State of the runtime whose step ran last: in one place for all, so that steps
	 * need no index. The others wait in parked[]. */
	struct op_runtime_state state;
	__u64 window[OP_WINDOW_BYTES / 8];
	__u64 reg[OP_LEAF_REGS]; /* valid while exact; one is followed on */

	/* Members that most walks do not use. */
	__u8 runtime_bytes[OP_RUNTIME_BYTES]; /* what a runtime's step reads into */
	struct op_walk_guess guess;
	struct op_walk_returns returns;
	struct op_runtime_state parked[OP_RUNTIMES_ON_STACK - 1];
};

/* An object whose state walks do not look up for a while. A slot has a few of them, because
 * other programs drive the map's memory out of the caches. */
struct op_object_known {
	__u64 key; /* op_object_key(). Bit 0: the object is old, and is not read either */
	__u32 check;
	__u32 until; /* op_object_time() */
};

enum {
	OP_OBJECTS_KNOWN_BITS = 8,
};

/* A hash of a process and the first word of a frame. */
static __always_inline __u64 op_object_key(__u64 word, __u32 pid)
{
	return op_object_id(word, pid) | 1;
}

/* In units of 2^20 ns. */
static __always_inline __u32 op_object_time(__u64 time_ns)
{
	return (__u32)(time_ns >> 20);
}

/* The record of an object that is copied (event/object.h). */
struct op_object_copy {
	__u32 recipe; /* where the runtime's struct has its steps */
	__u32 bytes;  /* of pieces */
	__u64 addr;
	__u64 known;			  /* of the object that was looked up */
	__u32 start[OP_OBJECT_STEPS + 2]; /* the first byte of each piece */
	struct op_object_record record;
	__u8 pieces[OP_OBJECT_BYTES];
};

/*
 * A slot: the state of one walk. Walks that interrupt each other on a CPU have one each
 * (event/slot.h). The record and its words are adjacent, as they are sent.
 */
struct op_slot {
	__u64 users;	     /* walks that want it: the one that makes it 1 has it */
	__u64 task;	     /* the task of the walk; 0: none */
	__u32 depth;	     /* of that task's slots on this CPU; the deepest one runs */
	__u32 number;	     /* of the slot in op_slots */
	__u32 tail_calls;    /* of the walk */
	__u32 absent;	     /* a bit for each runtime whose program is missing */
	__u32 named;	     /* its stack is announced once a window, and not copied */
	__u32 objects;	     /* objects that the walk has sent */
	__u32 context_bytes; /* of `context`, and of the text if there is one; 0: neither */
	__u32 text_bytes;    /* where op_settings.argument[0].is_text */
	__u32 chain_bytes;   /* of pieces that are not sent yet (event/chain.h) */
	__u32 chain_records; /* that were sent */
	__u64 begun_ns;	     /* since when the sample takes time of the CPU */
	__u64 held;   /* where op_settings.holds: the key of its event in op_held */
	__u64 called; /* where a probe measures latency: the function that has returned */
	struct op_unwind unwind;
	struct op_registers registers;
	/* if `named`; the members behind it are sent with it */
	struct op_named sample;
	struct op_thread_context context;
	char text[OP_TEXT_BYTES];
	struct op_waker waker;		  /* where op_settings.wakers */
	struct op_context_text label_key; /* of the one that is read */
	struct op_context_text label_value;
	struct op_labels_record labels;
	__u64 labels_word[OP_LABELS_BYTES / 8];
	struct op_object_copy object; /* where op_settings.objects, as what follows */
	struct op_object_known known[1 << OP_OBJECTS_KNOWN_BITS];
	struct op_record record;
	__u64 word[OP_WORDS_MAX];
};

/* The entry for the object of frame @word. *@ret_stale: not 0 if it has another object, or
 * has had it for too long. Without branches, each of which the verifier would follow. */
static __always_inline struct op_object_known *
op_object_entry(struct op_slot *slot, __u64 word, __u64 *ret_stale)
{
	__u64 key = op_object_key(word, slot->record.pid);
	struct op_object_known *known = &slot->known[key >> (64 - OP_OBJECTS_KNOWN_BITS)];
	__u32 now = op_object_time(slot->record.time_ns);

	*ret_stale = ((known->key | 1) ^ key) | ((now - known->until) >> 31 ^ 1);
	return known;
}

#include <op_platform.h>

/* Make @u ready for the first step of a walk; its registers and process are set apart. */
static __always_inline void op_walk_begin(struct op_unwind *u)
{
	u->exact = 1;
	u->step = OP_STEP_NATIVE;
	u->runtime_done = 0;
	u->guessed = 0;
	u->guesses = 0;
	u->error = 0;
	u->parked_count = 0;
	u->passed.len = 0;
	u->map.start = u->map.end = 0;
	u->marks = 0;
	u->map.read = 0;
	u->window_at = ~0ULL;
	u->state.instance = 0;
	u->state.error = 0;
}

/* The state of the runtime whose step runs. */
static __always_inline struct op_runtime_state *op_state(struct op_unwind *u)
{
	return &u->state;
}

/* Why the stack is not whole though it has its outermost frame, or OP_END_COMPLETE. */
static __always_inline __u32 op_missing_frames(struct op_unwind *u)
{
	__u32 error = u->state.error ? u->state.error : u->error;
	__u32 i;

	for (i = 0; i < OP_RUNTIMES_ON_STACK - 1 && i < u->parked_count; i++)
		if (u->parked[i].error)
			error = u->parked[i].error;
	return error;
}

/* End the walk. @why is an enum op_end or an error. A stack that lacks only a runtime's
 * frames has that reason. */
static __always_inline enum op_next op_end(struct op_unwind *u, __u32 why)
{
	if (why == OP_END_COMPLETE)
		why = op_missing_frames(u);
	u->end = (__u16)why;
	u->end_pc = u->pc;
	return OP_NEXT_END;
}

/* Is u's mapping code that the process made? It may have rules that were read from it. */
static __always_inline bool op_is_made(const struct op_unwind *u)
{
	return !u->map.segment || u->map.flags & OP_MAPPING_ANON;
}

/* Word @i of an object at byte @off of a slab; the mask keeps it inside the slab. */
static __always_inline __u64 op_slab_u64(const __u8 *slab, __u32 off, __u32 i)
{
	return *(const __u64 *)(slab + ((off + i * 8) & (OP_SLAB_BYTES - 8)));
}

/* A word of the arena at @ref + @offset bytes; 0 where there is no such slab. Objects do
 * not cross slabs, so the masked offset stays in the object. */
static __always_inline __u64 op_arena_u64(struct op_unwind *u, op_ref ref, __u32 offset)
{
	const __u8 *slab = op_platform_slab(u, ref >> OP_REF_SLAB_SHIFT);

	if (!slab)
		return 0;
	return op_slab_u64(slab, (ref << OP_REF_SHIFT) & (OP_SLAB_BYTES - 1), offset / 8);
}

/* Read 8 bytes of the user's stack at @addr. Returns 0 or a negative number. */
static __always_inline int op_read_stack(struct op_unwind *u, __u64 addr, __u64 *ret)
{
	__u64 off = addr - u->window_at;

	if (off > OP_WINDOW_BYTES - 8 || (off & 7)) {
		__u64 start = addr - OP_WINDOW_BELOW;

		u->window_at = ~0ULL;
		if (op_platform_read_stack(u, u->window, OP_WINDOW_BYTES, start))
			return op_platform_read_stack(u, ret, sizeof(*ret), addr);
		u->window_at = start;
		off = OP_WINDOW_BELOW;
	}
	off >>= 3;
	op_platform_bound(off);
	if (off >= OP_WINDOW_BYTES / 8)
		return -1;
	*ret = u->window[off];
	return 0;
}

/* Append a word to the stack. The caller has checked for room with op_frame_room(). */
static __always_inline void op_push_word(struct op_unwind *u, __u64 word)
{
	__u32 i = u->out.words;

	op_platform_bound(i);
	if (i >= OP_WORDS_MAX)
		return;
	op_platform_words(u)[i] = word;
	u->out.words = i + 1;
}

/* Does one more frame of any number of words fit? Otherwise the stack is truncated,
 * because a record with more words is refused. */
static __always_inline bool op_frame_room(struct op_unwind *u)
{
	return u->out.frames < u->out.max_frames &&
	       u->out.words - u->out.words_user <= OP_USER_WORDS_MAX - OP_FRAME_WORDS_MAX;
}

static __always_inline __u64 op_frame_word(__u32 kind, __u64 address)
{
	return ((__u64)kind << OP_FRAME_KIND_SHIFT) | (address & OP_FRAME_ADDRESS_MASK);
}

/* The word at byte @offset of the struct of the runtime whose step runs. */
static __always_inline __u64 op_runtime_u64(struct op_unwind *u, __u32 offset)
{
	return op_platform_arena(u, op_state(u)->ref, offset);
}

/* The struct of the runtime whose step runs, for code that reads many of its words: `at`
 * bytes into the slab. */
struct op_runtime_view {
	const __u8 *slab;
	__u32 at;
};

/* Returns false if there is none. */
static __always_inline bool op_runtime_see(struct op_unwind *u,
					   struct op_runtime_view *ret)
{
	op_ref ref = op_state(u)->ref;

	ret->slab = op_platform_slab(u, ref >> OP_REF_SLAB_SHIFT);
	ret->at = (ref << OP_REF_SHIFT) & (OP_SLAB_BYTES - 8);
	return ref && ret->slab;
}

/* Its word at byte @offset. */
static __always_inline __u64 op_runtime_seen(const struct op_runtime_view *v,
					     __u32 offset)
{
	return op_slab_u64(v->slab, v->at, offset / 8);
}

/* The first word of a frame of @words words of the runtime whose step runs. */
static __always_inline __u64 op_runtime_word(struct op_unwind *u, __u32 words,
					     __u64 address)
{
	return op_frame_word(op_frame_kind_of(op_state(u)->instance, words), address);
}

/* Continue native: at the loop's own frame, or at the pc that the step has set. */
static __always_inline enum op_next op_leave_runtime(struct op_unwind *u, __u32 done)
{
	u->step = OP_STEP_NATIVE;
	u->runtime_done = done;
	return OP_NEXT_CONTINUE;
}

/*
 * Make the state of instance @instance the current one, and park the current one in
 * parked[]. Returns false if parked[] is full. The copy is not on BPF's own stack, which
 * is small: no step is under way, so it uses the bytes of a step.
 */
static __always_inline bool op_change_state(struct op_unwind *u, __u32 instance)
{
	struct op_runtime_state *next =
		(struct op_runtime_state *)(void *)u->runtime_bytes;
	__u32 count = u->parked_count;
	__u64 words;
	__u32 i;

	_Static_assert(sizeof(*next) <= sizeof(u->runtime_bytes), "a state fits");
	for (i = 0; i < OP_RUNTIMES_ON_STACK - 1 && i < count; i++)
		if (u->parked[i].instance == instance)
			break;
	op_platform_bound(i);
	if (i < OP_RUNTIMES_ON_STACK - 1 && i < count) {
		*next = u->parked[i];
	} else {
		words = op_arena_u64(u, u->process.at,
				     __builtin_offsetof(struct op_process, instance) +
					     instance * sizeof(struct op_instance));
		*next = (struct op_runtime_state){ .instance = instance,
						   .runtime = (__u32)words,
						   .ref = (op_ref)(words >> 32) };
	}
	if (u->state.instance) {
		if (i >= OP_RUNTIMES_ON_STACK - 1)
			return false;
		u->parked[i] = u->state;
		if (i == count)
			u->parked_count = count + 1;
	}
	u->state = *next;
	return true;
}

/*
 * Let the step of instance @instance continue from here. If the walk has no state left
 * for it, or the process has no such instance, the frame stays native and the stack has
 * the reason.
 */
static __always_inline enum op_next op_enter_runtime(struct op_unwind *u, __u32 instance)
{
	if (!instance ||
	    (u->state.instance != instance && !op_change_state(u, instance))) {
		if (!u->error)
			u->error = instance ? OP_ERROR_runtime_too_many
					    : OP_ERROR_runtime_not_attached;
		return op_leave_runtime(u, 1);
	}
	u->step = u->state.runtime;
	return u->step ? OP_NEXT_CONTINUE : op_leave_runtime(u, 1);
}

#endif
