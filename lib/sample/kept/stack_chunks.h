/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stacks larger than the copy that a first sample brings: what stands above comes right
 * before it, in records of its own, and is kept until the sample is there.
 */
#ifndef OP_SAMPLE_KEPT_STACK_CHUNKS_H
#define OP_SAMPLE_KEPT_STACK_CHUNKS_H

#include <stddef.h>
#include <stdint.h>

#include "op_user_types.h"

enum {
	OP_STACK_CHUNKS_MAX = 16, /* stacks at one time: of the CPUs that sent last */
};

struct op_stack_chunk {
	uint64_t time_ns; /* of its sample */
	uint64_t at;	  /* address of the first byte */
	uint32_t tid;
	uint32_t cpu;
	size_t len;
	uint8_t *bytes; /* NULL: the place is free. In stack[] room for a copy is first */
};

struct op_stack_chunks {
	struct op_stack_chunk stack[OP_STACK_CHUNKS_MAX];
	struct op_stack_chunk
		root[OP_STACK_CHUNKS_MAX]; /* where they begin, OP_RECORD_ROOT */
};

/* Keep the bytes of @record, of OP_RECORD_CHUNK and @len bytes. What does not continue what
 * is kept of its CPU replaces that. Returns 0, -EBADMSG or -ENOMEM. */
int op_stack_chunks_add(struct op_stack_chunks *chunks, const void *record, size_t len);

/*
 * The sample @record is there, with a copy of @len bytes of stack at address @at: join it
 * with what came before. Returns both in one piece and *@ret_len, to be given to free(); or
 * NULL where nothing fits it or there is no memory.
 */
uint8_t *op_stack_chunks_take(struct op_stack_chunks *chunks,
			      const struct op_record *record, uint64_t at,
			      const void *copy, size_t len, size_t *ret_len);

/* The sample is not done yet: keep @taken bytes, as op_stack_chunks_take() returned them for a copy of
 * @len bytes at @at, for one more op_stack_chunks_take(). Takes @taken. */
void op_stack_chunks_give_back(struct op_stack_chunks *chunks,
			       const struct op_record *record, uint64_t at, size_t len,
			       uint8_t *taken, size_t taken_len);

/* Keep the bytes of @record, of OP_RECORD_ROOT and @len bytes, behind those of its sample or in
 * place of those of its CPU. Returns 0, -EBADMSG or -ENOMEM. */
int op_stack_chunks_add_root(struct op_stack_chunks *chunks, const void *record,
			     size_t len);
/* Those that came for the sample @record, of address *@ret_at; or NULL. Valid until another is
 * added. */
const uint8_t *op_stack_chunks_root(struct op_stack_chunks *chunks,
				    const struct op_record *record, uint64_t *ret_at,
				    size_t *ret_len);

/* Forget all: what is left has lost its sample. */
void op_stack_chunks_clear(struct op_stack_chunks *chunks);

#endif
