/* SPDX-License-Identifier: Apache-2.0 */
/*
 * OTEL_EXPORTER_OTLP_*. The specification (1.5x) names variables of one signal for traces,
 * metrics and logs only; OTEL_EXPORTER_OTLP_PROFILES_* is the same pattern for profiles and
 * wins over the general one. An empty variable is an unset one.
 */
#ifndef OP_TRANSPORT_ENV_H
#define OP_TRANSPORT_ENV_H

#include <stdbool.h>

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

/* A value and where it came from, for the sentence of an error. */
struct op_env_value {
	const char *text; /* NULL: not given */
	const char *from; /* name of the variable or the field */
};

/* The variable's value; of a program with raised privileges: always unset. */
struct op_env_value op_env_get(enum op_env which);

/* Is it from OTEL_EXPORTER_OTLP_PROFILES_*? */
bool op_env_is_specific(struct op_env_value v);

/* @config where it is set, else the variable. */
struct op_env_value op_env_or(const char *config, const char *field, enum op_env which);

#endif
