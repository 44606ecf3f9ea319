/* SPDX-License-Identifier: Apache-2.0 */
#include "sample/waiting/above.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/macros.h"

enum {
	BYTES_MAX = OP_ABOVE_RECORDS * OP_STACK_COPY_BYTES,
	PAGE_BYTES = 4096, /* as the programs copy them */
	ROOT_BYTES_MAX = OP_ROOT_PAGES * PAGE_BYTES,
};

/* The place of @cpu in @stack; or the one that was used longest ago. */
static struct op_above_stack *place_of(struct op_above_stack stack[static OP_ABOVE_MAX],
				       uint32_t cpu)
{
	struct op_above_stack *found = NULL;
	size_t i;

	for (i = 0; i < OP_ABOVE_MAX; i++) {
		struct op_above_stack *s = &stack[i];

		if (s->bytes && s->cpu == cpu)
			return s;
		if (!found || !s->bytes || (found->bytes && s->time_ns < found->time_ns))
			found = s;
	}
	return found;
}

static bool is_of(const struct op_above_stack *s, uint64_t time_ns, uint32_t tid,
		  uint32_t cpu)
{
	return s->bytes && s->time_ns == time_ns && s->tid == tid && s->cpu == cpu;
}

int op_above_add(struct op_above *above, const void *record, size_t len)
{
	struct op_above_record r;
	struct op_above_stack *s;

	if (len < sizeof(r) || len - sizeof(r) > OP_STACK_COPY_BYTES)
		return -EBADMSG;
	memcpy(&r, record, sizeof(r));
	len -= sizeof(r);
	s = place_of(above->stack, r.cpu);
	if (!s->bytes) {
		s->bytes = malloc(OP_STACK_COPY_BYTES + BYTES_MAX);
		if (!s->bytes)
			return -ENOMEM;
	}
	if (!is_of(s, r.time_ns, r.tid, r.cpu) || r.at != s->at + s->len ||
	    s->len + len > BYTES_MAX) {
		s->time_ns = r.time_ns;
		s->at = r.at;
		s->tid = r.tid;
		s->cpu = r.cpu;
		s->len = 0;
	}
	memcpy(s->bytes + OP_STACK_COPY_BYTES + s->len,
	       (const uint8_t *)record + sizeof(r), len);
	s->len += len;
	return 0;
}

/* Does a copy that ends at @end go on at @at? Pages that were never written to may lie between:
 * the copy does not have them where they are its last. */
static bool adjoins(uint64_t end, uint64_t at)
{
	return end == at || ((end | at) & (PAGE_BYTES - 1)) == 0;
}

uint8_t *op_above_take(struct op_above *above, const struct op_record *record,
		       uint64_t at, const void *copy, size_t len, size_t *ret_len)
{
	struct op_above_stack *s = place_of(above->stack, record->cpu);
	size_t to = (size_t)(s->at - at);
	uint8_t *bytes;

	if (!is_of(s, record->time_ns, record->tid, record->cpu) || !len ||
	    len > OP_STACK_COPY_BYTES || s->at < at + len || !adjoins(at + len, s->at) ||
	    to > OP_STACK_COPY_BYTES)
		return NULL;
	bytes = OP_TAKE_PTR(s->bytes);
	memmove(bytes + to, bytes + OP_STACK_COPY_BYTES, s->len);
	memcpy(bytes, copy, len);
	memset(bytes + len, 0, to - len);
	*ret_len = to + s->len;
	return bytes;
}

void op_above_give_back(struct op_above *above, const struct op_record *record,
			uint64_t at, size_t len, uint8_t *taken, size_t taken_len)
{
	struct op_above_stack *s = place_of(above->stack, record->cpu);
	/* Where pages were missing in between there is more of it than there is room. */
	size_t kept = OP_MIN(taken_len - len, (size_t)BYTES_MAX);
	size_t from = taken_len - kept;

	free(s->bytes);
	*s = (struct op_above_stack){ .time_ns = record->time_ns,
				      .at = at + from,
				      .tid = record->tid,
				      .cpu = record->cpu,
				      .len = kept,
				      .bytes = taken };
	memmove(taken + OP_STACK_COPY_BYTES, taken + from, kept);
}

int op_above_add_root(struct op_above *above, const void *record, size_t len)
{
	struct op_above_record r;
	struct op_above_stack *s;
	size_t at;

	if (len < sizeof(r) || len - sizeof(r) > OP_STACK_COPY_BYTES)
		return -EBADMSG;
	memcpy(&r, record, sizeof(r));
	len -= sizeof(r);
	s = place_of(above->root, r.cpu);
	if (!s->bytes) {
		s->bytes = malloc(ROOT_BYTES_MAX);
		if (!s->bytes)
			return -ENOMEM;
	}
	if (!is_of(s, r.time_ns, r.tid, r.cpu) || r.at < s->at + s->len ||
	    r.at - s->at > ROOT_BYTES_MAX - len) {
		s->time_ns = r.time_ns;
		s->at = r.at;
		s->tid = r.tid;
		s->cpu = r.cpu;
		s->len = 0;
	}
	at = (size_t)(r.at - s->at);
	memset(s->bytes + s->len, 0, at - s->len);
	memcpy(s->bytes + at, (const uint8_t *)record + sizeof(r), len);
	s->len = at + len;
	return 0;
}

const uint8_t *op_above_root(struct op_above *above, const struct op_record *record,
			     uint64_t *ret_at, size_t *ret_len)
{
	const struct op_above_stack *s = place_of(above->root, record->cpu);

	if (!is_of(s, record->time_ns, record->tid, record->cpu))
		return NULL;
	*ret_at = s->at;
	*ret_len = s->len;
	return s->bytes;
}

void op_above_clear(struct op_above *above)
{
	size_t i;

	for (i = 0; i < OP_ABOVE_MAX; i++) {
		free(above->stack[i].bytes);
		free(above->root[i].bytes);
	}
	memset(above, 0, sizeof(*above));
}
