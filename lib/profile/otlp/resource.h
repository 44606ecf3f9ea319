/* SPDX-License-Identifier: Apache-2.0 */
/* Encodes the OTLP resource of a process: its attributes, and those that all resources
 * have. */
#ifndef OP_PROFILE_OTLP_RESOURCE_H
#define OP_PROFILE_OTLP_RESOURCE_H

#include "profile/otlp/bytes.h"
#include "profile/otlp/encode.h"

enum {
	/* limit of process.command_args; the rest is left out */
	OP_COMMAND_ARGS_MAX = 256,
	OP_RESOURCE_ATTRIBUTES_MAX = 128, /* further options->attributes are left out */
};

/* Append the Resource message of @r as field @field. Returns 0 or -ENOMEM. */
int op_otlp_resource(const struct op_window *w, const struct op_resource *r,
		     const struct op_otlp_options *options, uint32_t field,
		     struct op_bytes *b);

#endif
