/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Kinds with many events: a stack is sent once a window (it is announced). Each sample
 * names it by a hash of 128 bits, with its own time and value. A stack counts as
 * announced only after the ring has taken it. Records of a CPU, and of CPUs that follow
 * it, are in the ring in this order, so the announcement comes before all samples that
 * name it.
 *
 * The sample of an event that has a length is held in a map until the event ends, under
 * a key that the kind chooses. It counts as taken only then. If the end is missed, the
 * sample counts as lost, when its key is used for another event or when user space
 * finds it after the kind was turned off.
 *
 * If a walk lacks a table, it is requested, for each process at most once in
 * OP_REQUEST_EVERY_NS.
 */
#ifndef OP_NAMED_H
#define OP_NAMED_H

#include "bpf/event/count.h"
#include "bpf/event/slot.h"

#define OP_REQUEST_EVERY_NS 2000000ULL

enum {
	OP_HASH_WORDS = 64, /* at a time */
	OP_HELD_MAX = 8192, /* events that last at the same time; some 190 bytes each */

	OP_EEXIST = 17,
};

/* Odd constants of the golden ratio and of MurmurHash3's finalizer. */
#define OP_HASH_A 0x9e3779b97f4a7c15ULL
#define OP_HASH_B 0xff51afd7ed558ccdULL
#define OP_HASH_C 0xc4ceb9fe1a85ec53ULL

/* Two chains, with different constants and a different way to add a word. */
static __always_inline void op_hash_add(struct op_hash *h, __u64 word)
{
	h->word[0] = (h->word[0] ^ word) * OP_HASH_A;
	h->word[0] ^= h->word[0] >> 32;
	h->word[1] = (h->word[1] + word) * OP_HASH_B;
	h->word[1] ^= h->word[1] >> 29;
}

static __always_inline void op_hash_end(struct op_hash *h)
{
	__u64 a = h->word[0] + h->word[1];

	h->word[0] = (a ^ a >> 33) * OP_HASH_C;
	h->word[1] = (h->word[1] ^ h->word[0] >> 31) * OP_HASH_B;
}

/* Add words @from to @from + OP_HASH_WORDS of slot @number to its hash. Global, and
 * only a few words, so that the verifier checks it once. */
__attribute__((noinline)) int op_hash_some(__u32 number, __u32 from);
__attribute__((noinline)) int op_hash_some(__u32 number, __u32 from)
{
	struct op_slot *slot = op_slot_at(number);
	struct op_hash h;
	__u32 i;

	if (!slot)
		return 0;
	h = slot->sample.hash;
	for (i = 0; i < OP_HASH_WORDS; i++) {
		__u32 at = from + i;

		op_platform_bound(at);
		if (at >= OP_WORDS_MAX || at >= slot->unwind.out.words)
			break;
		op_hash_add(&h, slot->word[at]);
	}
	slot->sample.hash = h;
	return 0;
}

static __always_inline void op_hash_stack(struct op_slot *slot)
{
	struct op_hash h = { { op_settings.hash_seed, ~op_settings.hash_seed } };
	__u32 words = slot->unwind.out.words;
	__u32 number = slot->number;
	__u32 from;

	op_hash_add(&h, (__u64)slot->record.pid << 32 | slot->record.generation);
	op_hash_add(&h, (__u64)slot->unwind.out.words_user << 16 | slot->unwind.end);
	slot->sample.hash = h;
	for (from = 0; from < OP_WORDS_MAX && from < words; from += OP_HASH_WORDS)
		(void)op_hash_some(number, from);
	h = slot->sample.hash;
	op_hash_end(&h);
	slot->sample.hash = h;
}

/* Send the slot's stack. Returns whether the ring took it. */
static __always_inline bool op_announce(struct op_slot *slot)
{
	struct op_unwind *u = &slot->unwind;
	struct op_record *r = &slot->record;
	__u32 bytes = sizeof(*r) + u->out.words * 8;

	op_platform_bound(bytes);
	if (bytes > sizeof(*r) + sizeof(slot->word))
		return false;
	r->end = u->end;
	r->end_pc = u->end_pc;
	r->user_frames = (__u16)u->out.frames;
	r->user_words = (__u16)(u->out.words - u->out.words_user);
	r->hash = slot->sample.hash;
	r->header.type = OP_RECORD_STACK;
	r->header.version = OP_RECORD_VERSION;
	r->header.bytes = bytes;
	if (bpf_ringbuf_output(&op_ring, r, bytes, op_ring_wakeup()))
		return false;
	op_count(slot->sample.event, OP_COUNT_ANNOUNCED);
	return true;
}

/* Is the slot's stack announced in this window? If not, announce it. True if the ring
 * took it. */
static __always_inline bool op_announced_now(struct op_slot *slot)
{
	struct op_control *control = op_control();
	__u32 window = control ? control->window : 0;
	__u32 *known = bpf_map_lookup_elem(&op_announced, &slot->sample.hash);

	if (known && *known == window)
		return true;
	if (!op_announce(slot))
		return false;
	(void)bpf_map_update_elem(&op_announced, &slot->sample.hash, &window, BPF_ANY);
	return true;
}

/* A sample, and the parts that are sent with it. */
struct op_held_sample {
	struct op_named named;
	struct op_thread_context context;
};

/* Samples whose events have not ended. Only an object of a kind that holds samples has
 * this map. */
struct {
	__uint(type, BPF_MAP_TYPE_HASH);
	__uint(max_entries, OP_HELD_MAX);
	__type(key, __u64);
	__type(value, struct op_held_sample);
} op_held SEC(".maps");

_Static_assert(sizeof(struct op_held_sample) ==
		       __builtin_offsetof(struct op_slot, text) -
			       __builtin_offsetof(struct op_slot, sample),
	       "a slot has one");

/* The number of bytes of a sample that are sent. With a mask, because a branch is one
 * more path for the verifier. */
static __always_inline __u32 op_named_bytes(const struct op_named *s)
{
	return sizeof(*s) + (s->context_bytes & sizeof(struct op_thread_context));
}

/* The end of an event was missed, so its sample is lost. */
static __always_inline void op_held_lost(__u32 event)
{
	op_count(event, OP_COUNT_TAKEN);
	op_count(event, OP_COUNT_NESTED);
}

/* No sample waits for the event that begins under @key. A sample that still waits for
 * an earlier one must not get it. */
static __always_inline void op_forget(__u32 event, __u64 key)
{
	if (!bpf_map_delete_elem(&op_held, &key))
		op_held_lost(event);
}

/* Hold the slot's sample until its event ends. Its time begins here: the walk's time is
 * not a part of the event. */
static __always_inline void op_hold(struct op_slot *slot)
{
	/* the slot's members are those of the held sample */
	struct op_named *s = &slot->sample;
	__u32 lost = OP_COUNT_RING_FULL;
	int r; /* before 6.4 the upper half is not set */

	if (op_announced_now(slot)) {
		lost = OP_COUNT_NO_MEMORY;
		s->time_ns = bpf_ktime_get_ns();
		r = (int)bpf_map_update_elem(&op_held, &slot->held, s, BPF_NOEXIST);
		if (r == -OP_EEXIST) {
			op_held_lost(s->event);
			r = (int)bpf_map_update_elem(&op_held, &slot->held, s, BPF_ANY);
		}
		if (!r)
			return;
	}
	op_forget(s->event, slot->held);
	op_count(s->event, OP_COUNT_TAKEN);
	op_count(s->event, lost);
}

/* Send slot @number's sample by name. Global, so that the verifier checks the loop over
 * its words once, and not for each way in which a walk may end. */
__attribute__((noinline)) int op_send_named(__u32 number);
__attribute__((noinline)) int op_send_named(__u32 number)
{
	struct op_slot *slot = op_slot_at(number);
	const struct op_record *r;
	struct op_named *s;

	if (!slot)
		return 0;
	s = &slot->sample;
	r = &slot->record;
	s->header.type = OP_RECORD_NAMED;
	s->header.version = OP_RECORD_VERSION;
	s->context_bytes = slot->context_bytes;
	s->header.bytes = sizeof(*s) + slot->context_bytes;
	s->time_ns = r->time_ns;
	s->value = r->value;
	s->cgroup = r->cgroup;
	s->pid = r->pid;
	s->tid = r->tid;
	s->cpu = r->cpu;
	s->hits = (__u16)r->hits;
	s->event = r->event;
	s->detail = r->detail;
	__builtin_memcpy(s->comm, r->comm, sizeof(s->comm));
	op_hash_stack(slot);
	if (op_settings.holds)
		op_hold(slot);
	else if (!op_announced_now(slot) ||
		 bpf_ringbuf_output(&op_ring, s, op_named_bytes(s), op_ring_wakeup()))
		op_count(s->event, OP_COUNT_RING_FULL);
	else
		op_count(s->event, OP_COUNT_OUTPUT);
	return 0;
}

/* Request the table that the walk lacked, unless it was requested a short time ago. */
static __always_inline void op_send_request(struct op_slot *slot)
{
	__u32 pid = slot->record.pid;
	__u64 now = slot->record.time_ns;
	__u64 *last = bpf_map_lookup_elem(&op_requests, &pid);
	struct op_unwind_table_request q;

	if (last && now - *last < OP_REQUEST_EVERY_NS)
		return;
	(void)bpf_map_update_elem(&op_requests, &pid, &now, BPF_ANY);
	q.header.type = OP_RECORD_REQUEST;
	q.header.version = OP_RECORD_VERSION;
	q.header.bytes = sizeof(q);
	q.time_ns = now;
	q.pc = slot->unwind.end_pc ? slot->unwind.end_pc : slot->registers.pc;
	q.pid = pid;
	q.generation = slot->record.generation;
	if (!bpf_ringbuf_output(&op_ring, &q, sizeof(q), BPF_RB_FORCE_WAKEUP))
		op_count(slot->record.event, OP_COUNT_REQUESTED);
}

#endif
