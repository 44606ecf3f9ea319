/* SPDX-License-Identifier: Apache-2.0 */
/* Reading a ring in a file with the kernel's layout. */
#include <errno.h>
#include <linux/bpf.h>
#include <sys/mman.h>
#include <unistd.h>

#include "kernel/ring.h"
#include "test.h"

enum {
	BYTES = 1 << 20, /* some windows */
	LONG = 60000,	 /* of a record, half a window */
	SEEN_MAX = 64
};

/* The writer's side. */
struct writer {
	int fd;
	size_t page;
	uint8_t *map; /* consumer page, producer page, data */
	struct op_ring ring;
};

struct seen {
	size_t count;
	size_t len[SEEN_MAX];
	uint8_t first[SEEN_MAX];
	size_t stop_after; /* 0: never */
};

static void set_up(struct writer *w)
{
	w->page = (size_t)sysconf(_SC_PAGESIZE);
	w->fd = memfd_create("ring", MFD_CLOEXEC);
	CHECK_INT(ftruncate(w->fd, (off_t)(2 * w->page + 2 * BYTES)), 0);
	w->map = mmap(NULL, 2 * w->page + 2 * BYTES, PROT_READ | PROT_WRITE, MAP_SHARED,
		      w->fd, 0);
	CHECK(w->map != MAP_FAILED);
	CHECK_INT(op_ring_open(&w->ring, w->fd, BYTES), 0);
}

static void tear_down(struct writer *w)
{
	op_ring_close(&w->ring);
	CHECK_INT(munmap(w->map, 2 * w->page + 2 * BYTES), 0);
	CHECK_INT(close(w->fd), 0);
}

static unsigned long *position(struct writer *w, int page)
{
	return (unsigned long *)(w->map + (size_t)page * w->page);
}

/* The second copy of the data, which the kernel has by a second mapping. */
static void copy_twice(struct writer *w)
{
	uint8_t *data = w->map + 2 * w->page;

	memcpy(data + BYTES, data, BYTES);
}

/* Append @len bytes of value @fill with @flags; returns where its header is. */
static uint32_t *append(struct writer *w, uint8_t fill, uint32_t len, uint32_t flags)
{
	uint8_t *data = w->map + 2 * w->page;
	unsigned long at = *position(w, 1);
	uint32_t *header = (uint32_t *)(data + at % BYTES);
	uint32_t i;

	*header = len | flags;
	for (i = 0; i < len; i++)
		data[(at + BPF_RINGBUF_HDR_SZ + i) % BYTES] = fill;
	copy_twice(w);
	*position(w, 1) = at + ((BPF_RINGBUF_HDR_SZ + len + 7) & ~7ul);
	return header;
}

static int on_record(void *ctx, const void *record, size_t len)
{
	struct seen *s = ctx;
	const uint8_t *bytes = record;
	size_t i;

	for (i = 1; i < len; i++)
		CHECK_INT(bytes[i], bytes[0]);
	s->len[s->count] = len;
	s->first[s->count++] = len ? bytes[0] : 0;
	return s->count == s->stop_after ? -ECANCELED : 0;
}

static void test_records_come_in_order_and_discarded_ones_not(void)
{
	struct seen seen = { 0 };
	struct writer w;

	set_up(&w);
	CHECK_INT(op_ring_consume(&w.ring, on_record, &seen), 0);
	CHECK_INT(seen.count, 0);
	append(&w, 1, 100, 0);
	append(&w, 2, 9, BPF_RINGBUF_DISCARD_BIT);
	append(&w, 3, 8, 0);
	CHECK_INT(op_ring_consume(&w.ring, on_record, &seen), 0);
	CHECK_INT(seen.count, 2);
	CHECK_INT(seen.len[0], 100);
	CHECK_INT(seen.first[1], 3);
	CHECK_INT(*position(&w, 0), *position(&w, 1));
	tear_down(&w);
}

static void test_a_record_that_wraps_is_whole(void)
{
	struct seen seen = { 0 };
	struct writer w;
	uint8_t i;

	set_up(&w);
	for (i = 0; i < 50; i++) { /* almost three times round */
		append(&w, (uint8_t)(i + 1), LONG, 0);
		CHECK_INT(op_ring_consume(&w.ring, on_record, &seen), 0);
		CHECK_INT(seen.count, i + 1);
		CHECK_INT(seen.len[i], LONG);
		CHECK_INT(seen.first[i], i + 1);
	}
	/* what is mapped is counted as ours */
	CHECK(w.ring.window_bytes <= OP_RING_WINDOW_BYTES + w.page);
	tear_down(&w);
}

static void test_it_waits_at_one_that_is_being_written(void)
{
	struct seen seen = { 0 };
	uint32_t *header;
	struct writer w;

	set_up(&w);
	append(&w, 1, 10, 0);
	header = append(&w, 2, 10, BPF_RINGBUF_BUSY_BIT);
	append(&w, 3, 10, 0);
	CHECK_INT(op_ring_consume(&w.ring, on_record, &seen), 0);
	CHECK_INT(seen.count, 1);
	*header = 10;
	CHECK_INT(op_ring_consume(&w.ring, on_record, &seen), 0);
	CHECK_INT(seen.count, 3);
	CHECK_INT(seen.first[1], 2);
	tear_down(&w);
}

static void test_stopped_it_goes_on_after_the_last(void)
{
	struct seen seen = { .stop_after = 2 };
	struct writer w;
	uint8_t i;

	set_up(&w);
	for (i = 1; i <= 3; i++)
		append(&w, i, 10, 0);
	CHECK_INT(op_ring_consume(&w.ring, on_record, &seen), -ECANCELED);
	CHECK_INT(seen.count, 2);
	CHECK_INT(op_ring_consume(&w.ring, on_record, &seen), 0);
	CHECK_INT(seen.count, 3);
	CHECK_INT(seen.first[2], 3);
	tear_down(&w);
}

static void test_a_length_that_cannot_be_is_told(void)
{
	struct seen seen = { 0 };
	struct writer w;
	uint32_t *header;

	set_up(&w);
	header = append(&w, 1, 10, 0);
	*header = OP_RING_RECORD_MAX + 1;
	CHECK_INT(op_ring_consume(&w.ring, on_record, &seen), 0);
	CHECK_INT(seen.count, 1);
	CHECK_INT(seen.len[0], 0);
	tear_down(&w);
}

static void test_what_is_no_ring_is_refused(void)
{
	struct op_ring ring;

	CHECK_INT(op_ring_open(&ring, -1, BYTES), -EBADF);
	CHECK(!ring.consumer && !ring.producer && !ring.window);
}

TEST_MAIN({ "order", test_records_come_in_order_and_discarded_ones_not },
	  { "wraps", test_a_record_that_wraps_is_whole },
	  { "busy", test_it_waits_at_one_that_is_being_written },
	  { "stopped", test_stopped_it_goes_on_after_the_last },
	  { "length", test_a_length_that_cannot_be_is_told },
	  { "refused", test_what_is_no_ring_is_refused })
