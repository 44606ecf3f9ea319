/* SPDX-License-Identifier: Apache-2.0 */
#include "sample/kept/stack_chunks.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/macros.h"

enum {
	BYTES_MAX = OP_CHUNK_RECORDS * OP_STACK_COPY_BYTES,
	ROOT_BYTES_MAX = OP_ROOT_PAGES * OP_COPY_PAGE_BYTES,
	CHAIN_BYTES_MAX = OP_CHAIN_RECORDS * OP_STACK_COPY_BYTES,
};

/* The entry of @cpu in @stack, or else the least recently used one. */
static struct op_stack_chunk *
place_of(struct op_stack_chunk stack[static OP_STACK_CHUNKS_MAX], uint32_t cpu)
{
	struct op_stack_chunk *found = NULL;
	size_t i;

	for (i = 0; i < OP_STACK_CHUNKS_MAX; i++) {
		struct op_stack_chunk *s = &stack[i];

		if (s->bytes && s->cpu == cpu)
			return s;
		if (!found || !s->bytes || (found->bytes && s->time_ns < found->time_ns))
			found = s;
	}
	return found;
}

static bool is_of(const struct op_stack_chunk *s, uint64_t time_ns, uint32_t tid,
		  uint32_t cpu)
{
	return s->bytes && s->time_ns == time_ns && s->tid == tid && s->cpu == cpu;
}

/* Read the head of @record of @len bytes, and find its entry in @stack, which gets memory
 * for @room bytes if it has none. Returns 0, -EBADMSG or -ENOMEM. */
static int enter(struct op_stack_chunk stack[static OP_STACK_CHUNKS_MAX],
		 const void *record, size_t len, size_t room,
		 struct op_stack_chunk_record *ret_head, struct op_stack_chunk **ret)
{
	struct op_stack_chunk *s;

	if (len < sizeof(*ret_head) || len - sizeof(*ret_head) > OP_STACK_COPY_BYTES)
		return -EBADMSG;
	memcpy(ret_head, record, sizeof(*ret_head));
	s = place_of(stack, ret_head->cpu);
	if (!s->bytes)
		s->bytes = malloc(room);
	*ret = s;
	return s->bytes ? 0 : -ENOMEM;
}

/* @s begins the stack of the record of @head, with no bytes so far. */
static void begin(struct op_stack_chunk *s, const struct op_stack_chunk_record *head)
{
	s->time_ns = head->time_ns;
	s->at = head->at;
	s->tid = head->tid;
	s->cpu = head->cpu;
	s->len = 0;
}

int op_stack_chunks_add(struct op_stack_chunks *chunks, const void *record, size_t len)
{
	struct op_stack_chunk_record head;
	struct op_stack_chunk *s;
	int r = enter(chunks->stack, record, len, OP_STACK_COPY_BYTES + BYTES_MAX, &head,
		      &s);

	if (r < 0)
		return r;
	len -= sizeof(head);
	if (!is_of(s, head.time_ns, head.tid, head.cpu) || head.at != s->at + s->len ||
	    s->len + len > BYTES_MAX)
		begin(s, &head);
	memcpy(s->bytes + OP_STACK_COPY_BYTES + s->len,
	       (const uint8_t *)record + sizeof(head), len);
	s->len += len;
	return 0;
}

/* Does a chunk at @at continue a copy that ends at @end? Pages that were never written to
 * may be between them, because a copy omits them at its end. */
static bool adjoins(uint64_t end, uint64_t at)
{
	return end == at || ((end | at) & (OP_COPY_PAGE_BYTES - 1)) == 0;
}

uint8_t *op_stack_chunks_take(struct op_stack_chunks *chunks,
			      const struct op_record *record, uint64_t at,
			      const void *copy, size_t len, size_t *ret_len)
{
	struct op_stack_chunk *s = place_of(chunks->stack, record->cpu);
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

void op_stack_chunks_give_back(struct op_stack_chunks *chunks,
			       const struct op_record *record, uint64_t at, size_t len,
			       uint8_t *taken, size_t taken_len)
{
	struct op_stack_chunk *s = place_of(chunks->stack, record->cpu);
	/* With missing pages in between, the result may be too large. */
	size_t kept = OP_MIN(taken_len - len, (size_t)BYTES_MAX);
	size_t from = taken_len - kept;

	free(s->bytes);
	*s = (struct op_stack_chunk){ .time_ns = record->time_ns,
				      .at = at + from,
				      .tid = record->tid,
				      .cpu = record->cpu,
				      .len = kept,
				      .bytes = taken };
	memmove(taken + OP_STACK_COPY_BYTES, taken + from, kept);
}

int op_stack_chunks_add_root(struct op_stack_chunks *chunks, const void *record,
			     size_t len)
{
	struct op_stack_chunk_record head;
	struct op_stack_chunk *s;
	size_t at;
	int r = enter(chunks->root, record, len, ROOT_BYTES_MAX, &head, &s);

	if (r < 0)
		return r;
	len -= sizeof(head);
	if (!is_of(s, head.time_ns, head.tid, head.cpu) || head.at < s->at + s->len ||
	    head.at - s->at > ROOT_BYTES_MAX - len)
		begin(s, &head);
	at = (size_t)(head.at - s->at);
	memset(s->bytes + s->len, 0, at - s->len);
	memcpy(s->bytes + at, (const uint8_t *)record + sizeof(head), len);
	s->len = at + len;
	return 0;
}

const uint8_t *op_stack_chunks_root(struct op_stack_chunks *chunks,
				    const struct op_record *record, uint64_t *ret_at,
				    size_t *ret_len)
{
	const struct op_stack_chunk *s = place_of(chunks->root, record->cpu);

	if (!is_of(s, record->time_ns, record->tid, record->cpu))
		return NULL;
	*ret_at = s->at;
	*ret_len = s->len;
	return s->bytes;
}

int op_stack_chunks_add_chain(struct op_stack_chunks *chunks, const void *record,
			      size_t len)
{
	struct op_stack_chunk_record head;
	struct op_stack_chunk *s;
	int r = enter(chunks->chain, record, len, CHAIN_BYTES_MAX, &head, &s);

	if (r < 0)
		return r;
	len -= sizeof(head);
	if (!is_of(s, head.time_ns, head.tid, head.cpu) || s->len + len > CHAIN_BYTES_MAX)
		begin(s, &head);
	memcpy(s->bytes + s->len, (const uint8_t *)record + sizeof(head), len);
	s->len += len;
	return 0;
}

const uint8_t *op_stack_chunks_chain(struct op_stack_chunks *chunks,
				     const struct op_record *record, size_t *ret_len)
{
	const struct op_stack_chunk *s = place_of(chunks->chain, record->cpu);

	if (!is_of(s, record->time_ns, record->tid, record->cpu))
		return NULL;
	*ret_len = s->len;
	return s->bytes;
}

void op_stack_chunks_clear(struct op_stack_chunks *chunks)
{
	size_t i;

	for (i = 0; i < OP_STACK_CHUNKS_MAX; i++) {
		free(chunks->stack[i].bytes);
		free(chunks->root[i].bytes);
		free(chunks->chain[i].bytes);
	}
	memset(chunks, 0, sizeof(*chunks));
}
