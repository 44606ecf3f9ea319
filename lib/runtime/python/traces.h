/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the compiled traces of a process, and the stub by which the loop enters them. */
#ifndef OP_RUNTIME_PYTHON_TRACES_H
#define OP_RUNTIME_PYTHON_TRACES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "runtime/runtime.h"

#include "op_python.h"

enum {
	OP_PYTHON_ENTRY_BYTES = 64, /* length of a stub at most; read of a page */
};

/* Is @code, which begins a page, the entry stub of a trace? Returns 1 and fills the
 * entry_* members of @ret, or 0. */
int op_runtime_python_entry(const uint8_t code[OP_PYTHON_ENTRY_BYTES],
			    struct op_python *ret);
/* Like update() of struct op_runtime_ops. @bpf is a struct op_python. *@ret_whole: all
 * code was examined. */
int op_runtime_python_traces(const struct op_runtime_target *target,
			     struct op_python *bpf, struct op_runtime_code *ret,
			     bool *ret_whole);

#endif
