/* SPDX-License-Identifier: Apache-2.0 */
/* Parses the places of a static probe's arguments. */
#ifndef OP_PARTS_PROBES_ARGUMENT_H
#define OP_PARTS_PROBES_ARGUMENT_H

#include <stdint.h>

#include "op_user_types.h"

/*
 * Parse the arguments in the note of a static probe, such as "8@%rdi -4@$7 8@-16(%rbp)"
 * on x86-64 and "8@x0 -4@7 8@[sp, 16]" on aarch64 (@machine: EM_*). Returns how many of
 * the first OP_ARGUMENTS_MAX it understands. Stops at the first that it does not.
 */
uint32_t op_probe_arguments_parse(const char *text, uint16_t machine,
				  struct op_argument ret[OP_ARGUMENTS_MAX]);

#endif
