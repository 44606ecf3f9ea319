/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Finds where a thread keeps the value of a pthread key (pthread_getspecific) or a
 * variable of its own, as an offset from its thread pointer. For keys, glibc publishes
 * the layout for debuggers (nptl_db's _thread_db_*). musl's is read from the machine
 * code of its pthread_getspecific.
 */
#ifndef OP_RUNTIME_THREAD_SLOT_H
#define OP_RUNTIME_THREAD_SLOT_H

#include <stdint.h>

#include "code/elf/tls.h"
#include "runtime/runtime.h"

/* The value is at *(thread pointer + at) + block. */
struct op_thread_slot {
	int32_t at;
	int32_t block;
};

/* Returns 0; -ENOENT if the process has no known libc; or -errno. */
int op_runtime_thread_slot(const struct op_runtime_target *target, uint32_t key,
			   struct op_thread_slot *ret);
/* The place of the variable @tls of the target's file. Returns 0; -EAGAIN if it is not known
 * yet; or -errno. */
int op_runtime_thread_variable(const struct op_runtime_target *target,
			       const struct op_elf_tls *tls,
			       struct op_elf_tls_place *ret);

#endif
