/* SPDX-License-Identifier: Apache-2.0 */
/*
 * First samples: a record with registers and a copy of the stack's top, taken where the
 * kernel had no table. The tables on its way are made, then it is unwound here.
 */
#ifndef OP_SAMPLE_DEFERRED_H
#define OP_SAMPLE_DEFERRED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "op_user_types.h"

struct op_proc;
struct op_sampler;

/* What such a record tells. */
struct op_deferred {
	const struct op_registers *registers;
	const void *stack; /* from @stack_below bytes below registers->sp */
	size_t stack_len;
	size_t stack_below;
	bool unread;	  /* its bytes of sp's page could not be read, and are zero */
	const void *root; /* where the stack begins, of address @root_at; may be NULL */
	size_t root_len;
	uint64_t root_at;
	/* What the kernel's walk had found; the registers are of the frame after it. */
	const uint64_t *words;
	size_t words_len;
	uint32_t frames;
	bool is_caller; /* registers->pc is a return address */
	/* The thread stands still: its memory is what it was, and there need be no copy. */
	bool live;
	uint64_t
		end_pc; /* where the kernel's walk met what it had no table for; 0: nowhere */
};

/*
 * Unwind into sampler->host_stack and publish what was made for it. @proc is one that runs,
 * or of op_publish_past(). Gives a stack, at least of the interrupted pc. Returns 0, -ENOMEM,
 * or -EINPROGRESS: nothing was done yet, or not all of it.
 */
int op_deferred_unwind(struct op_sampler *sampler, struct op_proc *proc,
		       const struct op_deferred *deferred);
/* The stack of a process that is not known: the pc alone. */
void op_deferred_leaf(struct op_sampler *sampler, const struct op_registers *registers);

/* The kernel asks for the table that @pc lacks: make and publish it. 0 or -EINPROGRESS. */
int op_deferred_make(struct op_sampler *sampler, struct op_proc *proc, uint64_t pc);
/* A stack ended at @pc, and there was no room for a copy of it: make what the next ones need there,
 * if there is time. */
void op_deferred_page(struct op_sampler *sampler, struct op_proc *proc, uint64_t pc);

#endif
