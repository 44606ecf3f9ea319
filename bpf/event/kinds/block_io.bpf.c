/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Block I/O. The thread that wants a bio queues it, and its stack is walked there. The
 * bio ends later, in an interrupt, as a part of a request or by itself. Until then its
 * sample is held under the bio's address. So each bio has the stack that submitted it,
 * although requests are merged from several bios. A request is issued when its driver
 * gets it. Until then its bios wait, and from then on the device works for them.
 */
#include "bpf/platform/kernel.h"

#include "op_errors.h"
#include "op_types.h"

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "bpf/event/event.h"

char op_license[] SEC("license") = "Dual BSD/GPL";

enum {
	OP_BIOS_MAX = 512, /* of a request */

	OP_ENOENT = 2,

	/* include/linux/blk_types.h: enum req_op, and flags */
	OP_REQ_OP_BITS = 0xff,
	OP_REQ_OP_READ = 0,
	OP_REQ_OP_WRITE = 1,
	OP_REQ_OP_FLUSH = 2,
	OP_REQ_OP_DISCARD = 3,
	OP_REQ_FUA = 1 << 17,
	OP_REQ_PREFLUSH = 1 << 18,
};

/* Before 5.12 the first argument is the queue. Each load has a constant offset of its
 * own. Otherwise the compiler would choose an address and load once, which the verifier
 * refuses for a context. */
static __always_inline struct bio *op_queued_bio(const __u64 *args)
{
	struct bio *bio = NULL;

	if (bpf_core_field_exists(bio->bi_bdev))
		asm volatile("%0 = *(u64 *)(%1 + 0)" : "=r"(bio) : "r"(args));
	else
		asm volatile("%0 = *(u64 *)(%1 + 8)" : "=r"(bio) : "r"(args));
	return bio;
}

static __always_inline __u32 op_bio_device(struct bio *bio)
{
	struct bio___old *old = (struct bio___old *)bio;

	if (bpf_core_field_exists(bio->bi_bdev))
		return BPF_CORE_READ(bio, bi_bdev, bd_dev);
	return (__u32)BPF_CORE_READ(old, bi_disk, major) << OP_BLOCK_MINOR_BITS |
	       ((__u32)BPF_CORE_READ(old, bi_disk, first_minor) +
		BPF_CORE_READ(old, bi_partno));
}

static __always_inline __u32 op_bio_operation(struct bio *bio, __u32 bytes)
{
	__u32 opf = BPF_CORE_READ(bio, bi_opf);

	switch (opf & OP_REQ_OP_BITS) {
	case OP_REQ_OP_READ:
		return OP_BLOCK_READ;
	case OP_REQ_OP_WRITE:
		return bytes || !(opf & OP_REQ_PREFLUSH) ? OP_BLOCK_WRITE
							 : OP_BLOCK_FLUSH;
	case OP_REQ_OP_FLUSH:
		return OP_BLOCK_FLUSH;
	case OP_REQ_OP_DISCARD:
		return OP_BLOCK_DISCARD;
	default:
		return OP_BLOCK_OTHER;
	}
}

/* Walk the stack of who queues a bio. Of its bytes those in memory count: a discard has none. */
static __always_inline int op_queue(struct bpf_raw_tracepoint_args *ctx, bool whole)
{
	struct op_counts *counts = op_counts_of(OP_EVENT_BLOCK_IO);
	struct bio *bio = op_queued_bio(ctx->args);
	struct op_slot *slot;
	bool filtered;
	__u64 sectors;
	__u32 bytes;

	slot = op_event_enter(counts, OP_EVENT_BLOCK_IO, true, &filtered);
	if (!slot) {
		op_count_in(counts, OP_COUNT_TAKEN);
		op_forget(OP_EVENT_BLOCK_IO, (__u64)bio);
		return 0;
	}
	bytes = BPF_CORE_READ(bio, bi_iter.bi_size);
	slot->held = (__u64)bio;
	slot->record.detail = (__u16)op_bio_operation(bio, bytes);
	slot->sample.extra = op_bio_device(bio);
	sectors =
		slot->record.detail <= OP_BLOCK_WRITE ? bytes / OP_BLOCK_SECTOR_BYTES : 0;
	slot->record.value = sectors << OP_BLOCK_SECTORS_SHIFT;
	return op_event_task(ctx, slot, whole);
}

SEC("raw_tp")
int op_block_io(struct bpf_raw_tracepoint_args *ctx)
{
	return op_queue(ctx, false);
}

SEC("raw_tp")
int op_block_io_whole(struct bpf_raw_tracepoint_args *ctx)
{
	return op_queue(ctx, true);
}

/* The ns since @s was taken. */
static __always_inline __u64 op_since(const struct op_named *s)
{
	__u64 now = bpf_ktime_get_ns();
	__u64 ns = now > s->time_ns ? now - s->time_ns : 0;

	return ns < OP_BLOCK_NS_MAX ? ns : OP_BLOCK_NS_MAX;
}

/*
 * The request of the bio at @key is issued. If the driver gives a request back, it
 * waits again, so the last time counts. A write with a flush before it is issued after
 * that flush, for which the device works, so it has no time in the queue. Global, as
 * below.
 */
__attribute__((noinline)) int op_bio_issue(__u64 key);
__attribute__((noinline)) int op_bio_issue(__u64 key)
{
	struct op_held_sample *held = bpf_map_lookup_elem(&op_held, &key);
	struct bio *bio = (struct bio *)key;

	if (held && !(BPF_CORE_READ(bio, bi_opf) & OP_REQ_PREFLUSH))
		held->named.value =
			(held->named.value & ~OP_BLOCK_NS_MAX) | op_since(&held->named);
	return 0;
}

static __always_inline int op_issue(struct request *request)
{
	struct bio *bio = BPF_CORE_READ(request, bio);
	int i;

	for (i = 0; i < OP_BIOS_MAX && bio; i++) {
		(void)op_bio_issue((__u64)bio);
		bio = BPF_CORE_READ(bio, bi_next);
	}
	return 0;
}

SEC("raw_tp/block_rq_issue")
int op_block_issued(struct bpf_raw_tracepoint_args *ctx)
{
	return op_issue((struct request *)ctx->args[0]);
}

/* Before 5.10.137 the first argument is the queue. The kernel attaches no program that
 * reads more arguments than a tracepoint has. */
SEC("raw_tp/block_rq_issue")
int op_block_issue2(struct bpf_raw_tracepoint_args *ctx)
{
	return op_issue((struct request *)ctx->args[1]);
}

/* The bio at @key has ended: send its sample. Global, so that the verifier checks it
 * once and not for each bio of a request. */
__attribute__((noinline)) int op_bio_end(__u64 key);
__attribute__((noinline)) int op_bio_end(__u64 key)
{
	struct op_held_sample *held = bpf_map_lookup_elem(&op_held, &key);
	struct op_counts *counts = op_counts_of(OP_EVENT_BLOCK_IO);
	struct op_held_sample s;
	__u64 queued;
	__u64 ns;
	int r; /* before 6.4 the upper half is not set */

	if (!held)
		return 0;
	__builtin_memcpy(&s, held, sizeof(s));
	r = (int)bpf_map_delete_elem(&op_held, &key);
	if (r == -OP_ENOENT)
		return 0; /* already sent */
	if (r) {	  /* before 6.7 the kernel may refuse this in an interrupt */
		op_count_in(counts, OP_COUNT_TAKEN);
		op_count_in(counts, OP_COUNT_NO_MEMORY);
		return 0;
	}
	ns = op_since(&s.named);
	queued = s.named.value & OP_BLOCK_NS_MAX;
	ns = ns > queued ? ns - queued : 0;
	s.named.value = (s.named.value & ~OP_BLOCK_NS_MAX) |
			op_short_of(ns) << OP_BLOCK_SERVICE_SHIFT | op_short_of(queued);
	op_count_in(counts, OP_COUNT_TAKEN);
	op_count_in(counts, bpf_ringbuf_output(&op_ring, &s, op_named_bytes(&s.named),
					       op_ring_wakeup())
				    ? OP_COUNT_RING_FULL
				    : OP_COUNT_OUTPUT);
	return 0;
}

/*
 * Does @request continue after its bytes are done? If the device has no FUA, the kernel
 * makes a write through the cache of a write and a flush, and removes the flag from the
 * request. Then the request is done with 0 bytes once more.
 */
static __always_inline bool op_goes_on(struct request *request, struct bio *bio)
{
	return (BPF_CORE_READ(bio, bi_opf) & OP_REQ_FUA) &&
	       !(BPF_CORE_READ(request, cmd_flags) & OP_REQ_FUA);
}

/* A request has done @args[2] bytes: those of these bios, beginning with its first one. */
SEC("raw_tp/block_rq_complete")
int op_block_done(struct bpf_raw_tracepoint_args *ctx)
{
	struct request *request = (struct request *)ctx->args[0];
	struct bio *bio = BPF_CORE_READ(request, bio);
	__u32 left = (__u32)ctx->args[2];
	int i;

	if (bio && left && op_goes_on(request, bio))
		return 0;

	for (i = 0; i < OP_BIOS_MAX && bio; i++) {
		__u32 bytes = BPF_CORE_READ(bio, bi_iter.bi_size);

		if (bytes > left)
			break;
		(void)op_bio_end((__u64)bio);
		left -= bytes;
		bio = BPF_CORE_READ(bio, bi_next);
	}
	return 0;
}

/* For devices without requests. */
SEC("raw_tp/block_bio_complete")
int op_block_ended(struct bpf_raw_tracepoint_args *ctx)
{
	(void)op_bio_end(ctx->args[1]);
	return 0;
}
