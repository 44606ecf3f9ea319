/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Takes resource attributes from a process's environment. Only OTEL_SERVICE_NAME,
 * OTEL_RESOURCE_ATTRIBUTES and the requested variables are examined, and nothing else is
 * kept.
 */
#ifndef OP_PROCESS_RESOURCE_ENVIRONMENT_H
#define OP_PROCESS_RESOURCE_ENVIRONMENT_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "process/resource/attributes.h"

struct op_target;

enum {
	OP_ENVIRON_MAX = 1 << 18, /* bytes read of /proc/PID/environ */
	OP_VARIABLE_NAME_MAX = 128,
};

/* Read at most OP_ENVIRON_MAX bytes of a process's environment. The caller frees *@ret.
 * Returns their number or -errno. */
ssize_t op_environ_read(struct op_target *t, uint32_t pid, char **ret);

/*
 * Take from @len bytes of an environment ("KEY=value", each with its NUL): service.name
 * from OTEL_SERVICE_NAME, then the attributes of OTEL_RESOURCE_ATTRIBUTES, by the rules
 * of OpenTelemetry SDKs: "key=value,key=value", with blanks around each ignored,
 * percent-encoded. The last value of a key is kept. If one cannot be decoded, the whole
 * variable is ignored.
 */
void op_environ_attributes(const char *text, size_t len,
			   struct op_resource_attributes *attributes);

/* Take the variable @name as process.environment_variable.NAME if it is set. A name has
 * at most OP_VARIABLE_NAME_MAX bytes. */
void op_environ_variable(const char *text, size_t len, const char *name,
			 struct op_resource_attributes *attributes);

#endif
