/* SPDX-License-Identifier: Apache-2.0 */
/* Names of JIT code from /tmp/perf-PID.map, read through the process's root. */
#ifndef OP_SYMBOL_PERFMAP_H
#define OP_SYMBOL_PERFMAP_H

#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

struct op_perfmap;

/* @path: the file. -ENOENT where there is none. It is read again when it has grown. */
int op_perfmap_new(const char *path, struct op_perfmap **ret);
struct op_perfmap *op_perfmap_free(struct op_perfmap *map);
OP_DEFINE_CLEANUP(struct op_perfmap *, op_perfmap_free)
/* The name at a process address, or NULL. Valid until the next call. */
const char *op_perfmap_find(struct op_perfmap *map, uint64_t addr);
/* Lines left out for the limit of 262,144. */
uint64_t op_perfmap_refused(const struct op_perfmap *map);
/* User memory in use. */
size_t op_perfmap_bytes(const struct op_perfmap *map);

#endif
