/* SPDX-License-Identifier: Apache-2.0 */
/* Reading /proc: who runs, and what is mapped there. */
#ifndef OP_PROCESS_SCAN_H
#define OP_PROCESS_SCAN_H

#include <stdbool.h>
#include <stdint.h>

#include "target/maps.h"

struct op_processes;
struct op_program;

/* Is there such a process? */
bool op_scan_exists(const struct op_processes *p, uint32_t pid);
/*
 * Call @fn for each executable mapping. Where the leader is gone, one of the threads that
 * live on stands for the process from now on. Returns the number of lines, 0 for a kernel
 * thread or a zombie, or -errno.
 */
int op_scan_maps(const struct op_processes *p, struct op_program *program, op_maps_fn fn,
		 void *ctx);
/* Call @fn for the pid of each process; a value other than 0 ends and is returned. */
int op_scan_each(const struct op_processes *p, int (*fn)(void *ctx, uint32_t pid),
		 void *ctx);

#endif
