/* SPDX-License-Identifier: Apache-2.0 */
/* What is kept of a Go process between two snapshots of its heap, and when it is given up. */
#include "parts/goroutines/process.h"
#include "test.h"

/* Its allocations were never told of, so that all it has is still new when it is first read. */
static void test_forget_before_first(void)
{
	struct op_golang_process process = { .heap_whole = true };

	op_golang_process_forget_heap(&process);
	CHECK(!process.heap_old);
}

/* What it had may have been told of. */
static void test_forget_after_first(void)
{
	struct op_golang_process process = { .heap_round = 3, .heap_known = true };

	CHECK(op_map64_put(&process.heap_allocs, 7, 1) == 0);
	op_golang_process_forget_heap(&process);
	CHECK(process.heap_old && !process.heap_known && !process.heap_round);
	CHECK_INT(process.heap_allocs.len, 0);
	/* and stays so where that is done again */
	op_golang_process_forget_heap(&process);
	CHECK(process.heap_old);
}

TEST_MAIN({ "forget_before_first", test_forget_before_first },
	  { "forget_after_first", test_forget_after_first })
