/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A Go process of any content. Input: a head, and pieces of its memory, each with its
 * address. The inputs "recorded" are of real processes (tests/live/kinds/goroutines/recorded.py): what
 * the reader needs of a few goroutines.
 */
#include "op_user_types.h"
#include "runtime/go/goroutine.h"
#include "runtime/go/variables.h"

#include "pieces.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum {
	GOROUTINES = 512,
	READS_MAX = 200000,
};

static void try_reasons(const struct op_memory *memory, uint64_t at)
{
	struct op_go_reasons reasons;
	size_t i;

	op_go_read_reasons(memory, at, &reasons);
	for (i = 0; i < OP_GO_REASONS_MAX; i++)
		if (strnlen(reasons.text[i], OP_GO_REASON_BYTES) == OP_GO_REASON_BYTES)
			abort();
}

static void try_goroutine(const struct op_memory *memory,
			  const struct op_go_layout *layout, uint64_t address)
{
	static uint8_t stack[OP_GO_STACK_BYTES];
	struct op_goroutine g;
	size_t below;
	size_t len;

	if (op_goroutine_read(memory, layout, address, &g) != 1)
		return;
	if (g.lo >= g.hi || g.state > OP_GOROUTINE_STATES || !op_goroutine_same(&g, &g))
		abort();
	if (!op_goroutine_is_parked(&g) ||
	    op_goroutine_stack(memory, &g, stack, &len, &below) < 0)
		return;
	if (!len || len > sizeof(stack) || below > len || g.sp - below < g.lo ||
	    g.sp - below + len > g.hi)
		abort();
}

static void try_list(const struct op_memory *memory, const struct op_go_layout *layout,
		     uint64_t allgs)
{
	struct op_go_slice slice;
	uint64_t i;

	if (op_go_read_allgs(memory, allgs, &slice) < 0)
		return;
	for (i = 0; i < slice.len && i < GOROUTINES; i++) {
		uint64_t address;

		if (op_memory_read(memory, slice.at + i * sizeof(address), &address,
				   sizeof(address)) == 0)
			try_goroutine(memory, layout, address);
	}
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct op_reader r = op_reader_init(data, size);
	uint32_t minor = op_read_u32(&r);
	uint64_t start = op_read_u64(&r);
	uint64_t end = op_read_u64(&r);
	const struct op_go_layout *layout = op_go_layout(minor);
	struct op_go_places places = { 0 };
	struct pieces in;

	pieces_init(&in, &r, READS_MAX);
	if (!layout)
		return 0;
	if (op_go_scan(&in.memory, layout, start, end, &places) < 0)
		return 0;
	try_list(&in.memory, layout, places.allgs ? places.allgs : start);
	try_reasons(&in.memory, places.reasons ? places.reasons : start);
	return 0;
}
