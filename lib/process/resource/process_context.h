/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Reads the process context of OpenTelemetry (OTEP 4719, version 2 of its header): an SDK
 * inside a process publishes its resource in memory for outside readers. A mapping named
 * OTEL_CTX begins with a header, which points to a protobuf message. A writer sets the
 * time in the header to 0 while it changes the context, and to a new time afterwards. A
 * reader copies, and then checks that the time is unchanged.
 *
 * All of it is another process's memory and is not trusted: every length has a limit.
 */
#ifndef OP_PROCESS_RESOURCE_PROCESS_CONTEXT_H
#define OP_PROCESS_RESOURCE_PROCESS_CONTEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/memory.h"
#include "process/resource/attributes.h"

struct op_schema;
struct op_target;

enum {
	OP_PROCESS_CONTEXT_HEADER_BYTES = 32,
	OP_PROCESS_CONTEXT_PAYLOAD_MAX = 65536,
	OP_CONTEXT_TRIES = 3, /* attempts to read a context that changes meanwhile */
};

struct op_process_context_header {
	uint64_t published_ns; /* CLOCK_BOOTTIME; new at each change */
	uint64_t payload;      /* its address in the process */
	uint32_t payload_bytes;
};

/* Is this line of /proc/PID/maps the mapping of a context? Fills *@ret with
 * its address. */
bool op_process_context_of_line(const char *line, size_t len, uint64_t *ret);

/* Find the context's address in /proc/PID/maps. Returns 0, -ENOENT if there is none, or
 * -errno. */
int op_process_context_find(struct op_target *t, uint32_t pid, uint64_t *ret);

/* Parse a header of OP_PROCESS_CONTEXT_HEADER_BYTES. Returns 0; -EAGAIN while it is being
 * changed; -EBADMSG. */
int op_process_context_header_of(const void *bytes,
				 struct op_process_context_header *ret);
int op_process_context_header_read(const struct op_memory *memory, uint64_t addr,
				   struct op_process_context_header *ret);

/*
 * Add the attributes of a ProcessContext message's resource to @attributes: strings,
 * numbers and booleans. Lists, maps and bytes are counted as dropped. Returns 0, or
 * -EBADMSG if the message is damaged, and then adds the attributes before the damage.
 */
int op_process_context_payload(const void *bytes, size_t len,
			       struct op_resource_attributes *attributes);

/*
 * Read header and payload completely and consistently. Returns 0 and fills
 * *@ret_published_ns; -EAGAIN if it kept changing; -EBADMSG; -EFBIG past
 * OP_PROCESS_CONTEXT_PAYLOAD_MAX; or -errno of reading. @attributes and @schema, which is all zero or
 * NULL, are changed only on success.
 */
int op_process_context_read(const struct op_memory *memory, uint64_t addr,
			    struct op_resource_attributes *attributes,
			    struct op_schema *schema, uint64_t *ret_published_ns);

#endif
