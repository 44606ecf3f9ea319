/* SPDX-License-Identifier: Apache-2.0 */
/* Turns side-band records of perf (linux/perf_event.h, enum perf_event_type) into events. */
#include <errno.h>
#include <linux/perf_event.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/io.h"
#include "base/macros.h"
#include "base/reader.h"
#include "kernel/state.h"

enum {
	/* pid, tid; time; cpu and padding: as our sample_type selects */
	SAMPLE_ID_BYTES = 24,
	SAMPLE_ID_TIME = 8, /* offset of the time */
	MMAP_BYTES = 48,    /* what read_mmap() reads */
};

/* How much newer a record may be than the clock that was read before it. */
static const uint64_t AHEAD_NS_MAX = UINT64_C(1000000000);

/* The part of a PERF_RECORD_MMAP2 that all have, up to the inode. It fails if it wraps. */
static struct op_mmap_event read_mmap(struct op_reader *r)
{
	struct op_mmap_event e = { .pid = op_read_u32(r) };
	uint64_t len;

	e.tid = op_read_u32(r);
	e.start = op_read_u64(r);
	len = op_read_u64(r);
	e.offset = op_read_u64(r);
	e.dev_major = op_read_u32(r);
	e.dev_minor = op_read_u32(r);
	e.inode = op_read_u64(r);
	r->failed |= __builtin_add_overflow(e.start, len, &e.end);
	return e;
}

static void on_mmap(const struct op_sideband_sink *sink, struct op_reader *r,
		    uint64_t time_ns)
{
	struct op_mmap_event e = read_mmap(r);

	e.time_ns = time_ns;
	e.generation = op_read_u64(r);
	e.writable = op_read_u32(r) & PROT_WRITE;
	op_read_skip(r, 4); /* flags */
	e.path = op_read_cstr(r);
	if (r->failed || !e.path)
		return;
	sink->on_mmap(sink->ctx, &e);
}

static void on_comm(const struct op_sideband_sink *sink, struct op_reader *r,
		    uint16_t misc, uint64_t time_ns)
{
	uint32_t pid = op_read_u32(r);
	const char *comm;

	op_read_skip(r, 4);
	comm = op_read_cstr(r);
	if (r->failed || !comm || !(misc & PERF_RECORD_MISC_COMM_EXEC))
		return;
	sink->on_exec(sink->ctx, pid, comm, time_ns);
}

static void on_task(const struct op_sideband_sink *sink, struct op_reader *r,
		    uint32_t type)
{
	uint32_t pid = op_read_u32(r);
	uint32_t parent = op_read_u32(r);
	uint32_t tid = op_read_u32(r);
	uint64_t time_ns;

	op_read_skip(r, 4);
	time_ns = op_read_u64(r);
	if (r->failed)
		return;
	if (type == PERF_RECORD_EXIT)
		sink->on_exit(sink->ctx, pid, tid, time_ns);
	else
		sink->on_fork(sink->ctx, pid, parent, tid, time_ns);
}

static void on_record(struct op_capture *c, const struct op_sideband_sink *sink,
		      const struct op_cpu_events *e, const uint8_t *body, size_t len)
{
	struct op_reader r = op_reader_init(body, len - SAMPLE_ID_BYTES);

	switch (e->next.type) {
	case PERF_RECORD_LOST:
		op_read_skip(&r, 8);
		c->sideband.lost += op_read_u64(&r);
		sink->on_lost(sink->ctx, e->next_ns);
		break;
	case PERF_RECORD_MMAP2:
		on_mmap(sink, &r, e->next_ns);
		break;
	case PERF_RECORD_COMM:
		on_comm(sink, &r, e->next.misc, e->next_ns);
		break;
	case PERF_RECORD_FORK:
	case PERF_RECORD_EXIT:
		on_task(sink, &r, e->next.type);
		break;
	case PERF_RECORD_KSYMBOL:
		sink->on_kernel_symbols(sink->ctx);
		break;
	default:
		break;
	}
}

/* Copy @len bytes at position @at of a ring of OP_SIDEBAND_BYTES. */
static void copy_out(const uint8_t *ring, uint64_t at, void *to, size_t len)
{
	op_ring_copy(ring, OP_SIDEBAND_BYTES, at, to, len);
}

/* Read the header and the time of the next record of @e. Returns false if there is none
 * for this drain. */
static bool peek(const struct op_capture *c, struct op_cpu_events *e)
{
	const uint8_t *ring = (const uint8_t *)e->sideband + c->page_size;
	uint64_t time_at;

	e->next.size = 0;
	if (e->head - e->tail >= sizeof(e->next))
		copy_out(ring, e->tail, &e->next, sizeof(e->next));
	if (e->next.size < sizeof(e->next) + SAMPLE_ID_BYTES ||
	    e->next.size > e->head - e->tail) {
		/* a malformed record: the rest cannot be read either */
		e->tail = e->head;
		return false;
	}
	/* If several profilers listen, Linux (5.1 to 7.2, perf_event_ksymbol_output())
	 * adds the size of the trailer once for each of them, and writes one trailer.
	 * So the time would be read from behind it. Use the time of the previous
	 * record. */
	if (e->next.type == PERF_RECORD_KSYMBOL)
		return true;
	time_at = e->tail + e->next.size - SAMPLE_ID_BYTES + SAMPLE_ID_TIME;
	copy_out(ring, time_at, &e->next_ns, sizeof(e->next_ns));
	/* an impossible time must not hold up the records behind it */
	if (e->next_ns > c->sideband.drained_ns + AHEAD_NS_MAX)
		e->next_ns = c->sideband.drained_ns;
	return e->next_ns <= c->sideband.drained_ns;
}

/* May the record at @at have put a file of number @inode into [start, end)? */
static bool may_map(const uint8_t *ring, uint64_t at,
		    const struct perf_event_header *header, uint64_t start, uint64_t end,
		    uint64_t inode)
{
	uint8_t bytes[MMAP_BYTES];
	struct op_reader r = op_reader_init(bytes, sizeof(bytes));
	struct op_mmap_event e;

	if (header->type == PERF_RECORD_LOST)
		return true;
	if (header->type != PERF_RECORD_MMAP2 ||
	    header->size < sizeof(*header) + sizeof(bytes))
		return false;
	copy_out(ring, at + sizeof(*header), bytes, sizeof(bytes));
	e = read_mmap(&r);
	return !r.failed && e.inode == inode && e.start < end && e.end > start;
}

static bool map_waits_on(const struct op_capture *c,
			 const struct perf_event_mmap_page *page, uint64_t start,
			 uint64_t end, uint64_t inode)
{
	const uint8_t *ring = (const uint8_t *)page + c->page_size;
	uint64_t head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
	uint64_t at = page->data_tail;
	struct perf_event_header header;

	/* the kernel may have had no place for the record */
	if (head - at > OP_SIDEBAND_BYTES / 2)
		return true;
	for (; at != head; at += header.size) {
		if (head - at < sizeof(header))
			return true;
		copy_out(ring, at, &header, sizeof(header));
		if (header.size < sizeof(header) || header.size > head - at ||
		    may_map(ring, at, &header, start, end, inode))
			return true;
	}
	return false;
}

bool op_capture_map_waits(void *capture, uint64_t start, uint64_t end, uint64_t inode)
{
	struct op_capture *c = capture;
	const struct op_cpu_events *e;

	if (c->cpus.moved)
		return true;
	op_vec_foreach(e, &c->cpus.list)
		if (e->sideband && map_waits_on(c, e->sideband, start, end, inode))
			return true;
	return false;
}

/* Add each CPU that has records to the merge, whose memory is reserved. */
static void begin(struct op_capture *c)
{
	struct op_cpu_events *e;

	op_vec_foreach(e, &c->cpus.list) {
		struct perf_event_mmap_page *page = e->sideband;

		if (!page)
			continue;
		e->head = __atomic_load_n(&page->data_head, __ATOMIC_ACQUIRE);
		e->tail = page->data_tail;
		if (e->head == e->tail)
			continue;
		if (peek(c, e))
			(void)op_minheap_add(&c->sideband.merge, e->next_ns, e->cpu);
		else
			__atomic_store_n(&page->data_tail, e->tail, __ATOMIC_RELEASE);
	}
}

/* Process the next record of @e. */
static void take(struct op_capture *c, const struct op_sideband_sink *sink,
		 struct op_cpu_events *e)
{
	struct perf_event_mmap_page *page = e->sideband;
	const uint8_t *ring = (const uint8_t *)page + c->page_size;
	size_t len = e->next.size - sizeof(e->next);

	copy_out(ring, e->tail + sizeof(e->next), c->sideband.scratch, len);
	e->tail += e->next.size;
	on_record(c, sink, e, c->sideband.scratch, len);
	if (e->tail != e->head && peek(c, e)) {
		op_minheap_change_top(&c->sideband.merge, e->next_ns);
		return;
	}
	op_minheap_remove_top(&c->sideband.merge);
	__atomic_store_n(&page->data_tail, e->tail, __ATOMIC_RELEASE);
}

/*
 * Leave the records in the merge to the next drain. All older records were taken, so
 * the side-bands are drained until the time of the oldest one left. @before_ns: until
 * when they were before.
 */
static void leave(struct op_capture *c, uint64_t before_ns)
{
	uint64_t oldest_ns = c->sideband.merge.data[0].key;
	const struct op_minheap_item *next;

	op_vec_foreach(next, &c->sideband.merge) {
		const struct op_cpu_events *e = &c->cpus.list.data[next->value];
		struct perf_event_mmap_page *page = e->sideband;

		__atomic_store_n(&page->data_tail, e->tail, __ATOMIC_RELEASE);
	}
	c->sideband.merge.len = 0;
	c->sideband.drained_ns = OP_MAX(before_ns, oldest_ns ? oldest_ns - 1 : 0);
	c->sideband.drains_cut++;
}

/*
 * A process may fork on one CPU, and its child may map a file on another. So the
 * records of all CPUs are merged by time. Records that are newer than the first look at
 * a buffer are left, because older events may come to a buffer that was drained
 * already.
 */
uint64_t op_capture_drain_sideband(struct op_capture *c,
				   const struct op_sideband_sink *sink,
				   struct op_allowance *allowance)
{
	uint64_t before_ns = c->sideband.drained_ns;
	uint64_t records = 0;
	bool over = false;

	c->sideband.drained_ns = op_clock_monotonic_ns();
	if (c->cpus.moved) {
		/* events while nobody listened are not known */
		c->cpus.moved = false;
		sink->on_lost(sink->ctx, c->sideband.drained_ns);
	}
	begin(c);
	while (!over && c->sideband.merge.len) {
		take(c, sink, &c->cpus.list.data[c->sideband.merge.data[0].value]);
		records++;
		over = op_allowance_step(allowance);
	}
	c->sideband.left = c->sideband.merge.len;
	if (c->sideband.left)
		leave(c, before_ns);
	return records;
}
