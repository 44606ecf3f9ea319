/* SPDX-License-Identifier: Apache-2.0 */
/* The kind heap, allocations: docs/kinds/heap.md. lib/parts/heap loads and attaches its programs.
 * lib/parts/goroutines takes the allocations of Go programs. */
#include <linux/bpf.h>

#include "base/macros.h"
#include "kernel/kinds/kind.h"

#include "heap.object.h"

/* A sample's weight in bytes, divided by the allocation's size, is the number of
 * allocations. */
static double count(uint64_t value)
{
	return (double)(value & OP_HEAP_BYTES_MAX) / (double)op_heap_size(value);
}

const struct op_kind op_kind_heap = {
	.event = OP_EVENT_HEAP,
	.object = &op_heap_object,
	.program_type = BPF_PROG_TYPE_KPROBE,
	.slots = 3, /* the same as of probes */
	.with = UINT64_C(1) << OP_EVENT_HEAP_LIVE,
	.count = count,
};
