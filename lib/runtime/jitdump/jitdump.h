/* SPDX-License-Identifier: Apache-2.0 */
/* Names generated code by jitdump files. See docs/runtimes/jit.md. */
#ifndef OP_RUNTIME_JITDUMP_JITDUMP_H
#define OP_RUNTIME_JITDUMP_JITDUMP_H

#include "runtime/runtime.h"

extern const struct op_runtime_ops op_runtime_jitdump;

#endif
