/* SPDX-License-Identifier: Apache-2.0 */
#include "kernel/ring.h"

#include <errno.h>
#include <linux/bpf.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/macros.h"

/* A header of BPF_RINGBUF_HDR_SZ precedes each record: its length with two flags, and a
 * word that the kernel uses. Headers are aligned to 8 bytes. */
enum {
	RECORD_ALIGN = 8
};

int op_ring_open(struct op_ring *ring, int fd, size_t bytes)
{
	size_t page = (size_t)sysconf(_SC_PAGESIZE);
	void *map;
	int r;

	*ring = (struct op_ring){ .fd = fd, .bytes = bytes, .page_size = page };
	ring->window_bytes = OP_MIN(bytes, (size_t)OP_RING_WINDOW_BYTES) + page;
	map = mmap(NULL, page, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (map != MAP_FAILED) {
		ring->consumer = map;
		map = mmap(NULL, page, PROT_READ, MAP_SHARED, fd, (off_t)page);
	}
	if (map == MAP_FAILED) {
		r = -errno;
		op_ring_close(ring);
		return r;
	}
	ring->producer = map;
	return 0;
}

void op_ring_close(struct op_ring *ring)
{
	if (ring->window)
		(void)munmap((void *)ring->window, ring->window_bytes);
	if (ring->producer)
		(void)munmap((void *)ring->producer, ring->page_size);
	if (ring->consumer)
		(void)munmap(ring->consumer, ring->page_size);
	*ring = (struct op_ring){ 0 };
}

/* Move the window, so that it begins with the page of @offset. Returns 0 or -errno. */
static int move_window(struct op_ring *ring, size_t offset)
{
	size_t start = OP_ALIGN_DOWN(offset, ring->page_size);
	void *map;

	if (ring->window)
		(void)munmap((void *)ring->window, ring->window_bytes);
	ring->window = NULL;
	map = mmap(NULL, ring->window_bytes, PROT_READ, MAP_SHARED, ring->fd,
		   (off_t)(2 * ring->page_size + start));
	if (map == MAP_FAILED)
		return -errno;
	ring->window = map;
	ring->window_at = start;
	return 0;
}

/* Point *@ret to the @len bytes at position @at; moves the window if they are outside of
 * it. Returns 0 or -errno. */
static int look_at(struct op_ring *ring, unsigned long at, size_t len, const void **ret)
{
	size_t offset = at & (ring->bytes - 1);
	int r;

	if (!ring->window || offset < ring->window_at ||
	    offset - ring->window_at + len > ring->window_bytes) {
		r = move_window(ring, offset);
		if (r < 0)
			return r;
	}
	*ret = ring->window + (offset - ring->window_at);
	return 0;
}

/* Call @fn with the record of @len bytes whose header is at position @at. *@ret is its
 * result. Returns 0, or -errno if the record cannot be read now. */
static int take(struct op_ring *ring, unsigned long at, size_t len, op_ring_fn fn,
		void *ctx, int *ret)
{
	const void *record;
	int r;

	if (len > OP_RING_RECORD_MAX || len > ring->bytes) {
		*ret = fn(ctx, ring->consumer, 0);
		return 0;
	}
	r = look_at(ring, at, BPF_RINGBUF_HDR_SZ + len, &record);
	if (r == 0)
		*ret = fn(ctx, (const uint8_t *)record + BPF_RINGBUF_HDR_SZ, len);
	return r;
}

int op_ring_consume(struct op_ring *ring, op_ring_fn fn, void *ctx)
{
	unsigned long at = *ring->consumer; /* only this process writes it */
	unsigned long end = __atomic_load_n(ring->producer, __ATOMIC_ACQUIRE);
	int result = 0;

	while (at < end && result >= 0) {
		const void *header;
		uint32_t word;
		uint32_t len;
		size_t whole;
		int r = look_at(ring, at, BPF_RINGBUF_HDR_SZ, &header);

		if (r < 0)
			return r;
		word = __atomic_load_n((const uint32_t *)header, __ATOMIC_ACQUIRE);
		if (word & BPF_RINGBUF_BUSY_BIT)
			break; /* it is being written, and wakes the reader when it is complete */
		len = word & ~(BPF_RINGBUF_BUSY_BIT | BPF_RINGBUF_DISCARD_BIT);
		whole = BPF_RINGBUF_HDR_SZ + (size_t)len;
		if (!(word & BPF_RINGBUF_DISCARD_BIT))
			r = take(ring, at, len, fn, ctx, &result);
		if (r < 0)
			return r;
		at += (whole + RECORD_ALIGN - 1) & ~(size_t)(RECORD_ALIGN - 1);
		__atomic_store_n(ring->consumer, at, __ATOMIC_RELEASE);
		if (at >= end)
			end = __atomic_load_n(ring->producer, __ATOMIC_ACQUIRE);
	}
	return result < 0 ? result : 0;
}
