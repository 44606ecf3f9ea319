/* SPDX-License-Identifier: Apache-2.0 */
/* Callbacks of the host program. api/events.c makes their structs. */
#ifndef OP_PROCESS_IMAGE_EVENTS_H
#define OP_PROCESS_IMAGE_EVENTS_H

#include <stdint.h>

struct op_executable;
struct op_program;

/* A member that is NULL is not called. */
struct op_event_handlers {
	void *ctx;
	/* The content of @e is known, and its file is open. Process @pid maps it. */
	void (*executable)(void *ctx, const struct op_executable *e, uint32_t pid);
	/* The resource of @program is new or changed. Returns its digest, never 0, for
	 * program->reported. */
	uint64_t (*process)(void *ctx, const struct op_program *program);
	/* A process that was reported has ended or is no longer followed. */
	void (*process_went)(void *ctx, const struct op_program *program);
};

#endif
