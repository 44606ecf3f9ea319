/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* What the .NET step and its way through tasks share. */
#ifndef OP_DOTNET_FRAME_H
#define OP_DOTNET_FRAME_H

#include "bpf/walk/unwind.h"
#include "op_dotnet.h"

/* Numbers of op_state(u)->word. */
enum {
	OP_DN_BEGIN = 0, /* [begin, end) of the heap that was used last */
	OP_DN_END = 1,
	OP_DN_BASE = 2,	  /* the address from which its map of methods counts */
	OP_DN_MAP = 3,	  /* that map */
	OP_DN_SCAN = 4,	  /* words of the map read for this pc */
	OP_DN_START = 5,  /* start of the pc's method; 0: not found yet */
	OP_DN_DATA = 6,	  /* unwind data of the pushed method; 0: none was pushed */
	OP_DN_OFFSET = 7, /* the pc's offset in the code that the data describes */
	/* await/dotnet.h */
	OP_DN_OBJECT = 8,
	OP_DN_AWAIT = 9,
};

enum {
	OP_DN_MAP_BYTES = 64, /* bytes of the map read in a step: 4 KiB of code */
	OP_DN_MAP_WORDS = OP_DN_MAP_BYTES / 4,
	OP_DN_SCAN_MAX = 256 * OP_DN_MAP_WORDS, /* 1 MiB of code, the longest method */
	OP_DN_FRAGMENTS = 3,
	OP_DN_PARTS = 12,      /* unwind records of a method: itself and its handlers */
	OP_DN_CODES = 24,      /* words of unwind codes */
	OP_DN_OPERATIONS = 11, /* pushes or saves, two allocations, a frame register */
	OP_DN_UNWIND_MASK = 126,
	/* of runtime_bytes */
	OP_DN_RECORDS = OP_DOTNET_HEADER_UNWIND,
	OP_DN_UNWIND = 0,
	OP_DN_EPILOG = 128,
	OP_DN_EPILOG_BYTES = 32, /* from OP_DN_BEFORE bytes before the pc on */
	OP_DN_BEFORE = 8,
	OP_DN_POPS = 7,
	/* unwind operations */
	OP_DN_PUSH = 0,
	OP_DN_ALLOC_LARGE = 1,
	OP_DN_ALLOC = 2,
	OP_DN_SET_FP = 3,
	OP_DN_SAVE = 4, /* of a register that the walk does not need */
	OP_DN_SET_FP_LARGE = 11,
	OP_DN_KNOWN = 1 << 0 | 1 << 1 | 1 << 2 | 1 << 3 | 1 << 4 | 1 << 11,
	OP_DN_RBP = 5, /* the number of rbp in unwind codes and instructions */
};

/* A method's frame while it is unwound. */
struct op_dn_frame {
	__u64 sp;
	__u64 fp_at; /* where the caller's fp is saved; 0: it is in fp */
	/* of the pc in its code; in a handler it counts from the handler's start */
	__u64 offset;
};

static __always_inline __u64 op_dn_word(struct op_unwind *u, __u32 off)
{
	return *(__u64 *)(u->runtime_bytes + (off & (OP_RUNTIME_BYTES - 8)));
}

static __always_inline __u32 op_dn_half(struct op_unwind *u, __u32 off)
{
	return *(__u32 *)(u->runtime_bytes + (off & (OP_RUNTIME_BYTES - 4)));
}

static __always_inline __u32 op_dn_byte(struct op_unwind *u, __u32 off)
{
	return u->runtime_bytes[off & (OP_RUNTIME_BYTES - 1)];
}

/* @yes if @condition is 1, @no if it is 0, without a branch: the verifier would follow
 * both sides. */
static __always_inline __u64 op_dn_pick(__u64 condition, __u64 yes, __u64 no)
{
	op_platform_bound(condition);
	return no ^ ((yes ^ no) & -condition);
}

/* 1 if a < b, 0 if not, without a branch. Both are below 1 << 63. */
static __always_inline __u64 op_dn_less(__u64 a, __u64 b)
{
	return (a - b) >> 63;
}

/* 1 if a == b, 0 if not, likewise. */
static __always_inline __u64 op_dn_is(__u64 a, __u64 b)
{
	return ((a ^ b) - 1) >> 63;
}

#endif
