/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the output of a BPF iterator over the tasks. */
#ifndef OP_PARTS_THREADS_ITERATE_H
#define OP_PARTS_THREADS_ITERATE_H

#include <stddef.h>
#include <stdint.h>

enum {
	OP_THREADS_READ_BYTES = 64 * 1024, /* the longest record */
};

/* Parses a program's output: whole records, one after another. Returns how many bytes
 * of @bytes it used, or -errno. */
typedef int64_t (*op_threads_take_fn)(void *ctx, const uint8_t *bytes, size_t len);

/* Run the iterator @program (a descriptor) over all tasks and pass what it writes to
 * @take. Returns 0 or -errno. */
int op_threads_iterate(int program, op_threads_take_fn take, void *ctx);

#endif
