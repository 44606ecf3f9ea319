/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reader's side of a BPF ring buffer (include/uapi/linux/bpf.h,
 * kernel/bpf/ringbuf.c): a page with our position, a page with the kernel's, then the
 * data. The kernel maps the data twice in a row, so that a record that wraps around is
 * contiguous, too. Mapped pages count as memory of this process, so only a window on the
 * data is mapped, which moves along as records are read.
 */
#ifndef OP_KERNEL_RING_H
#define OP_KERNEL_RING_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum {
	/* bytes; a record of our programs has at most a third of it */
	OP_RING_RECORD_MAX = 64 * 1024,
	/* The window has this many bytes and one page, so a record with its header fits
	 * wherever it begins. */
	OP_RING_WINDOW_BYTES = 2 * OP_RING_RECORD_MAX,
};

struct op_ring {
	int fd;			 /* borrowed */
	unsigned long *consumer; /* positions in bytes, which only grow */
	const unsigned long *producer;
	size_t bytes; /* size of the data, a power of two */
	size_t page_size;
	const uint8_t *window; /* NULL: nothing is mapped */
	/* the window's offset in the data, a multiple of the page size */
	size_t window_at;
	size_t window_bytes;
};

/* Copy @len bytes from position @at of a ring whose @data has @bytes bytes, a power of
 * two. */
static inline void op_ring_copy(const uint8_t *data, size_t bytes, uint64_t at, void *to,
				size_t len)
{
	size_t offset = at & (bytes - 1);
	size_t first = len < bytes - offset ? len : bytes - offset;

	memcpy(to, data + offset, first);
	memcpy((uint8_t *)to + first, data, len - first);
}

/*
 * Called with one record, which is valid until the call returns. @len is 0 for a record
 * that is too long. A negative result stops the reading and is returned by
 * op_ring_consume(); the record counts as read.
 */
typedef int (*op_ring_fn)(void *ctx, const void *record, size_t len);

/* Map the ring buffer @fd, whose data has @bytes bytes. Borrows @fd until
 * op_ring_close(). Returns 0 or -errno. */
int op_ring_open(struct op_ring *ring, int fd, size_t bytes);
/* Read all available records. Returns 0, the negative result of @fn, or -errno if
 * mapping fails. Only one thread at a time may call it. */
int op_ring_consume(struct op_ring *ring, op_ring_fn fn, void *ctx);
void op_ring_close(struct op_ring *ring);

#endif
