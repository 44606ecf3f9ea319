/* SPDX-License-Identifier: Apache-2.0 */
/* Language runtimes of a process: attached when the unwind table of one is published. */
#ifndef OP_PROCESS_RUNTIMES_H
#define OP_PROCESS_RUNTIMES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "image/image.h"
#include "op_user_types.h"

struct op_layout;
struct op_cache;
struct op_processes;
struct op_program;

/* Is the kernel's step of that runtime there? Asks for it the first time. */
bool op_runtimes_wanted(struct op_processes *p, enum op_runtime id);

/*
 * Attach what runs in @program by @layout and is not attached yet. A runtime that has not
 * started up is tried again with back-off. Returns true where something changed.
 */
bool op_runtimes_attach(struct op_processes *p, struct op_program *program,
			const struct op_layout *layout);
void op_runtimes_detach(struct op_processes *p, struct op_program *program);
/* A window ended. */
void op_runtimes_window_end(struct op_program *program);

/*
 * Describe the frame at @words. Returns the number of its words with *@ret and
 * *@ret_type; -ESRCH where the runtime is not attached; -errno.
 */
int op_runtimes_describe(struct op_program *program, enum op_runtime id,
			 const uint64_t *words, size_t len, struct op_runtime_frame *ret,
			 const char **ret_type);
/* What frames of the runtime were met in the open window, or NULL. */
struct op_cache *op_runtimes_memo(struct op_program *program, enum op_runtime id);

#endif
