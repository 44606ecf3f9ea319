/* SPDX-License-Identifier: Apache-2.0 */
/* Reads what a BPF iterator over the tasks writes. */
#ifndef OP_PARTS_THREADS_ITERATE_H
#define OP_PARTS_THREADS_ITERATE_H

#include <stddef.h>
#include <stdint.h>

enum {
	OP_THREADS_READ_BYTES = 64 * 1024, /* a record is not longer */
};

/* Parses what a program writes: whole records, one after another. Returns how many bytes
 * of @bytes were used, or -errno. */
typedef int64_t (*op_threads_take_fn)(void *ctx, const uint8_t *bytes, size_t len);

/* Run the iterator @program (a descriptor) over all tasks and pass what it writes to
 * @take. Returns 0 or -errno. */
int op_threads_iterate(int program, op_threads_take_fn take, void *ctx);

#endif
