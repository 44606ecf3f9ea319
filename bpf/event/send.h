/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The end of a sample: sends it to user space, and counts it. */
#ifndef OP_SEND_H
#define OP_SEND_H

#include "bpf/event/count.h"
#include "bpf/event/named.h"
#include "bpf/event/slot.h"
#include "bpf/event/task.h"
#include "bpf/walk/registers.h"

enum {
	OP_STACK_PAGES = OP_STACK_COPY_BYTES / OP_COPY_PAGE_BYTES,
	/* Go on aarch64 keeps a frame's record a word below its sp. */
	OP_STACK_BELOW = 16,
	/* Words of a record besides registers and a copy of the stack. */
	OP_RESUME_WORDS_MAX = 512,
	OP_COPY_NS = 100000000,	 /* of a process and CPU, in addition to the first ones */
	OP_STACK_SPAN = 8 << 20, /* the default limit of a stack */
};

_Static_assert((OP_RESUME_WORDS_MAX + OP_CONTEXT_WORDS) * 8 +
			       sizeof(struct op_registers) + OP_STACK_COPY_BYTES <=
		       OP_WORDS_MAX * 8,
	       "a slot's words take it all");
_Static_assert((OP_RESUME_WORDS_MAX + OP_CONTEXT_WORDS) * 8 +
			       sizeof(struct op_stack_chunk_record) +
			       OP_STACK_COPY_BYTES <=
		       OP_WORDS_MAX * 8,
	       "and a part of the stack above");

/* Put slot @number's context and text behind its words. Global, so that the verifier
 * checks it once. */
__attribute__((noinline)) int op_put_context(__u32 number);
__attribute__((noinline)) int op_put_context(__u32 number)
{
	struct op_slot *slot = op_slot_at(number);
	__u32 at;

	if (!slot)
		return 0;
	at = slot->unwind.out.words;
	op_platform_bound(at);
	if (at > OP_WORDS_MAX - OP_CONTEXT_WORDS)
		return 0;
	__builtin_memcpy(&slot->word[at], &slot->context, sizeof(slot->context));
	slot->record.context_bytes = sizeof(slot->context);
	if (slot->context_bytes > sizeof(slot->context)) {
		__builtin_memcpy(&slot->word[at + sizeof(slot->context) / 8], slot->text,
				 sizeof(slot->text));
		slot->record.context_bytes += sizeof(slot->text);
	}
	return 0;
}

/* Send the slot's record with its words. */
static __always_inline void op_send_sample(struct op_slot *slot, struct op_counts *counts)
{
	struct op_unwind *u = &slot->unwind;
	struct op_record *r = &slot->record;
	__u64 flags = op_ring_wakeup();
	__u32 bytes;

	r->end = u->end;
	r->end_pc = u->end_pc;
	r->user_frames = (__u16)u->out.frames;
	r->user_words = (__u16)(u->out.words - u->out.words_user);
	if (slot->context_bytes)
		(void)op_put_context(slot->number);
	bytes = sizeof(*r) + u->out.words * 8 + r->context_bytes;
	if (u->end == OP_END_UNKNOWN) {
		bytes += sizeof(struct op_registers) + r->stack_bytes;
		flags = BPF_RB_FORCE_WAKEUP; /* to be walked while its process lives */
	}
	op_platform_bound(bytes);
	if (bytes > sizeof(*r) + sizeof(slot->word))
		bytes = sizeof(*r) + sizeof(slot->word);
	r->header.type = OP_RECORD_SAMPLE;
	r->header.version = OP_RECORD_VERSION;
	r->header.bytes = bytes;
	op_count_in(counts, bpf_ringbuf_output(&op_ring, r, bytes, flags)
				    ? OP_COUNT_RING_FULL
				    : OP_COUNT_OUTPUT);
}

/* The last quarter of the ring is for samples without copies, some hundred bytes each.
 * User space may get no CPU for a second, and a lost sample is worse than a cut one. */
static __always_inline bool op_room_for_copy(const struct op_slot *slot)
{
	return slot->named || !op_ring_has(6);
}

/* What a copy costs. Where a page of a table is not made yet, the copy helps: it has the
 * page made, and the next copy is for another page. */
static __always_inline __u32 op_copy_cost(const struct op_unwind *u)
{
	return u->end == OP_END_UNKNOWN && u->map.end &&
			       !(u->map.flags & (OP_MAPPING_LAZY | OP_MAPPING_REPLACED))
		       ? 1
		       : OP_COPY_UNITS;
}

/* May this process have its stack copied once more? */
static __always_inline bool op_may_copy(const struct op_slot *slot)
{
	const struct op_record *r = &slot->record;
	__u32 i = r->pid & (OP_COPIERS - 1);
	struct op_copier *c = bpf_map_lookup_elem(&op_copiers, &i);
	__u32 cost = op_copy_cost(&slot->unwind);
	__u64 earned;

	if (!c || slot->named)
		return true;
	earned = (r->time_ns - c->time_ns) / OP_COPY_NS;
	if (c->pid != r->pid || c->time_ns > r->time_ns || earned > OP_COPIES_MAX)
		earned = OP_COPIES_MAX;
	if (c->pid != r->pid)
		c->left = 0;
	if (earned)
		c->time_ns = r->time_ns;
	c->pid = r->pid;
	/* changed mappings allow one more copy */
	if (c->generation != r->generation)
		c->left += OP_COPY_UNITS;
	c->generation = r->generation;
	c->left += (__u32)earned * OP_COPY_UNITS;
	if (c->left > OP_COPIES_MAX * OP_COPY_UNITS)
		c->left = OP_COPIES_MAX * OP_COPY_UNITS;
	if (c->left < cost)
		return false;
	c->left -= cost;
	return true;
}

/* User space begins the walk at the leaf. */
static __always_inline void op_resume_leaf(struct op_slot *slot)
{
	slot->unwind.out.words = slot->unwind.out.words_user;
	slot->unwind.out.frames = 0;
}

/* The registers from which user space continues the walk: the current ones if the walk
 * is not many words from its leaf, otherwise those of the leaf. A runtime's chain is read
 * from the leaf, too. */
static __always_inline void op_resume_registers(struct op_slot *slot)
{
	struct op_unwind *u = &slot->unwind;

	if (slot->chain_records || u->out.words == u->out.words_user ||
	    u->out.words > OP_RESUME_WORDS_MAX) {
		op_resume_leaf(slot);
		return;
	}
	slot->registers.pc = u->pc;
	slot->registers.sp = u->sp;
	slot->registers.fp = u->fp;
	slot->registers.lr = u->lr;
	__builtin_memcpy(slot->registers.reg, u->reg, OP_ARCH_REGS * sizeof(u->reg[0]));
	slot->record.resumed |= u->exact ? OP_RESUMED_EXACT : OP_RESUMED_CALLER;
}

/*
 * Where the thread's stack begins. A process's first thread: where the kernel put its
 * arguments. Other threads: below the address in the thread pointer, as libraries lay
 * out stacks. 0: the address is not above sp, as in a stack that the program made.
 */
static __always_inline __u64 op_stack_root(const struct op_slot *slot)
{
	__u64 sp = slot->registers.sp;
	__u64 root = slot->registers.thread_pointer;

	if (slot->record.pid == slot->record.tid)
		root = BPF_CORE_READ(op_current_task(), mm, start_stack);
	return root > sp && root - sp <= OP_STACK_SPAN ? root : 0;
}

/*
 * Copy at most @pages of the stack at @from page by page, because it may end at any
 * page, to @to bytes behind the beginning of slot @number's words. With @holes a page
 * that cannot be read counts as never written to, and is zero: a failed read leaves
 * zeros. Returns how many bytes were copied, up to the last page that was read. This
 * and the following functions are global, so that the verifier checks each once, and
 * not in every state in which it is called.
 */
__attribute__((noinline)) int op_copy_pages(__u32 number, __u32 to, __u64 from,
					    __u32 pages, __u32 holes);
__attribute__((noinline)) int op_copy_pages(__u32 number, __u32 to, __u64 from,
					    __u32 pages, __u32 holes)
{
	struct op_slot *slot = op_slot_at(number);
	__u32 bytes = 0;
	__u32 kept = 0;
	__u32 i;

	if (!slot)
		return 0;
	for (i = 0; i < OP_STACK_PAGES && i < pages; i++) {
		__u32 at = to + bytes;

		op_platform_bound(at);
		if (at > OP_WORDS_MAX * 8 - OP_COPY_PAGE_BYTES)
			break;
		bytes += OP_COPY_PAGE_BYTES;
		if (!bpf_probe_read_user((__u8 *)slot->word + at, OP_COPY_PAGE_BYTES,
					 (void *)from))
			kept = bytes;
		else if (!holes)
			break;
		from += OP_COPY_PAGE_BYTES;
	}
	return (int)kept;
}

enum {
	/* bytes behind the beginning of a slot's words */
	OP_CHUNK_AT = 8 * (OP_RESUME_WORDS_MAX + OP_CONTEXT_WORDS),
	OP_CHUNK_PAGES_AT = OP_CHUNK_AT + sizeof(struct op_stack_chunk_record),
};

/* Send what @slot has at OP_CHUNK_PAGES_AT, @bytes bytes of the process's memory at @at, as
 * a record of @type. Returns 0 or a negative number. */
static __always_inline long op_send_chunk(struct op_slot *slot, __u32 type, __u64 at,
					  __u32 bytes)
{
	struct op_stack_chunk_record *head =
		(struct op_stack_chunk_record *)((__u8 *)slot->word + OP_CHUNK_AT);

	op_platform_bound(bytes);
	if (!bytes || bytes > OP_STACK_COPY_BYTES)
		return -1;
	head->header.type = (__u16)type;
	head->header.version = OP_RECORD_VERSION;
	head->header.bytes = sizeof(*head) + bytes;
	head->time_ns = slot->record.time_ns;
	head->at = at;
	head->tid = slot->record.tid;
	head->cpu = slot->record.cpu;
	return bpf_ringbuf_output(&op_ring, head, sizeof(*head) + bytes,
				  BPF_RB_NO_WAKEUP);
}

/* Send the pages where slot @number's stack begins, except those below @at. */
__attribute__((noinline)) int op_send_root(__u32 number, __u64 at);
__attribute__((noinline)) int op_send_root(__u32 number, __u64 at)
{
	struct op_slot *slot = op_slot_at(number);
	__u64 root;
	__u64 page;
	__u32 bytes;
	int i;

	if (!slot)
		return 0;
	root = op_stack_root(slot);
	page = ((root - 1) & ~(__u64)(OP_COPY_PAGE_BYTES - 1)) -
	       (OP_ROOT_PAGES - 1) * OP_COPY_PAGE_BYTES;
	if (page < at)
		page = at;
	for (i = 0; i < OP_ROOT_PAGES / OP_STACK_PAGES && page < root; i++) {
		if (op_ring_has(4))
			return 0;
		bytes = (__u32)op_copy_pages(
			number, OP_CHUNK_PAGES_AT, page,
			(__u32)((root - page - 1) / OP_COPY_PAGE_BYTES) + 1, true);
		(void)op_send_chunk(slot, OP_RECORD_ROOT, page, bytes);
		page += OP_STACK_PAGES * OP_COPY_PAGE_BYTES;
	}
	return 0;
}

/*
 * Send the stack above the copy that slot @number's record will have, from @at on,
 * because the thread may have left it before user space can read it. Keeps the first
 * words of the slot.
 */
__attribute__((noinline)) int op_send_above(__u32 number, __u64 at);
__attribute__((noinline)) int op_send_above(__u32 number, __u64 at)
{
	struct op_slot *slot = op_slot_at(number);
	__u32 bytes;
	int i;

	if (!slot)
		return 0;
	for (i = 0; i < OP_CHUNK_RECORDS; i++) {
		/* a lost sample is worse than a cut one */
		if (op_ring_has(4))
			return 0;
		bytes = (__u32)op_copy_pages(number, OP_CHUNK_PAGES_AT, at,
					     OP_STACK_PAGES, false);
		if (!bytes)
			break;
		if (op_send_chunk(slot, OP_RECORD_CHUNK, at, bytes))
			return 0;
		at += bytes;
		if (bytes < OP_STACK_COPY_BYTES)
			break;
	}
	return op_send_root(number, at);
}

/*
 * Put registers and the stack above them into the record, so that user space can walk
 * on: the process, or a table that it needs, is not known yet. Global, so that the
 * verifier checks it once.
 */
__attribute__((noinline)) int op_copy_stack(__u32 number);
__attribute__((noinline)) int op_copy_stack(__u32 number)
{
	struct op_slot *slot = op_slot_at(number);
	/* Many stacks end in their first pages. */
	__u32 pages = op_ring_has(5) ? 1 : OP_STACK_PAGES - 1; /* above sp's own */
	__u32 bytes;
	__u32 got;
	__u64 sp;
	__u32 at;
	__u8 *to;
	bool own;

	if (!slot)
		return 0;
	op_resume_registers(slot);
	sp = slot->registers.sp;
	if ((sp & (OP_COPY_PAGE_BYTES - 1)) >= OP_STACK_BELOW) {
		slot->record.stack_below = OP_STACK_BELOW;
		sp -= OP_STACK_BELOW;
	}
	at = slot->unwind.out.words + slot->context_bytes / 8; /* op_put_context() */
	op_platform_bound(at);
	if (at > OP_RESUME_WORDS_MAX + OP_CONTEXT_WORDS)
		return 0;
	/* up to the first boundary of a page */
	bytes = OP_COPY_PAGE_BYTES - (sp & (OP_COPY_PAGE_BYTES - 1));
	(void)op_send_above(number,
			    sp + bytes + OP_STACK_COPY_BYTES - OP_COPY_PAGE_BYTES);
	to = (__u8 *)&slot->word[at];
	bpf_probe_read_kernel(to, sizeof(slot->registers), &slot->registers);
	to += sizeof(slot->registers);
	own = !bpf_probe_read_user(to, bytes, (void *)sp);
	got = bytes + (__u32)op_copy_pages(number,
					   at * 8 + sizeof(slot->registers) + bytes,
					   sp + bytes, pages, true);
	if (!own)
		slot->record.stack_below |= OP_STACK_UNREAD;
	if (!own && (got == bytes || op_task_in_exec(op_current_task())))
		got = 0;
	slot->record.stack_bytes = (__u16)got;
	return 0;
}

/* Is the user's stack unreadable because execve(2) has released it? The registers still
 * belong to the old program. */
static __always_inline bool op_stack_is_gone(const struct op_slot *slot)
{
	__u32 end = slot->unwind.end;

	if (end == OP_END_UNKNOWN
		    ? slot->record.stack_bytes != 0
		    : end != OP_ERROR_native_read_cfa && end != OP_ERROR_native_read_ra &&
			      end != OP_ERROR_native_read_fp &&
			      end != OP_ERROR_native_no_rule)
		return false;
	return op_task_in_exec(op_current_task());
}

/* Slot @number's walk did not reach the outermost frame, or used a table that is out of
 * date. Should user space continue it? Then its end is OP_END_UNKNOWN. Global, so that
 * the verifier follows the code after it once, and not for each path through it. */
__attribute__((noinline)) int op_finish_where(__u32 number);
__attribute__((noinline)) int op_finish_where(__u32 number)
{
	struct op_slot *slot = op_slot_at(number);
	struct op_unwind *u;

	if (!slot)
		return 0;
	u = &slot->unwind;
	/* A pc without a mapping may be in one that user space learns of soon. Not
	 * after a guess, as in JIT code without frame pointers. */
	if (u->end == OP_END_UNKNOWN && !op_room_for_copy(slot))
		u->end = OP_ERROR_native_no_room;
	else if (u->end == OP_END_UNKNOWN && !op_may_copy(slot))
		u->end = OP_ERROR_native_no_copy;
	else if (u->end == OP_ERROR_native_no_mapping && !u->guessed &&
		 op_room_for_copy(slot) && op_may_copy(slot))
		u->end = OP_END_UNKNOWN;
	else if ((slot->record.resumed & OP_REMAPPED) && !slot->named &&
		 op_room_for_copy(slot) && op_may_copy(slot)) {
		/* from the leaf, because old code may have been used on the way to the
		 * end */
		op_resume_leaf(slot);
		u->end = OP_END_UNKNOWN;
	}
	return 0;
}

/* Give user space what it needs for that. */
__attribute__((noinline)) int op_finish_incomplete(__u32 number);
__attribute__((noinline)) int op_finish_incomplete(__u32 number)
{
	struct op_slot *slot = op_slot_at(number);
	struct op_unwind *u;

	if (!slot)
		return 0;
	u = &slot->unwind;
	if (u->end == OP_END_UNKNOWN && slot->named) {
		op_send_request(slot);
		u->end = OP_END_NO_TABLE;
	} else if (u->end == OP_END_UNKNOWN) {
		/* the function that has returned is known without a table */
		if (slot->called && u->out.frames == 1)
			slot->record.generation = 0;
		(void)op_copy_stack(number);
	}
	if (op_stack_is_gone(slot)) {
		u->end = OP_END_NO_USER;
		u->out.words = u->out.words_user;
		u->out.frames = 0;
	}
	return 0;
}

/* Slot @number's chain of frames: event/chain.h. */
int op_chain_take(__u32 number);

/* The walk ended: complete the record, send it and release the slot. @chain: a constant
 * of the program, whether it takes chains of frames. */
static __always_inline int op_finish_walk(struct op_slot *slot, bool chain)
{
	struct op_counts *counts = op_counts_of(slot->record.event);
	struct op_unwind *u = &slot->unwind;
	__u64 now;

	if (u->end != OP_END_COMPLETE || (slot->record.resumed & OP_REMAPPED)) {
		(void)op_finish_where(slot->number);
		if (chain && u->end == OP_END_UNKNOWN && !slot->named && !slot->called)
			(void)op_chain_take(slot->number);
		(void)op_finish_incomplete(slot->number);
	}
	op_count_end(counts, u->end);
	if (slot->named)
		(void)op_send_named(slot->number);
	else
		op_send_sample(slot, counts);
	now = bpf_ktime_get_ns();
	op_count_add(counts, OP_COUNT_SPENT_NS, now - slot->begun_ns);
	op_slot_release(slot);
	return 0;
}

/* The same for a walk that never began, or that another program cannot continue. */
static __always_inline int op_finish(struct op_slot *slot)
{
	return op_finish_walk(slot, false);
}

#endif
