/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The process context of OpenTelemetry (OTEP 4719, version 2 of its header): an SDK inside a
 * process publishes its resource in memory for readers outside. A mapping named OTEL_CTX
 * begins with a header; that points to a protobuf message. The writer sets the header's time
 * to 0 while it changes things and to a new one afterwards; a reader copies, and looks at
 * the time again.
 *
 * All of it is another process's memory and trusted in nothing: every length has a limit.
 */
#ifndef OP_RESOURCE_CONTEXT_H
#define OP_RESOURCE_CONTEXT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/memory.h"
#include "resource/attributes.h"

struct op_target;

enum {
	OP_CONTEXT_HEADER_BYTES = 32,
	OP_CONTEXT_PAYLOAD_MAX = 65536,
	OP_CONTEXT_TRIES = 3, /* of reading one that changes meanwhile */
};

struct op_context_header {
	uint64_t published_ns; /* CLOCK_BOOTTIME; a new one at each change */
	uint64_t payload;      /* its address over there */
	uint32_t payload_bytes;
};

/* Is this line of /proc/PID/maps a context's mapping? Fills *@ret with its address. */
bool op_context_of_line(const char *line, size_t len, uint64_t *ret);

/* The context's address by /proc/PID/maps. 0, -ENOENT where there is none, or -errno. */
int op_context_find(struct op_target *t, uint32_t pid, uint64_t *ret);

/* Read a header of OP_CONTEXT_HEADER_BYTES. 0, -EAGAIN while it is being changed, -EBADMSG. */
int op_context_header_of(const void *bytes, struct op_context_header *ret);
int op_context_header_read(const struct op_memory *memory, uint64_t addr,
			   struct op_context_header *ret);

/*
 * The attributes of a ProcessContext message's resource to @attributes: strings, numbers and
 * truth values; lists, maps and bytes are counted as dropped. Returns 0, or -EBADMSG where
 * the message is damaged; what came before the damage is taken then.
 */
int op_context_payload(const void *bytes, size_t len, struct op_attributes *attributes);

/*
 * Header and payload, whole and unchanged meanwhile. Returns 0 and fills *@ret_published_ns;
 * -EAGAIN where it kept changing; -EBADMSG; -EFBIG past OP_CONTEXT_PAYLOAD_MAX; -errno of
 * the reading. @attributes is changed on success only.
 */
int op_context_read(const struct op_memory *memory, uint64_t addr,
		    struct op_attributes *attributes, uint64_t *ret_published_ns);

#endif
