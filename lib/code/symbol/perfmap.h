/* SPDX-License-Identifier: Apache-2.0 */
/* Names of JIT code from /tmp/perf-PID.map. The caller opens the file and decides whether
 * it belongs to the process. */
#ifndef OP_CODE_SYMBOL_PERFMAP_H
#define OP_CODE_SYMBOL_PERFMAP_H

#include <stddef.h>
#include <stdint.h>

#include "base/cleanup.h"

struct op_perfmap;

/* Returns a descriptor of the file, owned by the perf map, or -errno. */
typedef int (*op_perfmap_open_fn)(void *ctx);

/*
 * Returns 0, or what @open_file returned. While names are looked up, @open_file is
 * called again once a second, because the file may be replaced. Reading appended lines
 * takes at most a fifth of the time.
 */
int op_perfmap_new(op_perfmap_open_fn open_file, void *ctx, struct op_perfmap **ret);
struct op_perfmap *op_perfmap_free(struct op_perfmap *map);
OP_DEFINE_CLEANUP(struct op_perfmap *, op_perfmap_free)
/* The name at a process address, or NULL. Valid until the next call. */
const char *op_perfmap_find(struct op_perfmap *map, uint64_t addr);
/* Read appended lines. Returns a number that changes when names may have changed. */
uint64_t op_perfmap_number(struct op_perfmap *map);
/* The number of lines dropped, the oldest first, because of the limit of 262,144. */
uint64_t op_perfmap_refused(const struct op_perfmap *map);
/* User memory in use. */
size_t op_perfmap_bytes(const struct op_perfmap *map);

#endif
