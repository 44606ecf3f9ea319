/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What comes with a first sample, in records of its own right before it: the stack above
 * the copy, and a runtime's chain of frames. It is kept until the sample arrives.
 */
#ifndef OP_SAMPLE_KEPT_STACK_CHUNKS_H
#define OP_SAMPLE_KEPT_STACK_CHUNKS_H

#include <stddef.h>
#include <stdint.h>

#include "op_user_types.h"

enum {
	OP_STACK_CHUNKS_MAX = 16, /* stacks at once, of the CPUs that sent last */
};

struct op_stack_chunk {
	uint64_t time_ns; /* of its sample */
	uint64_t at;	  /* address of the first byte */
	uint32_t tid;
	uint32_t cpu;
	size_t len;
	/* NULL: the entry is free. In stack[] it begins with memory for the copy. */
	uint8_t *bytes;
};

struct op_stack_chunks {
	struct op_stack_chunk stack[OP_STACK_CHUNKS_MAX];
	/* where they begin, OP_RECORD_ROOT */
	struct op_stack_chunk root[OP_STACK_CHUNKS_MAX];
	/* pieces, OP_RECORD_CHAIN; `at` is not used */
	struct op_stack_chunk chain[OP_STACK_CHUNKS_MAX];
};

/* Keep the bytes of @record, an OP_RECORD_CHUNK of @len bytes. If they do not continue
 * the bytes of their CPU, they replace them. Returns 0, -EBADMSG or -ENOMEM. */
int op_stack_chunks_add(struct op_stack_chunks *chunks, const void *record, size_t len);

/*
 * The sample @record has arrived, with a copy of @len bytes of stack at address @at:
 * join it with its chunks. Returns both in one piece of *@ret_len bytes, for free().
 * NULL: no chunk belongs to it, or there is no memory.
 */
uint8_t *op_stack_chunks_take(struct op_stack_chunks *chunks,
			      const struct op_record *record, uint64_t at,
			      const void *copy, size_t len, size_t *ret_len);

/* The sample is not finished: keep @taken bytes, which op_stack_chunks_take() returned
 * for a copy of @len bytes at @at, for one more op_stack_chunks_take(). Takes ownership
 * of @taken. */
void op_stack_chunks_give_back(struct op_stack_chunks *chunks,
			       const struct op_record *record, uint64_t at, size_t len,
			       uint8_t *taken, size_t taken_len);

/* Keep the bytes of @record, an OP_RECORD_ROOT of @len bytes, after those of its sample,
 * or else in place of those of its CPU. Returns 0, -EBADMSG or -ENOMEM. */
int op_stack_chunks_add_root(struct op_stack_chunks *chunks, const void *record,
			     size_t len);
/* The base of the stack that came for the sample @record, from address *@ret_at, or
 * NULL. Valid until the next one is added. */
const uint8_t *op_stack_chunks_root(struct op_stack_chunks *chunks,
				    const struct op_record *record, uint64_t *ret_at,
				    size_t *ret_len);

/* The same for an OP_RECORD_CHAIN. */
int op_stack_chunks_add_chain(struct op_stack_chunks *chunks, const void *record,
			      size_t len);
const uint8_t *op_stack_chunks_chain(struct op_stack_chunks *chunks,
				     const struct op_record *record, size_t *ret_len);

/* Forget everything. The samples of the remaining chunks are lost. */
void op_stack_chunks_clear(struct op_stack_chunks *chunks);

#endif
