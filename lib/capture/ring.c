/* SPDX-License-Identifier: Apache-2.0 */
#include "capture/ring.h"

#include <errno.h>
#include <linux/bpf.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

/* Before each record: its length with two flags, and a word of the kernel's own. */
enum {
	RECORD_ALIGN = 8
};

int op_ring_open(struct op_ring *ring, int fd, size_t bytes)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *map;
	int r;

	*ring = (struct op_ring){ .bytes = bytes, .page_size = page };
	ring->scratch = malloc(OP_RING_RECORD_MAX);
	if (!ring->scratch)
		return -ENOMEM;
	map = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (map != MAP_FAILED) {
		ring->consumer = map;
		map = mmap(NULL, page + bytes, PROT_READ, MAP_SHARED, fd, (off_t)page);
	}
	if (map == MAP_FAILED) {
		r = -errno;
		op_ring_close(ring);
		return r;
	}
	ring->producer = map;
	ring->data = (const uint8_t *)map + page;
	return 0;
}

void op_ring_close(struct op_ring *ring)
{
	if (ring->producer)
		(void)munmap((void *)ring->producer, ring->page_size + ring->bytes);
	if (ring->consumer)
		(void)munmap(ring->consumer, ring->page_size);
	free(ring->scratch);
	*ring = (struct op_ring){ 0 };
}

/* The @len bytes at position @at in one piece. */
static const void *in_one_piece(const struct op_ring *ring, unsigned long at, size_t len)
{
	size_t offset = at & (ring->bytes - 1);

	if (len <= ring->bytes - offset)
		return ring->data + offset;
	op_ring_copy(ring->data, ring->bytes, at, ring->scratch, len);
	return ring->scratch;
}

/* Call @fn with the record at @at, that has this header. */
static int take(const struct op_ring *ring, unsigned long at, size_t len, op_ring_fn fn,
		void *ctx)
{
	if (len > OP_RING_RECORD_MAX || len > ring->bytes)
		return fn(ctx, ring->scratch, 0);
	return fn(ctx, in_one_piece(ring, at + BPF_RINGBUF_HDR_SZ, len), len);
}

int op_ring_consume(struct op_ring *ring, op_ring_fn fn, void *ctx)
{
	unsigned long at = *ring->consumer; /* ours alone */
	unsigned long end = __atomic_load_n(ring->producer, __ATOMIC_ACQUIRE);
	int r = 0;

	while (at < end && r >= 0) {
		const uint32_t *header =
			(const uint32_t *)(ring->data + (at & (ring->bytes - 1)));
		uint32_t word = __atomic_load_n(header, __ATOMIC_ACQUIRE);
		uint32_t len = word & ~(BPF_RINGBUF_BUSY_BIT | BPF_RINGBUF_DISCARD_BIT);
		size_t whole = BPF_RINGBUF_HDR_SZ + (size_t)len;

		if (word & BPF_RINGBUF_BUSY_BIT)
			break; /* being written; it wakes us when it is done */
		if (!(word & BPF_RINGBUF_DISCARD_BIT))
			r = take(ring, at, len, fn, ctx);
		at += (whole + RECORD_ALIGN - 1) & ~(size_t)(RECORD_ALIGN - 1);
		__atomic_store_n(ring->consumer, at, __ATOMIC_RELEASE);
		if (at >= end)
			end = __atomic_load_n(ring->producer, __ATOMIC_ACQUIRE);
	}
	return r < 0 ? r : 0;
}
