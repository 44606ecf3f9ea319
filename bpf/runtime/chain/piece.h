/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The pieces of memory that a chain is sent in (event/chain.h). */
#ifndef OP_CHAIN_PIECE_H
#define OP_CHAIN_PIECE_H

#include "bpf/event/send.h"
#include "bpf/event/slot.h"

enum {
	OP_CHAIN_PIECE_MAX = sizeof(struct op_chain_piece) + OP_RUNTIME_BYTES,
	OP_CHAIN_BYTES = OP_STACK_COPY_BYTES - OP_CHAIN_PIECE_MAX,
};

/* Send the pieces of slot @number. They are where op_send_above() will put its
 * pages. Returns 0, or -1 if there is no room. */
__attribute__((noinline)) int op_chain_send(__u32 number);
__attribute__((noinline)) int op_chain_send(__u32 number)
{
	struct op_slot *slot = op_slot_at(number);
	__u32 bytes;

	if (!slot || op_ring_has(5) || slot->chain_records >= OP_CHAIN_RECORDS)
		return -1;
	bytes = slot->chain_bytes;
	slot->chain_bytes = 0;
	if (op_send_chunk(slot, OP_RECORD_CHAIN, 0, bytes))
		return -1;
	slot->chain_records++;
	return 0;
}

/* Add @bytes bytes of runtime_bytes from @from on, which were read at @at, to slot
 * @number's pieces. Without bytes, add that the object of the frame with first word @at
 * is @check. Returns 0 or -1. */
__attribute__((noinline)) int op_chain_add(__u32 number, __u64 at, __u32 from,
					   __u32 bytes, __u32 check);
__attribute__((noinline)) int op_chain_add(__u32 number, __u64 at, __u32 from,
					   __u32 bytes, __u32 check)
{
	struct op_slot *slot = op_slot_at(number);
	struct op_chain_piece *piece;
	__u32 to;

	if (!slot || (slot->chain_bytes > OP_CHAIN_BYTES && op_chain_send(number)))
		return -1;
	to = slot->chain_bytes;
	op_platform_bound(to);
	op_platform_bound(bytes);
	if (to > OP_CHAIN_BYTES || bytes > OP_RUNTIME_BYTES)
		return -1;
	piece = (struct op_chain_piece *)((__u8 *)slot->word + OP_CHUNK_PAGES_AT + to);
	piece->at = at;
	piece->bytes = bytes;
	piece->check = check;
	if (bytes)
		bpf_probe_read_kernel(piece + 1, bytes,
				      slot->unwind.runtime_bytes + from);
	slot->chain_bytes = to + sizeof(*piece) + ((bytes + 7) & ~7u);
	return 0;
}

/* Take the first @bytes bytes at @at of slot @number's process, a word at most. They
 * are in runtime_bytes then. Returns 0 or -1. */
__attribute__((noinline)) int op_chain_word(__u32 number, __u64 at, __u32 bytes);
__attribute__((noinline)) int op_chain_word(__u32 number, __u64 at, __u32 bytes)
{
	struct op_slot *slot = op_slot_at(number);

	op_platform_bound(bytes);
	if (!slot || bytes > sizeof(__u64) ||
	    op_platform_read(&slot->unwind, slot->unwind.runtime_bytes, bytes, at))
		return -1;
	return op_chain_add(number, at, 0, bytes, 0);
}

/* The word that was taken last. */
static __always_inline __u64 op_chain_got(const struct op_unwind *u)
{
	return *(const __u64 *)(const void *)u->runtime_bytes;
}

#endif
