/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The end of a sample: what goes out to user space, and what is counted. */
#ifndef OP_SEND_H
#define OP_SEND_H

#include "bpf/event/count.h"
#include "bpf/event/named.h"
#include "bpf/event/slot.h"

enum {
	OP_PAGE_BYTES = 4096,
};

/* Send the slot's record with its words. */
static __always_inline void op_send_sample(struct op_slot *slot)
{
	struct op_unwind *u = &slot->unwind;
	struct op_record *r = &slot->record;
	__u64 flags = op_ring_wakeup();
	__u32 bytes;

	r->end = u->end;
	r->end_pc = u->end_pc;
	r->user_frames = (__u16)u->frames;
	r->user_words = (__u16)(u->words - u->words_user);
	bytes = sizeof(*r) + u->words * 8;
	if (u->end == OP_END_UNKNOWN) {
		bytes = sizeof(*r) + u->words_user * 8 + sizeof(struct op_registers) +
			r->stack_bytes;
		flags = BPF_RB_FORCE_WAKEUP; /* to be walked while its process lives */
	}
	op_platform_bound(bytes);
	if (bytes > sizeof(*r) + sizeof(slot->word))
		bytes = sizeof(*r) + sizeof(slot->word);
	r->header.type = OP_RECORD_SAMPLE;
	r->header.version = OP_RECORD_VERSION;
	r->header.bytes = bytes;
	op_count(r->event, bpf_ringbuf_output(&op_ring, r, bytes, flags)
				   ? OP_COUNT_RING_FULL
				   : OP_COUNT_OUTPUT);
}

/*
 * Put the registers and the top of the user's stack into the record, for user space to
 * walk: the process, or a table it needs, is not known yet.
 */
static __always_inline void op_copy_stack(struct op_slot *slot)
{
	struct op_unwind *u = &slot->unwind;
	__u32 at = u->words_user;
	__u64 sp = slot->registers.sp;
	__u32 bytes;
	__u8 *to;
	int i;

	op_platform_bound(at);
	if (at > OP_KERNEL_FRAMES_MAX)
		return;
	to = (__u8 *)&slot->word[at];
	bpf_probe_read_kernel(to, sizeof(slot->registers), &slot->registers);
	to += sizeof(slot->registers);
	u->words = u->words_user;
	u->frames = 0;
	/* The stack may end at any page: up to the first boundary, then page by page. */
	bytes = OP_PAGE_BYTES - (sp & (OP_PAGE_BYTES - 1));
	if (bpf_probe_read_user(to, bytes, (void *)sp))
		bytes = 0;
	for (i = 0; bytes && i < OP_STACK_COPY_BYTES / OP_PAGE_BYTES - 1; i++) {
		op_platform_bound(bytes);
		if (bytes > OP_STACK_COPY_BYTES - OP_PAGE_BYTES ||
		    bpf_probe_read_user(to + bytes, OP_PAGE_BYTES, (void *)(sp + bytes)))
			break;
		bytes += OP_PAGE_BYTES;
	}
	slot->record.stack_bytes = (__u16)bytes;
}

/* The walk ended, or never began: complete the record, send it and release the slot. */
static __always_inline int op_finish(struct op_slot *slot)
{
	struct op_unwind *u = &slot->unwind;

	/* A pc in no mapping may be in one that user space is about to hear of; but not
	 * where the way to it was a guess, as in JIT code that keeps no frame pointer. */
	if (u->end == OP_ERROR_native_no_mapping && !u->guessed)
		u->end = OP_END_UNKNOWN;
	if (u->end == OP_END_UNKNOWN && slot->named) {
		op_send_request(slot);
		u->end = OP_END_NO_TABLE;
	} else if (u->end == OP_END_UNKNOWN) {
		op_copy_stack(slot);
	}
	op_count_end(slot->record.event, u->end);
	if (slot->named)
		op_send_named(slot);
	else
		op_send_sample(slot);
	op_slot_release(slot);
	return 0;
}

#endif
