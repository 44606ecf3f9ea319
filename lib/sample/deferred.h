/* SPDX-License-Identifier: Apache-2.0 */
/*
 * First samples of code: a record with registers and a copy of the stack's top, taken
 * where the kernel had no table. The missing tables are made, and the stack is unwound
 * here.
 */
#ifndef OP_SAMPLE_DEFERRED_H
#define OP_SAMPLE_DEFERRED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "op_user_types.h"

struct op_proc;
struct op_sampler;

/* What such a record contains. */
struct op_deferred {
	const struct op_registers *registers;
	const void *stack; /* from @stack_below bytes below registers->sp */
	size_t stack_len;
	size_t stack_below;
	bool unread;	  /* bytes of sp's page that could not be read and are zero */
	const void *root; /* the base of the stack, from address @root_at; may be NULL */
	size_t root_len;
	uint64_t root_at;
	/* a runtime's chain of frames (OP_RECORD_CHAIN); may be NULL */
	const uint8_t *chain;
	size_t chain_len;
	/* Result of the kernel's walk. The registers are those of the frame after it. */
	const uint64_t *words;
	size_t words_len;
	uint32_t frames;
	bool is_caller; /* registers->pc is a return address */
	/* The thread is suspended: its memory has not changed, and no copy is needed. */
	bool live;
	uint64_t end_pc; /* the pc at which the kernel had no table; 0: none */
};

/*
 * Unwind into sampler->host_stack, and publish the tables that were made for it. @proc
 * is running, or is from op_publish_past(). The result has at least the interrupted pc.
 * Returns 0, -ENOMEM, or -EINPROGRESS if the work is not finished.
 */
int op_deferred_unwind(struct op_sampler *sampler, struct op_proc *proc,
		       const struct op_deferred *deferred);
/* The stack of an unknown process: only the pc. */
void op_deferred_leaf(struct op_sampler *sampler, const struct op_registers *registers);

/* The stack of an unknown process: only the pc. */
int op_deferred_make(struct op_sampler *sampler, struct op_proc *proc, uint64_t pc);
/* A stack ended at @pc, and the ring was too full for a copy of it: make what later
 * samples need there, if time permits. */
void op_deferred_page(struct op_sampler *sampler, struct op_proc *proc, uint64_t pc);

#endif
