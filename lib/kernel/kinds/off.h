/* SPDX-License-Identifier: Apache-2.0 */
/* Shared by the kinds that sample intervals (bpf/event/off). */
#ifndef OP_KERNEL_KINDS_OFF_H
#define OP_KERNEL_KINDS_OFF_H

#include "kernel/kinds/kind.h"

/* The tracepoint in the interrupt of irq_work, at which their entry programs run. */
#if defined(__x86_64__)
#define OP_KIND_INTERRUPT "irq_work_entry"
#else
#define OP_KIND_INTERRUPT "ipi_entry"
#endif

/* The map in which kinds of off/off.h note the threads that are off the CPUs. */
#define OP_KIND_OFF_BEGUN "op_off_threads"
/* Is @kind one of them? */
bool op_kind_notes_threads(const struct op_kind *kind);

/* Names by enum op_off_reason. */
extern const char *const op_kind_off_reasons[OP_REASONS];

/* op_kind.size of three groups: kinds that note the threads that are off the CPUs,
 * kinds that ask for interrupts (bpf/event/off/kick.h), and kinds that do both. */
int op_kind_threads_size(struct bpf_object *object, const struct op_kind_sizes *sizes);
int op_kind_kicks_size(struct bpf_object *object, const struct op_kind_sizes *sizes);
int op_kind_off_size(struct bpf_object *object, const struct op_kind_sizes *sizes);

/* The type of the lock, as an attribute of the kinds of waits for locks. Names by enum
 * op_lock_type. */
#define OP_KIND_LOCK_KEY "lock.type"
extern const char *const op_kind_lock_types[OP_LOCK_TYPES];

#endif
