/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a process's environment tells of it. Only OTEL_SERVICE_NAME, OTEL_RESOURCE_ATTRIBUTES
 * and the variables asked for are looked at; nothing else of it is kept.
 */
#ifndef OP_RESOURCE_ENVIRONMENT_H
#define OP_RESOURCE_ENVIRONMENT_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "resource/attributes.h"

struct op_target;

enum {
	OP_ENVIRON_MAX = 1 << 18, /* bytes of /proc/PID/environ that are looked at */
	OP_VARIABLE_NAME_MAX = 128,
};

/* At most OP_ENVIRON_MAX bytes of it. Caller frees *@ret. Their number or -errno. */
ssize_t op_environ_read(struct op_target *t, uint32_t pid, char **ret);

/*
 * Out of @len bytes of an environment ("KEY=value" each with its NUL): service.name by
 * OTEL_SERVICE_NAME, then the attributes of OTEL_RESOURCE_ATTRIBUTES, by the OpenTelemetry
 * SDK's rules: "key=value,key=value", blanks around each left out, percent-encoded; the
 * last of a key stands; one that cannot be decoded makes the whole variable void.
 */
void op_environ_attributes(const char *text, size_t len,
			   struct op_attributes *attributes);

/* The variable @name as process.environment_variable.NAME, where it is set. A name is at
 * most OP_VARIABLE_NAME_MAX bytes. */
void op_environ_variable(const char *text, size_t len, const char *name,
			 struct op_attributes *attributes);

#endif
