/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reader's side of a BPF ring buffer (include/uapi/linux/bpf.h, kernel/bpf/ringbuf.c):
 * a page with our position, a page with the kernel's, then the data. The kernel offers the
 * data twice in a row, so that a record that wraps is in one piece, too. What is mapped is
 * counted as ours, so only a window on the data is mapped, and moved along with the reading.
 */
#ifndef OP_CAPTURE_RING_H
#define OP_CAPTURE_RING_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum {
	OP_RING_RECORD_MAX = 64 * 1024, /* bytes; ours have at most a third of it */
	/* Of the window, and a page. A record and its header fit, wherever they begin. */
	OP_RING_WINDOW_BYTES = 2 * OP_RING_RECORD_MAX,
};

struct op_ring {
	int fd;			 /* borrowed */
	unsigned long *consumer; /* positions in bytes, ever growing */
	const unsigned long *producer;
	size_t bytes; /* of the data: a power of two */
	size_t page_size;
	const uint8_t *window; /* NULL: nothing was read so far */
	size_t window_at;      /* where in the data it begins, by the page */
	size_t window_bytes;
};

/* Copy @len bytes at position @at of a ring's @bytes of @data, a power of two. */
static inline void op_ring_copy(const uint8_t *data, size_t bytes, uint64_t at, void *to,
				size_t len)
{
	size_t offset = at & (bytes - 1);
	size_t first = len < bytes - offset ? len : bytes - offset;

	memcpy(to, data + offset, first);
	memcpy((uint8_t *)to + first, data, len - first);
}

/*
 * One record; valid until the call returns. @len is 0 for one that is too long. A result
 * below 0 ends the reading, and is handed on; the record itself is done with.
 */
typedef int (*op_ring_fn)(void *ctx, const void *record, size_t len);

/* Map the ring @fd of @bytes. Borrows @fd until op_ring_close(). Returns 0 or -errno. */
int op_ring_open(struct op_ring *ring, int fd, size_t bytes);
/* Read all that is there. Returns 0, what @fn returned below 0, or -errno of mapping. One
 * thread at a time. */
int op_ring_consume(struct op_ring *ring, op_ring_fn fn, void *ctx);
void op_ring_close(struct op_ring *ring);

#endif
