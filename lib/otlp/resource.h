/* SPDX-License-Identifier: Apache-2.0 */
/* The OTLP resource of a process: its attributes, and those on every resource. */
#ifndef OP_OTLP_RESOURCE_H
#define OP_OTLP_RESOURCE_H

#include "otlp/bytes.h"
#include "otlp/encode.h"

enum {
	OP_COMMAND_ARGS_MAX = 256, /* process.command_args; what follows is left out */
	OP_RESOURCE_ATTRIBUTES_MAX = 128, /* options->attributes beyond it are left out */
};

/* Add the Resource message of @r as field @field. Returns 0 or -ENOMEM. */
int op_otlp_resource(const struct op_window *w, const struct op_resource *r,
		     const struct op_otlp_options *options, uint32_t field,
		     struct op_bytes *b);

#endif
