/* SPDX-License-Identifier: Apache-2.0 */
/* Reading /proc: who runs, and what is mapped there. */
#ifndef OP_TARGET_SCAN_H
#define OP_TARGET_SCAN_H

#include <stdbool.h>
#include <stdint.h>

#include "target/maps.h"

struct op_target;

/* A name in /proc as a pid, or 0. */
uint32_t op_scan_number(const char *name);
/* Is there such a process? */
bool op_scan_exists(const char *procfs_root, uint32_t pid);
/* May its maps be read? */
bool op_scan_readable(const char *procfs_root, uint32_t pid);
/*
 * Call @fn for each executable mapping of process @pid, by the maps of *@thread: the pid,
 * or a thread of it. Where that is gone, one of the threads that live on stands for the
 * process from now on, and becomes *@thread. Returns the number of lines, 0 for a kernel
 * thread or a zombie, or -errno as op_target_executables().
 */
int op_scan_maps(struct op_target *target, uint32_t pid, uint32_t *thread, op_maps_fn fn,
		 void *ctx);

#endif
