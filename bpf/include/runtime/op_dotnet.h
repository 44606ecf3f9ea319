/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * .NET (CoreCLR): the data that the step needs for a process, and the words of its
 * frames. The layouts below are those of .NET 8, 9 and 10.
 *
 * A frame has three words:
 *   word 0  the address of the MethodDesc
 *   word 1  low half: the offset of the pc in the method's code; high half: op_dotnet_guard()
 *   word 2  the address of the method's code
 * With word 2 == 0 it is an async method that awaits the one before it:
 *   word 0  the address of its state machine's MethodTable
 *   word 1  high half: the row of that type
 * The step names only generated code. Code that was compiled ahead of time is in files, which
 * have tables and names of their own.
 */
#ifndef OP_DOTNET_H
#define OP_DOTNET_H

enum {
	OP_DOTNET_FRAME_WORDS = 3,
	/* RangeSectionMap: five levels of 256 pointers; bit 0 of a pointer is a flag */
	OP_DOTNET_LEVELS = 5,
	OP_DOTNET_LEVEL_BITS = 8,
	OP_DOTNET_RANGE_BITS = 17, /* bits of an address below the levels */
	/* RangeSectionFragment: next, [begin, end), section */
	OP_DOTNET_FRAGMENT_BYTES = 32,
	OP_DOTNET_SECTION_IMAGE = 0x20, /* RangeSection: its R2RModule, or 0 */
	OP_DOTNET_SECTION_HEAP = 0x28,	/* its HeapList, or 0 */
	/* HeapList: the address from which the map of methods counts, and that map */
	OP_DOTNET_HEAP_BASE = 0x20,
	/* RealCodeHeader: debug info, handlers, GC info, MethodDesc, the number of unwind
	 * records, then the records: begin, end and place of the data */
	OP_DOTNET_HEADER_UNWIND = 0x24,
	OP_DOTNET_UNWIND_BYTES = 12,
	/* a header up to this is the kind of a stub, not an address */
	OP_DOTNET_STUB_MAX = 15,
	/* the map of methods: 4 bytes for 256 bytes of code, a nibble for 32 */
	OP_DOTNET_BUCKET_BITS = 5,
	OP_DOTNET_MAP_WORD_BITS = 8,
	/* MethodDesc: its index in the chunk, which begins with the MethodTable */
	OP_DOTNET_METHOD_CHUNK = 2,
	OP_DOTNET_METHOD_ALIGN = 8,
	OP_DOTNET_CHUNK_BYTES = 24,
	/* MethodTable: 32 bits with the row of its type in the upper ones; Module */
	OP_DOTNET_TABLE_ROW = 8,
	OP_DOTNET_TABLE_MODULE = 24,
	OP_DOTNET_AWAITS_MAX = 64, /* tasks on the way through methods that await */
};

/* The data that the step needs for a process. */
struct op_dotnet {
	__u64 ranges; /* address of the RangeSectionMap */
	/* Of tasks; 0: what awaits them is not followed. */
	__u64 core;	   /* Module of System.Private.CoreLib */
	__u32 box;	   /* row of the type AsyncStateMachineBox`1 */
	__u8 continuation; /* in Task: who awaits it */
	__u8 state;	   /* in Task: 32 flags */
	__u8 row_bits;	   /* bits below the row of a MethodTable's type */
	__u8 reserved;
};

_Static_assert(sizeof(struct op_dotnet) == 24, "the size is fixed");

/* 32 bits of a method's header that differ in later code at the same address. */
static inline __attribute__((always_inline)) __u32 op_dotnet_guard(__u64 debug, __u64 gc,
								   __u64 method)
{
	__u64 mix = debug * 0x9e3779b97f4a7c15ULL;

	mix = (mix ^ mix >> 29 ^ gc) * 0xbf58476d1ce4e5b9ULL;
	mix = (mix ^ mix >> 32 ^ method) * 0x94d049bb133111ebULL;
	return (__u32)(mix >> 32);
}

#endif
