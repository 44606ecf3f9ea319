/* SPDX-License-Identifier: Apache-2.0 */
/* Node.js, and other programs with a V8 that publishes v8dbg_*. See
 * docs/runtimes/node.md. */
#ifndef OP_RUNTIME_NODE_NODE_H
#define OP_RUNTIME_NODE_NODE_H

#include "runtime/runtime.h"

extern const struct op_runtime_ops op_runtime_node;

#endif
