/* SPDX-License-Identifier: Apache-2.0 */
#include "code/unwind/heights/sequence.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"

int op_sequence_init(struct op_sequence *s, const struct op_sequence_code *code,
		     const struct op_starts *starts, size_t bytes)
{
	*s = (struct op_sequence){ .code = code, .starts = starts };
	s->max = OP_MIN(bytes + 1, (size_t)OP_SEQUENCE_MAX);
	s->step = malloc(s->max * sizeof(*s->step));
	return s->step ? 0 : -ENOMEM;
}

void op_sequence_deinit(struct op_sequence *s)
{
	free(s->step);
}

size_t op_sequence_bytes(const struct op_sequence *s)
{
	return s->max * sizeof(*s->step);
}

void op_sequence_forget(struct op_sequence *s)
{
	s->len = s->first = s->next = 0;
}

void op_sequence_begin(struct op_sequence *s, size_t off)
{
	size_t rest;

	while (s->first < s->len && s->step[s->first].off < off)
		s->first++;
	rest = s->len - s->first;
	if (!rest || s->step[s->first].off != off) {
		s->len = s->first = 0;
	} else if (rest <= s->first) { /* each step pays for the move of one */
		memcpy(s->step, s->step + s->first, rest * sizeof(*s->step));
		s->len = rest;
		s->first = 0;
	}
	s->next = s->first;
}

static const uint8_t *byte_at(const struct op_sequence_code *code, size_t off)
{
	return code->bytes + (off - code->from);
}

static void decode(struct op_sequence *s, size_t at, struct op_insn *ret)
{
	s->decoded++;
	if (!op_insn_read(byte_at(s->code, at), s->code->end - at, ret))
		ret->len = 0;
}

/* As op_sequence_skip(). *@ret is the instruction there, if it had to be decoded. */
static size_t skip(struct op_sequence *s, size_t at, struct op_insn *ret)
{
	ret->len = 0;
	while (at < s->code->end && !op_starts_has(s->starts, at)) {
		if (op_sequence_is_padding(*byte_at(s->code, at))) {
			at++;
			continue;
		}
		decode(s, at, ret);
		if (!ret->len || ret->kind != OP_INSN_PAD)
			break;
		at += ret->len;
		ret->len = 0;
	}
	return at;
}

size_t op_sequence_skip(struct op_sequence *s, size_t at)
{
	struct op_insn insn;

	return skip(s, at, &insn);
}

const struct op_step *op_sequence_decode(struct op_sequence *s, size_t at, bool dead)
{
	struct op_step *step = s->len < s->max ? &s->step[s->len] : &s->spare;

	step->insn.len = 0;
	if (dead)
		at = skip(s, at, &step->insn);
	step->off = (uint32_t)at;
	if (!step->insn.len && at < s->code->end)
		decode(s, at, &step->insn);
	if (step != &s->spare)
		s->next = ++s->len;
	return step;
}
