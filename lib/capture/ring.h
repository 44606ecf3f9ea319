/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reader's side of a BPF ring buffer (include/uapi/linux/bpf.h, kernel/bpf/ringbuf.c):
 * a page with our position, a page with the kernel's, then the data. The kernel offers the
 * data twice in a row, so that no record is ever in two parts; we map it once, for what is
 * mapped is counted as ours, and put the one record that wraps together.
 */
#ifndef OP_CAPTURE_RING_H
#define OP_CAPTURE_RING_H

#include <stddef.h>
#include <stdint.h>
#include <string.h>

enum {
	OP_RING_RECORD_MAX = 64 * 1024, /* bytes; ours have at most a third of it */
};

struct op_ring {
	unsigned long *consumer;       /* positions in bytes, ever growing */
	const unsigned long *producer; /* followed by the data, a page further */
	const uint8_t *data;
	size_t bytes; /* of the data: a power of two */
	size_t page_size;
	uint8_t *scratch; /* OP_RING_RECORD_MAX, for a record that wraps */
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

/* Map the ring @fd of @bytes. Borrows @fd. Returns 0 or -errno. */
int op_ring_open(struct op_ring *ring, int fd, size_t bytes);
/* Read all that is there. Returns 0 or what @fn returned. One thread at a time. */
int op_ring_consume(struct op_ring *ring, op_ring_fn fn, void *ctx);
void op_ring_close(struct op_ring *ring);

#endif
