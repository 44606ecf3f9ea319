/* SPDX-License-Identifier: Apache-2.0 */
/* Reads the environment variables of OTLP exporters. */
#include "export/transport/env.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define SPECIFIC(name) "OTEL_EXPORTER_OTLP_PROFILES_" name
#define GENERAL(name)  "OTEL_EXPORTER_OTLP_" name
#define NAMES(name)                                                                      \
	{                                                                                \
		SPECIFIC(name), GENERAL(name)                                            \
	}

enum {
	NAMES_LEN = 2
};

/* The variable of the signal, or the general one. */
static struct op_env_value get(enum op_env which, unsigned int i)
{
	static const char *const names[OP_ENV_MAX][NAMES_LEN] = {
		[OP_ENV_ENDPOINT] = NAMES("ENDPOINT"),
		[OP_ENV_HEADERS] = NAMES("HEADERS"),
		[OP_ENV_COMPRESSION] = NAMES("COMPRESSION"),
		[OP_ENV_TIMEOUT] = NAMES("TIMEOUT"),
		[OP_ENV_CERTIFICATE] = NAMES("CERTIFICATE"),
		[OP_ENV_CLIENT_CERTIFICATE] = NAMES("CLIENT_CERTIFICATE"),
		[OP_ENV_CLIENT_KEY] = NAMES("CLIENT_KEY"),
		[OP_ENV_INSECURE] = NAMES("INSECURE"),
		[OP_ENV_PROTOCOL] = NAMES("PROTOCOL"),
	};
	const char *text = secure_getenv(names[which][i]);

	return text && *text ? (struct op_env_value){ text, names[which][i] }
			     : (struct op_env_value){ 0 };
}

struct op_env_value op_env_get(enum op_env which)
{
	struct op_env_value v = get(which, 0);

	return v.text ? v : get(which, 1);
}

int op_env_take(enum op_env which, op_env_fn fn, void *data, struct op_log *log)
{
	unsigned int i;

	for (i = 0; i < NAMES_LEN; i++) {
		struct op_env_value v = get(which, i);
		struct op_log own = { 0 };
		int r = v.text ? fn(data, v, &own) : -EINVAL;

		if (r == -EINVAL && own.error)
			op_log(log, OP_LOG_WARNING, "%s: it is ignored", own.message);
		else if (r < 0 && v.text)
			op_fail_pass(log, &own);
		op_log_deinit(&own);
		if (r != -EINVAL)
			return r;
	}
	return 0;
}

bool op_env_is_specific(struct op_env_value v)
{
	return !strncmp(v.from, SPECIFIC(""), sizeof(SPECIFIC("")) - 1);
}

struct op_env_value op_env_or(const char *config, const char *field, enum op_env which)
{
	if (config && *config)
		return (struct op_env_value){ config, field };
	return op_env_get(which);
}
