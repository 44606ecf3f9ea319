/* SPDX-License-Identifier: Apache-2.0 */
/* OpenJDK's HotSpot, JDK 8 to 27. See docs/runtimes/hotspot.md. */
#ifndef OP_RUNTIME_HOTSPOT_HOTSPOT_H
#define OP_RUNTIME_HOTSPOT_HOTSPOT_H

#include "runtime/runtime.h"

extern const struct op_runtime_ops op_runtime_hotspot;

#endif
