/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Data of the kind heap: in records, in the kernel's maps, and in static probes. */
#ifndef OP_HEAP_H
#define OP_HEAP_H

/*
 * op_record.value of OP_EVENT_HEAP. The low OP_HEAP_BYTES_BITS bits: how many bytes the
 * sample stands for. Above them is the size of the allocation as a small floating-point
 * number, OP_HEAP_DIGITS binary digits and then a shift: exact below 512 KiB, and within
 * 4 in a million from there on.
 */
#define OP_HEAP_BYTES_BITS 40
#define OP_HEAP_BYTES_MAX  ((1ULL << OP_HEAP_BYTES_BITS) - 1)
enum {
	OP_HEAP_DIGITS = 19,
	OP_HEAP_LIVE_MAX = 32768,	/* sampled addresses in use, of all processes */
	OP_HEAP_LIVE_A_PROCESS = 16384, /* the same, of one process */
	OP_HEAP_PROCESSES_MAX = 4096,	/* processes that have any */
	OP_HEAP_ALL = 0,		/* the pid of no process that allocates */
	OP_HEAP_OCTAVES = 9,
	OP_HEAP_STEPS = 4, /* of an octave */
	OP_HEAP_USUAL_SHIFT = 6,
	OP_HEAP_USUAL_AT_MOST = 4,
};

/*
 * A table for @limit samples, a power of two, never gets full. Beyond its first half it
 * takes a smaller and smaller share of new samples, each with a larger weight. Returns
 * how often the weight has doubled when it holds @held. Four steps halve the free
 * space, and each of them doubles the weight.
 */
static inline __attribute__((always_inline)) __u32 op_heap_doublings(__u32 held,
								     __u32 limit)
{
	__u32 half = limit / 2;
	__u32 room;
	__u32 i;

	if (held < half)
		return 0;
	room = held < limit ? limit - held : 1;
	for (i = 0; i < OP_HEAP_OCTAVES && room <= half / 2; i++)
		half /= 2;
	return 1 + i * OP_HEAP_STEPS + (half - room) * 2 * OP_HEAP_STEPS / half;
}

/* A table's use by samples. */
struct op_heap_use {
	__u32 held;
	__u32 reserved0;
	__u64 usual; /* the typical weight of a new sample */
};

/* A sample of @weight comes. */
static inline __attribute__((always_inline)) void op_heap_use_see(struct op_heap_use *use,
								  __u64 weight)
{
	__u64 usual = use->usual;

	if (!usual)
		usual = weight;
	else if (weight > OP_HEAP_USUAL_AT_MOST * usual)
		weight = OP_HEAP_USUAL_AT_MOST * usual;
	if (weight > usual)
		usual += ((weight - usual) >> OP_HEAP_USUAL_SHIFT) + 1;
	else
		usual -= (usual - weight) >> OP_HEAP_USUAL_SHIFT;
	use->usual = usual;
}

/* The threshold of a table: a sample with a smaller weight is kept with the probability
 * weight / threshold, and then stands for the threshold. So sums are the same on
 * average. */
static inline __attribute__((always_inline)) __u64
op_heap_threshold(const struct op_heap_use *use, __u32 limit)
{
	__u32 n = op_heap_doublings(use->held, limit);
	__u64 threshold;

	if (!n)
		return 0;
	if (n >= 64 - OP_HEAP_BYTES_BITS)
		return OP_HEAP_BYTES_MAX;
	threshold = (use->usual & OP_HEAP_BYTES_MAX) << n;
	return threshold < OP_HEAP_BYTES_MAX ? threshold : OP_HEAP_BYTES_MAX;
}

static inline __attribute__((always_inline)) __u64 op_heap_value(__u64 size, __u64 weight)
{
	__u64 shift = 0;

	if (size > OP_HEAP_BYTES_MAX)
		size = OP_HEAP_BYTES_MAX;
	if (weight > OP_HEAP_BYTES_MAX)
		weight = OP_HEAP_BYTES_MAX;
	if (size >> (OP_HEAP_DIGITS + 15)) {
		size >>= 16;
		shift = 16;
	}
	if (size >> (OP_HEAP_DIGITS + 7)) {
		size >>= 8;
		shift += 8;
	}
	if (size >> (OP_HEAP_DIGITS + 3)) {
		size >>= 4;
		shift += 4;
	}
	if (size >> (OP_HEAP_DIGITS + 1)) {
		size >>= 2;
		shift += 2;
	}
	if (size >> OP_HEAP_DIGITS) {
		size >>= 1;
		shift += 1;
	}
	return weight | size << OP_HEAP_BYTES_BITS |
	       shift << (OP_HEAP_BYTES_BITS + OP_HEAP_DIGITS);
}

/* The size of the allocation in @value; at least 1. */
static inline __attribute__((always_inline)) __u64 op_heap_size(__u64 value)
{
	__u64 size = value >> OP_HEAP_BYTES_BITS & ((1ULL << OP_HEAP_DIGITS) - 1);

	size <<= value >> (OP_HEAP_BYTES_BITS + OP_HEAP_DIGITS);
	return size ? size : 1;
}

/* A sampled allocation that is still in use. The time and the thread are those of its
 * sample. */
struct op_heap_live {
	__u64 time_ns;
	__u64 value; /* as op_record.value */
	__u32 pid;
	__u32 tid;
};

/* Where an argument of a static probe is when the probe is hit. */
enum op_argument_place {
	OP_ARGUMENT_CONSTANT = 0,
	OP_ARGUMENT_REGISTER,
	OP_ARGUMENT_MEMORY,  /* at register + offset */
	OP_ARGUMENT_CALL,    /* no value: a call begins, which is noted */
	OP_ARGUMENT_LATENCY, /* latency: ns since the call that returns began */
};

enum {
	OP_ARGUMENTS_MAX = 12,
};

struct op_argument {
	__s64 offset;	/* CONSTANT: the value */
	__u16 reg;	/* offset into struct pt_regs, in bytes */
	__u8 place;	/* enum op_argument_place */
	__u8 bytes;	/* width in bytes: 1, 2, 4, 8 */
	__u8 is_signed; /* an argument narrower than 8 bytes is sign-extended */
	__u8 is_text;	/* the address of a string of the process */
	__u8 reserved0[2];
};

_Static_assert(sizeof(struct op_heap_live) == 24, "layout");
_Static_assert(sizeof(struct op_heap_use) == 16, "layout");
_Static_assert(sizeof(struct op_argument) == 16, "layout");

#endif
