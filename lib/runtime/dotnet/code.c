/* SPDX-License-Identifier: Apache-2.0 */
#include "runtime/dotnet/code.h"

#include <errno.h>

#include "op_user_types.h"

#include "op_dotnet.h"

enum {
	FRAGMENTS = 3,
	WORDS = 4096, /* words of the map of methods: 1 MiB of code */
	PIECE = 64,   /* words read at once */
	FAR = 8, /* above this lowest nibble the word has the distance to the method */
};

static int read_u64(const struct op_memory *memory, uint64_t addr, uint64_t *ret)
{
	return op_memory_read(memory, addr, ret, sizeof(*ret));
}

/* Find the fragment that holds @addr. */
static int find_fragment(const struct op_memory *memory, uint64_t ranges, uint64_t addr,
			 uint64_t ret[OP_DOTNET_FRAGMENT_BYTES / 8])
{
	uint32_t shift = OP_DOTNET_RANGE_BITS + OP_DOTNET_LEVELS * OP_DOTNET_LEVEL_BITS;
	uint64_t at = ranges;
	int i;
	int r;

	for (i = 0; i < OP_DOTNET_LEVELS; i++) {
		shift -= OP_DOTNET_LEVEL_BITS;
		r = read_u64(memory, at + (addr >> shift & 255) * 8, &at);
		at &= ~UINT64_C(1);
		if (r < 0 || !at)
			return r < 0 ? r : -ENOENT;
	}
	for (i = 0; i < FRAGMENTS && at; i++) {
		r = op_memory_read(memory, at, ret, OP_DOTNET_FRAGMENT_BYTES);
		if (r < 0)
			return r;
		if (addr >= ret[1] && addr < ret[2])
			return 0;
		at = ret[0] & ~UINT64_C(1);
	}
	return -ENOENT;
}

/* The last method in the map's word @w, in the code at @begin, that begins at or before
 * @addr. 0: none. */
static uint64_t last_method(uint32_t w, uint64_t base, uint64_t begin, uint64_t addr)
{
	int i;

	if ((w & 15) > FAR)
		return base + (w & ~15U) + ((w & 15) - FAR - 1) * 4;
	for (i = 7; i >= 0; i--) {
		uint32_t nibble = w >> (28 - 4 * i) & 15;
		uint64_t start = begin + ((uint64_t)i << OP_DOTNET_BUCKET_BITS) +
				 (nibble - 1) * 4ULL;

		if (nibble && start <= addr)
			return start;
	}
	return 0;
}

/* Find the start of the method that holds @addr. *@ret is 0 if there is none. */
static int find_start(const struct op_memory *memory, const uint64_t heap[2],
		      uint64_t addr, uint64_t *ret)
{
	uint64_t at = (addr - heap[0]) >> OP_DOTNET_MAP_WORD_BITS;
	uint64_t lowest = at < WORDS ? 0 : at - WORDS + 1;

	*ret = 0;
	for (;;) {
		uint64_t first = at < lowest + PIECE ? lowest : at - PIECE + 1;
		uint32_t words[PIECE];
		int r = op_memory_read(memory, heap[1] + first * 4, words,
				       (at - first + 1) * 4);

		if (r < 0)
			return r;
		for (;; at--) {
			uint64_t begin = heap[0] + (at << OP_DOTNET_MAP_WORD_BITS);

			*ret = words[at - first] ? last_method(words[at - first], heap[0],
							       begin, addr)
						 : 0;
			if (*ret || at == lowest)
				return 0;
			if (at == first)
				break;
		}
		at--;
	}
}

int op_runtime_dotnet_code(const struct op_memory *memory, uint64_t ranges, uint64_t addr,
			   uint64_t words[3])
{
	uint64_t fragment[OP_DOTNET_FRAGMENT_BYTES / 8];
	uint64_t header[4]; /* debug info, handlers, GC info, MethodDesc */
	uint64_t heap[2];   /* the address from which its map counts, and the map */
	uint64_t start;
	uint64_t at = 0;
	int r = find_fragment(memory, ranges, addr, fragment);

	if (r == 0)
		r = read_u64(memory, fragment[3] + OP_DOTNET_SECTION_HEAP, &at);
	if (r < 0 || !at)
		return r;
	r = op_memory_read(memory, at + OP_DOTNET_HEAP_BASE, heap, sizeof(heap));
	if (r < 0 || addr < heap[0])
		return r < 0 ? r : -ENOENT;
	r = find_start(memory, heap, addr, &start);
	if (r < 0 || !start)
		return r;
	r = read_u64(memory, start - 8, &at);
	if (r < 0 || at <= OP_DOTNET_STUB_MAX)
		return r;
	r = op_memory_read(memory, at, header, sizeof(header));
	if (r < 0)
		return r;
	words[0] = header[3] & OP_FRAME_ADDRESS_MASK;
	words[1] = (uint64_t)op_dotnet_guard(header[0], header[2], header[3]) << 32 |
		   (uint32_t)(addr - start);
	words[2] = start & OP_FRAME_ADDRESS_MASK;
	return 1;
}
