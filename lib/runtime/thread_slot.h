/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a thread keeps the value of a pthread key (pthread_getspecific), as an offset
 * from its thread pointer. glibc publishes the layout for debuggers (nptl_db's
 * _thread_db_*); musl's is read from the machine code of its pthread_getspecific.
 */
#ifndef OP_RUNTIME_THREAD_SLOT_H
#define OP_RUNTIME_THREAD_SLOT_H

#include <stdint.h>

#include "runtime/runtime.h"

/* The value is at *(thread pointer + at) + block. */
struct op_thread_slot {
	int32_t at;
	int32_t block;
};

/* Returns 0; -ENOENT if the process has no known libc; or -errno. */
int op_runtime_thread_slot(const struct op_runtime_target *target, uint32_t key,
			   struct op_thread_slot *ret);

#endif
