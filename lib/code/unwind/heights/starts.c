/* SPDX-License-Identifier: Apache-2.0 */
#include "code/unwind/heights/starts.h"

#include <stdlib.h>
#include <string.h>

#include "code/unwind/heights/heights.h"

void op_starts_init(struct op_starts *s, size_t len, size_t phase, size_t alignment)
{
	s->len = len;
	s->phase = phase;
	s->step = len / 8 < OP_HEIGHTS_STARTS_BYTES ? 1 : alignment;
	s->bits = calloc((len + alignment) / 8 / s->step + 1, 1);
}

void op_starts_deinit(struct op_starts *s)
{
	free(s->bits);
}

size_t op_starts_bytes(const struct op_starts *s)
{
	return s->len / 8 / s->step;
}

/* Note that a function may begin at the target of the distance at @at, whose offset is @off. */
static void note(struct op_starts *s, const uint8_t *at, size_t off)
{
	int32_t distance;
	int64_t to;

	memcpy(&distance, at, sizeof(distance));
	to = (int64_t)(off + sizeof(distance) + s->phase) + distance;
	if (to < (int64_t)s->phase || to >= (int64_t)(s->len + s->phase) ||
	    to % (int64_t)s->step)
		return;
	to /= (int64_t)s->step;
	s->bits[to / 8] |= (uint8_t)(1u << to % 8);
}

/* Is the opcode at @at a lea with an address relative to the pc? */
static bool is_address(const uint8_t *at)
{
	return (at[-1] == 0x48 || at[-1] == 0x4c) && (at[1] & 0xc7) == 5;
}

void op_starts_find(struct op_starts *s, const uint8_t *code, size_t from, size_t len)
{
	const uint8_t *end = code + len;
	const uint8_t *at = code;

	while (end - at > 5 && (at = memchr(at, 0xe8, (size_t)(end - at - 4)))) {
		at++;
		note(s, at, from + (size_t)(at - code));
	}
	at = code + 1;
	while (end - at > 6 && (at = memchr(at, 0x8d, (size_t)(end - at - 5)))) {
		if (is_address(at))
			note(s, at + 2, from + (size_t)(at + 2 - code));
		at++;
	}
}

bool op_starts_has(const struct op_starts *s, size_t off)
{
	size_t bit = off + s->phase;

	if (bit % s->step)
		return false;
	bit /= s->step;
	return s->bits[bit / 8] >> bit % 8 & 1;
}
