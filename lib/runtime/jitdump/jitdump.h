/* SPDX-License-Identifier: Apache-2.0 */
/* Code that its maker tells of in a jitdump file. See docs/runtimes/jit.md. */
#ifndef OP_RUNTIME_JITDUMP_JITDUMP_H
#define OP_RUNTIME_JITDUMP_JITDUMP_H

#include "runtime/runtime.h"

extern const struct op_runtime_ops op_runtime_jitdump;

#endif
