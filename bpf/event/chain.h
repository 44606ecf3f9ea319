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
#include "bpf/runtime/chain/php.h"
#include "bpf/runtime/chain/python.h"

enum {
	OP_CHAIN_FRAMES_A_CALL = 16,
	OP_CHAIN_CALLS = 32,
};

/* Take a few frames. Returns whether more follow. Two loops of few turns, because the
 * verifier follows each turn. */
__attribute__((noinline)) int op_chain_frames(__u32 number);
__attribute__((noinline)) int op_chain_frames(__u32 number)
{
	struct op_slot *slot = op_slot_at(number);
	int more = slot != NULL;
	bool is_php = more && slot->unwind.state.runtime == OP_RUNTIME_PHP;
	int i;

	for (i = 0; i < OP_CHAIN_FRAMES_A_CALL && more; i++)
		more = is_php ? op_php_chain_frame(number)
			      : op_python_chain_frame(number);
	return more;
}

/* Begin with the innermost frame of slot @number's process. Returns whether there is one. */
static __always_inline int op_chain_begin(__u32 number, struct op_unwind *u)
{
	return u->state.runtime == OP_RUNTIME_PHP ? op_php_chain_begin(number)
						  : op_python_chain_begin(number);
}

/* Take the chain of slot @number's process, of its first runtime that has one. Global,
 * so that the verifier checks it once. */
__attribute__((noinline)) int op_chain_take(__u32 number)
{
	struct op_slot *slot = op_slot_at(number);
	__u32 off = __builtin_offsetof(struct op_process, instance);
	__u64 instance = 0;
	struct op_unwind *u;
	__u32 i;

	if (!slot || !op_settings.objects)
		return 0;
	u = &slot->unwind;
	slot->chain_bytes = 0;
	for (i = 1; i < OP_INSTANCES_MAX; i++) {
		instance = op_platform_arena(u, u->process.at,
					     off + i * sizeof(struct op_instance));
		if ((__u32)instance == OP_RUNTIME_PYTHON ||
		    (__u32)instance == OP_RUNTIME_PHP)
			break;
	}
	if (i == OP_INSTANCES_MAX)
		return 0;
	__builtin_memset(&u->state, 0, sizeof(u->state));
	u->state.instance = i;
	u->state.runtime = (__u32)instance;
	u->state.ref = (op_ref)(instance >> 32);
	if (!op_chain_begin(number, u))
		return 0;
	for (i = 0; i < OP_CHAIN_CALLS; i++)
		if (!op_chain_frames(number))
			break;
	return op_chain_send(number);
}

#endif
