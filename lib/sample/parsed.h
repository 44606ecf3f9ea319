/* SPDX-License-Identifier: Apache-2.0 */
/* A parsed record of the kernel's ring. */
#ifndef OP_SAMPLE_PARSED_H
#define OP_SAMPLE_PARSED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "op_user_types.h"

struct op_sampler;

enum {
	OP_KEY_WORDS = 2, /* words before a stack's own, which also distinguish stacks */
};

/* Pointers are into the record, and @words into the sampler's scratch memory: valid
 * until the next record. */
struct op_parsed {
	struct op_record header;
	struct op_registers registers; /* OP_END_UNKNOWN */
	const uint8_t *stack;	       /* header.stack_bytes */
	const uint8_t *root;	       /* the base of the stack; NULL: not here */
	size_t root_len;
	uint64_t root_at;
	const uint8_t *chain; /* the chain of frames; NULL: not here */
	size_t chain_len;
	bool unread;			  /* sp's page is not in the copy */
	uint32_t extra;			  /* OP_RECORD_NAMED */
	struct op_thread_context context; /* all zero: none */
	const char *text;		  /* OP_TEXT_BYTES; NULL: none */
	bool live;			  /* its stack is read in its present state */
	uint64_t *words;		  /* kernel_count, then user_words */
};

/* Parse the @len bytes of a record. Returns 0, or -EBADMSG if the lengths in it are
 * wrong. */
int op_parsed_read(struct op_sampler *sampler, const void *bytes, size_t len,
		   struct op_parsed *ret);

#endif
