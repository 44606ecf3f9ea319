/* SPDX-License-Identifier: Apache-2.0 */
/* Code that the test's own process has mapped and maps, and its children. */
#ifndef OP_TEST_PROCESS_SELF_H
#define OP_TEST_PROCESS_SELF_H

#include <sys/types.h>

#include "world.h"

/* The kernel's count of this process's code pages. */
uint16_t self_code_pages(void);
/* The executable mapping of this program's own code. */
struct op_mmap_event self_code(void);
/* Map the code of @path at @at (NULL: anywhere) as @code is. */
uint64_t self_map(const char *path, void *at, const struct op_mmap_event *code);
/* Map the code of a copy of @program at @at (NULL: anywhere) as @code is. Returns the event. */
struct op_mmap_event self_map_copy(const char *program, void *at,
				   const struct op_mmap_event *code, uint64_t time_ns);
/* A copy of this program takes the place of another program's. Returns its event. */
struct op_mmap_event self_replace(struct world *w, const struct op_mmap_event *code);
/* Map a new library whose code is the function @name. Returns the event. */
struct op_mmap_event self_map_library(const char *name, uint64_t time_ns);
/* A world that knows this process and @child, forked from it. Returns the child's generation. */
uint32_t self_begin_with_child(struct world *w, uint32_t child);
/* A child that waits, or that runs the program @path. */
pid_t self_start_child(const char *path);
void self_end_child(pid_t pid);

#endif
