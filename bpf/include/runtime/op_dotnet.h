/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * .NET (CoreCLR): what the step needs to know of a process, and the words of its frames. The
 * layouts below are those of .NET 8, 9 and 10.
 *
 * A frame has three words:
 *   word 0  the address of the MethodDesc
 *   word 1  low half: the offset of the pc in the method's code; high half: op_dotnet_guard()
 *   word 2  the address of the method's code
 * The step names generated code alone. Code that was compiled ahead of time stands in files,
 * which have tables and names of their own.
 */
#ifndef OP_DOTNET_H
#define OP_DOTNET_H

enum {
	OP_DOTNET_FRAME_WORDS = 3,
	/* RangeSectionMap: five levels of 256 pointers; bit 0 of a pointer is a flag */
	OP_DOTNET_LEVELS = 5,
	OP_DOTNET_LEVEL_BITS = 8,
	OP_DOTNET_RANGE_BITS = 17, /* of an address, below the levels */
	/* RangeSectionFragment: next, [begin, end), section */
	OP_DOTNET_FRAGMENT_BYTES = 32,
	OP_DOTNET_SECTION_IMAGE = 0x20, /* RangeSection: its R2RModule, or 0 */
	OP_DOTNET_SECTION_HEAP = 0x28,	/* its HeapList, or 0 */
	/* HeapList: the address that the map of methods begins at, and that map */
	OP_DOTNET_HEAP_BASE = 0x20,
	/* RealCodeHeader: debug info, handlers, GC info, MethodDesc; the number of unwind
	 * records, and these: begin, end and place of the data */
	OP_DOTNET_HEADER_UNWIND = 0x24,
	OP_DOTNET_UNWIND_BYTES = 12,
	OP_DOTNET_STUB_MAX = 15, /* a header that is no address but the kind of a stub */
	/* the map of methods: 4 bytes for 256 bytes of code, a nibble for 32 */
	OP_DOTNET_BUCKET_BITS = 5,
	OP_DOTNET_MAP_WORD_BITS = 8,
};

/* What the step needs to know of a process. */
struct op_dotnet {
	__u64 ranges; /* address of the RangeSectionMap */
};

_Static_assert(sizeof(struct op_dotnet) == 8, "the size is fixed");

/* 32 bits of a method's header that differ from those of later code at its address. */
static inline __attribute__((always_inline)) __u32 op_dotnet_guard(__u64 debug, __u64 gc,
								   __u64 method)
{
	__u64 mix = debug * 0x9e3779b97f4a7c15ULL;

	mix = (mix ^ mix >> 29 ^ gc) * 0xbf58476d1ce4e5b9ULL;
	mix = (mix ^ mix >> 32 ^ method) * 0x94d049bb133111ebULL;
	return (__u32)(mix >> 32);
}

#endif
