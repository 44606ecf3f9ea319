/* SPDX-License-Identifier: Apache-2.0 */
/* What the kinds share that sample intervals off the CPU (bpf/event/off/off.h). */
#ifndef OP_KIND_OFF_H
#define OP_KIND_OFF_H

#include "kind/kind.h"

/* The tracepoint in the interrupt of irq_work, at which their entry programs run. */
#if defined(__x86_64__)
#define OP_KIND_INTERRUPT "irq_work_entry"
#else
#define OP_KIND_INTERRUPT "ipi_entry"
#endif

/* Names by enum op_off_reason. */
extern const char *const op_kind_off_reasons[OP_REASONS];

/* The op_kind.size of these kinds. */
int op_kind_off_size(struct bpf_object *object, const struct op_kind_sizes *sizes);

#endif
