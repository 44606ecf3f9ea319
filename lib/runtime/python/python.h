/* SPDX-License-Identifier: Apache-2.0 */
/* CPython 3.6 to 3.14. See docs/runtimes/python.md. */
#ifndef OP_RUNTIME_PYTHON_PYTHON_H
#define OP_RUNTIME_PYTHON_PYTHON_H

#include "runtime/runtime.h"

extern const struct op_runtime_ops op_runtime_python;

#endif
