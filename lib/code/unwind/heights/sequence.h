/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The instructions from the start of a function on. A function may be read several times,
 * but its instructions are the same each time, so they are decoded once.
 */
#ifndef OP_CODE_UNWIND_HEIGHTS_SEQUENCE_H
#define OP_CODE_UNWIND_HEIGHTS_SEQUENCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "code/unwind/heights/instruction.h"
#include "code/unwind/heights/starts.h"

enum {
	/* Instructions that are kept. What follows them in a long function is decoded at
	 * each reading. */
	OP_SEQUENCE_MAX = 1 << 16,
};

/* What is in memory: [from, end) of the code. */
struct op_sequence_code {
	uint8_t *bytes;
	size_t from;
	size_t end;
};

struct op_step {
	uint32_t off;
	struct op_insn insn; /* its length is 0 if there is none, as at the end */
};

struct op_sequence {
	const struct op_sequence_code *code;
	const struct op_starts *starts;
	struct op_step *step; /* [max] */
	size_t max;
	size_t len;
	size_t first;	      /* number of the function's first step */
	size_t next;	      /* number of the step that is read next */
	struct op_step spare; /* one that is not kept */
	uint64_t decoded;     /* instructions, in all */
};

/* For @bytes of code. @code and @starts are borrowed. Returns 0 or -ENOMEM. */
int op_sequence_init(struct op_sequence *s, const struct op_sequence_code *code,
		     const struct op_starts *starts, size_t bytes);
void op_sequence_deinit(struct op_sequence *s);
size_t op_sequence_bytes(const struct op_sequence *s);
/* Other code is in memory now. */
void op_sequence_forget(struct op_sequence *s);

/* Read from the function's start at @off on. */
void op_sequence_begin(struct op_sequence *s, size_t off);
/* Decode the next step, which is not known yet. */
const struct op_step *op_sequence_decode(struct op_sequence *s, size_t at, bool dead);
/* The next step. @at is the end of the one before. @dead: control does not continue there,
 * and padding is skipped. It is valid until the next call. */
static inline const struct op_step *op_sequence_next(struct op_sequence *s, size_t at,
						     bool dead)
{
	return s->next < s->len ? &s->step[s->next++] : op_sequence_decode(s, at, dead);
}
/* The offset at which code goes on after padding. */
size_t op_sequence_skip(struct op_sequence *s, size_t at);

static inline bool op_sequence_is_padding(uint8_t byte)
{
	enum {
		INT3 = 0xcc,
		NOP = 0x90,
	};

	return byte == INT3 || byte == NOP || !byte;
}

#endif
