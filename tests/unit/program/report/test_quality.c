/* SPDX-License-Identifier: Apache-2.0 */
/* Which frames count as nameless. */
#include "export/format/collect/classes.h"

#include <string.h>

#include "test.h"

/* An address in place of a name is none, whatever stands before it. */
static void test_placeholders_are_no_names(void)
{
	static const char *const none[] = {
		"libc.so.6+0x1f", "[anon]+0xabc", "0x1f",
		"python@0x7f01",  "java@0xf4cc",  "[kernel]"
	};
	static const char *const named[] = { "main", "operator+", "f@0x",
					     "0x",   "a@0xg",	  "python@7f01" };
	size_t i;

	for (i = 0; i < sizeof(none) / sizeof(none[0]); i++)
		CHECK(op_frame_is_unnamed(none[i], strlen(none[i])));
	for (i = 0; i < sizeof(named) / sizeof(named[0]); i++)
		CHECK(!op_frame_is_unnamed(named[i], strlen(named[i])));
}

/* This profiler's own programs, and no other's. */
static void test_own_programs(void)
{
	static const char ours[] = "bpf_prog_6deef7357e7b4530_op_cpu_whole";
	static const char *const others[] = { "bpf_prog_6deef7357e7b4530_op",
					      "bpf_prog_6deef7357e7b4530_trace_op_x",
					      "bpf_prog_", "op_cpu_whole", "" };
	size_t i;

	CHECK(op_frame_is_ours(ours, strlen(ours)));
	for (i = 0; i < sizeof(others) / sizeof(others[0]); i++)
		CHECK(!op_frame_is_ours(others[i], strlen(others[i])));
}

TEST_MAIN({ "placeholders_are_no_names", test_placeholders_are_no_names },
	  { "own_programs", test_own_programs })
