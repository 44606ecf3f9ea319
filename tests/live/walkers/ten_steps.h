/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ten runtimes in place of bpf/walk/step.h: to be included before it. The steps that there
 * are stand again under other numbers, each a copy for the verifier.
 */
#ifndef OP_STEP_H
#define OP_STEP_H

#include "bpf/event/settings.h"
#include "bpf/runtime/hotspot.h"
#include "bpf/runtime/node.h"
#include "bpf/runtime/php.h"
#include "bpf/runtime/python.h"
#include "bpf/runtime/ruby.h"
#include "bpf/walk/native.h"

#define TEST_STEP(number, step)                                                          \
	case number:                                                                     \
		if (!(runtimes & (1ULL << (number))))                                    \
			break;                                                           \
		return step(u)

/* As it is by default: tasks are not followed. */
static __always_inline enum op_next test_step_python(struct op_unwind *u)
{
	return op_step_python(u, false);
}

static __always_inline enum op_next test_step_ruby(struct op_unwind *u)
{
	return op_step_ruby(u, false);
}

static __always_inline enum op_next test_step_node(struct op_unwind *u)
{
	return op_step_node(u, false);
}

static __always_inline enum op_next op_step_of(struct op_unwind *u, __u32 step,
					       __u64 runtimes)
{
	switch (step) {
	case OP_STEP_NATIVE:
		return op_step_native(u);
	case OP_STEP_GUESS:
		return op_step_guess(u);
		TEST_STEP(1, test_step_python);
		TEST_STEP(2, op_step_php);
		TEST_STEP(3, op_step_hotspot);
		TEST_STEP(4, test_step_node);
		TEST_STEP(5, test_step_python);
		TEST_STEP(6, test_step_ruby);
		TEST_STEP(7, op_step_hotspot);
		TEST_STEP(8, test_step_node);
		TEST_STEP(9, test_step_python);
		TEST_STEP(10, op_step_php);
	}
	return op_leave_runtime(u, 1);
}

static __always_inline enum op_next op_step(struct op_unwind *u, __u64 runtimes)
{
	return op_step_of(u, u->step, runtimes);
}

#endif
