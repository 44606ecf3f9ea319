/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The list of steps: a new runtime adds one include and one case. */
#ifndef OP_STEP_H
#define OP_STEP_H

#include "bpf/runtime/beam.h"
#include "bpf/runtime/dotnet/dotnet.h"
#include "bpf/runtime/hotspot.h"
#include "bpf/runtime/lua.h"
#include "bpf/runtime/node.h"
#include "bpf/runtime/perl.h"
#include "bpf/runtime/php.h"
#include "bpf/runtime/python.h"
#include "bpf/runtime/ruby.h"
#include "bpf/walk/native.h"

/* Advance the walk by step @step. @runtimes is op_settings.runtimes_on; in the kernel it is
 * a constant, so that the verifier drops what is not included. */
static __always_inline enum op_next op_step_of(struct op_unwind *u, __u32 step,
					       __u64 runtimes)
{
	switch (step) {
	case OP_STEP_NATIVE:
		return op_step_native(u);
	case OP_STEP_GUESS:
		return op_step_guess(u);
	case OP_RUNTIME_PYTHON:
		if (runtimes & (1ULL << OP_RUNTIME_PYTHON))
			return op_step_python(u, runtimes & OP_STEPS_AWAIT);
		break;
	case OP_RUNTIME_PHP:
		if (runtimes & (1ULL << OP_RUNTIME_PHP))
			return op_step_php(u);
		break;
	case OP_RUNTIME_HOTSPOT:
		if (runtimes & (1ULL << OP_RUNTIME_HOTSPOT))
			return op_step_hotspot(u);
		break;
	case OP_RUNTIME_NODE:
		if (runtimes & (1ULL << OP_RUNTIME_NODE))
			return op_step_node(u, runtimes & OP_STEPS_AWAIT);
		break;
	case OP_RUNTIME_RUBY:
		if (runtimes & (1ULL << OP_RUNTIME_RUBY))
			return op_step_ruby(u, runtimes & OP_STEPS_AWAIT);
		break;
	case OP_RUNTIME_DOTNET:
		if (runtimes & (1ULL << OP_RUNTIME_DOTNET))
			return op_step_dotnet(u, runtimes & OP_STEPS_AWAIT);
		break;
	case OP_RUNTIME_PERL:
		if (runtimes & (1ULL << OP_RUNTIME_PERL))
			return op_step_perl(u);
		break;
	case OP_RUNTIME_BEAM:
		if (runtimes & (1ULL << OP_RUNTIME_BEAM))
			return op_step_beam(u);
		break;
	case OP_RUNTIME_LUA:
		if (runtimes & (1ULL << OP_RUNTIME_LUA))
			return op_step_lua(u);
		break;
	}
	/* the step of this runtime is not loaded: its frames stay native */
	return op_leave_runtime(u, 1);
}

/* Advance the walk by one step. */
static __always_inline enum op_next op_step(struct op_unwind *u, __u64 runtimes)
{
	return op_step_of(u, u->step, runtimes);
}

#endif
