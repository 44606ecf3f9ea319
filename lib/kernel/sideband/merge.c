/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel/sideband/merge.h"

#include <assert.h>

static bool before(const struct op_merge_next *a, const struct op_merge_next *b)
{
	return a->time_ns < b->time_ns ||
	       (a->time_ns == b->time_ns && a->stream < b->stream);
}

int op_merge_reserve(struct op_merge *m, size_t streams)
{
	size_t more = streams > m->heap.len ? streams - m->heap.len : 0;

	return op_vec_reserve(&m->heap, more);
}

void op_merge_add(struct op_merge *m, uint32_t stream, uint64_t time_ns)
{
	struct op_merge_next next = { .time_ns = time_ns, .stream = stream };
	struct op_merge_next *heap = m->heap.data;
	size_t at = m->heap.len++;

	assert(m->heap.len <= m->heap.cap);
	for (; at && before(&next, &heap[(at - 1) / 2]); at = (at - 1) / 2)
		heap[at] = heap[(at - 1) / 2];
	heap[at] = next;
}

bool op_merge_oldest(const struct op_merge *m, uint32_t *ret_stream)
{
	if (!m->heap.len)
		return false;
	*ret_stream = m->heap.data[0].stream;
	return true;
}

/* Put @next into the heap, whose top is free. */
static void sink(struct op_merge *m, struct op_merge_next next)
{
	struct op_merge_next *heap = m->heap.data;
	size_t at = 0;
	size_t child;

	while ((child = 2 * at + 1) < m->heap.len) {
		if (child + 1 < m->heap.len && before(&heap[child + 1], &heap[child]))
			child++;
		if (!before(&heap[child], &next))
			break;
		heap[at] = heap[child];
		at = child;
	}
	heap[at] = next;
}

void op_merge_advance(struct op_merge *m, uint64_t time_ns)
{
	assert(m->heap.len);
	sink(m, (struct op_merge_next){ .time_ns = time_ns,
					.stream = m->heap.data[0].stream });
}

void op_merge_end(struct op_merge *m)
{
	assert(m->heap.len);
	if (--m->heap.len)
		sink(m, m->heap.data[m->heap.len]);
}

void op_merge_clear(struct op_merge *m)
{
	op_vec_clear(&m->heap);
}
