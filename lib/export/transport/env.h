/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The variables OTEL_EXPORTER_OTLP_*. The specification (1.5x) defines variables of a
 * single signal only for traces, metrics and logs. OTEL_EXPORTER_OTLP_PROFILES_* follows
 * the same pattern for profiles and takes precedence over the general variable. An empty
 * variable counts as unset.
 */
#ifndef OP_EXPORT_TRANSPORT_ENV_H
#define OP_EXPORT_TRANSPORT_ENV_H

#include <stdbool.h>

#include "base/log.h"

enum op_env {
	OP_ENV_ENDPOINT,
	OP_ENV_HEADERS,
	OP_ENV_COMPRESSION,
	OP_ENV_TIMEOUT,
	OP_ENV_CERTIFICATE,
	OP_ENV_CLIENT_CERTIFICATE,
	OP_ENV_CLIENT_KEY,
	OP_ENV_INSECURE,
	OP_ENV_PROTOCOL,
	OP_ENV_MAX,
};

/* A value and its origin, for the sentence of an error. */
struct op_env_value {
	const char *text; /* NULL: not given */
	const char *from; /* name of the variable or the member */
};

/* The variable's value, or "unset" in a program with raised privileges. */
struct op_env_value op_env_get(enum op_env which);

/* Takes a value into @data. Returns 0, or a negative errno with a sentence; -EINVAL: not understood. */
typedef int (*op_env_fn)(void *data, struct op_env_value v, struct op_log *log);

/* Let @fn take the variable's value. A value that is not understood gets a warning, and
 * counts as unset, as the specification demands. Returns 0 or the other errors of @fn. */
int op_env_take(enum op_env which, op_env_fn fn, void *data, struct op_log *log);

/* Does the value come from OTEL_EXPORTER_OTLP_PROFILES_*? */
bool op_env_is_specific(struct op_env_value v);

/* @config if it is set, else the variable's value. */
struct op_env_value op_env_or(const char *config, const char *field, enum op_env which);

#endif
