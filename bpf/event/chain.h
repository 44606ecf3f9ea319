/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A runtime's chain of frames, for a sample whose walk user space continues. The native
 * frames need only the stack and code, which does not change. The chain is in the heap, and
 * is another one by then. So what the step of the runtime will read is sent along, as
 * it is now.
 */
#ifndef OP_CHAIN_H
#define OP_CHAIN_H

#include "bpf/event/object.h"
#include "bpf/event/send.h"
#include "bpf/event/slot.h"
#include "bpf/runtime/chain/php.h"
#include "bpf/runtime/chain/python.h"

enum {
	OP_CHAIN_FRAMES_A_CALL = 16,
	OP_CHAIN_CALLS = 32,
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

/* Take a few frames. Returns whether more follow. Two loops of few turns, because the
 * verifier follows each turn. */
__attribute__((noinline)) int op_chain_frames(__u32 number);
__attribute__((noinline)) int op_chain_frames(__u32 number)
{
	struct op_slot *slot = op_slot_at(number);
	int more = slot != NULL;
	int i;

	for (i = 0; i < OP_CHAIN_FRAMES_A_CALL && more; i++)
		more = slot->unwind.state.runtime == OP_RUNTIME_PHP
			       ? op_php_chain_frame(number)
			       : op_python_chain_frame(number);
	return more;
}

/* Take the chain of slot @number's process, of its first runtime that has one. Global,
 * so that the verifier checks it once. */
__attribute__((noinline)) int op_chain_take(__u32 number)
{
	struct op_slot *slot = op_slot_at(number);
	__u32 off = __builtin_offsetof(struct op_process, instance);
	__u64 instance = 0;
	__u32 i;

	if (!slot || !op_settings.objects)
		return 0;
	slot->chain_bytes = 0;
	for (i = 1; i < OP_INSTANCES_MAX; i++) {
		instance = op_platform_arena(&slot->unwind, slot->unwind.process.at,
					     off + i * sizeof(struct op_instance));
		if ((__u32)instance == OP_RUNTIME_PYTHON ||
		    (__u32)instance == OP_RUNTIME_PHP)
			break;
	}
	if (i == OP_INSTANCES_MAX ||
	    !((__u32)instance == OP_RUNTIME_PHP
		      ? op_php_chain_begin(number, i, (op_ref)(instance >> 32))
		      : op_python_chain_begin(number, i, (op_ref)(instance >> 32))))
		return 0;
	for (i = 0; i < OP_CHAIN_CALLS; i++)
		if (!op_chain_frames(number))
			break;
	return op_chain_send(number);
}

#endif
