/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * What the kernel programs and user space share: the arena, the records in the ring buffer,
 * settings and counters. All members have fixed widths; there are no holes and no pointers.
 * Each runtime adds its own header beside this one (op_python.h).
 *
 * Includers provide the fixed-width types: bpf/kernel.h in programs, <stdint.h> through
 * op_user_types.h in user space.
 */
#ifndef OP_TYPES_H
#define OP_TYPES_H

#include "op_arena.h"
#include "op_context.h"
#include "op_control.h"
#include "op_events.h"
#include "op_heap.h"
#include "op_records.h"

#endif
