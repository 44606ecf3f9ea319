/* SPDX-License-Identifier: Apache-2.0 */
/* Reads from /proc which processes run, and their mappings. */
#ifndef OP_PROCESS_TARGET_SCAN_H
#define OP_PROCESS_TARGET_SCAN_H

#include <stdbool.h>
#include <stdint.h>

#include "process/target/maps.h"

struct op_target;

/* The name of a directory in /proc as a pid, or 0. */
uint32_t op_scan_number(const char *name);
/* Does the process exist? */
bool op_scan_exists(const char *procfs_root, uint32_t pid);
/* Is the process ending, or a zombie? Then it has no program and no memory. */
bool op_scan_is_ending(const char *procfs_root, uint32_t pid);
/* Did the process use the CPU for a twentieth of its lifetime or more? */
bool op_scan_is_busy(const char *procfs_root, uint32_t pid);
/* May we read the process's maps? */
bool op_scan_readable(const char *procfs_root, uint32_t pid);
/*
 * Call @fn for a slice of the executable mappings of process @pid, from the maps of
 * *@thread: the pid itself or one of its threads. If that thread has exited, another thread
 * represents the process from now on and is stored in *@thread. Returns like
 * op_target_executables().
 */
int op_scan_maps(struct op_target *target, uint32_t pid, uint32_t *thread,
		 struct op_maps_reader *reader, op_maps_fn fn, void *ctx);

#endif
