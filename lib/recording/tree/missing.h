/* SPDX-License-Identifier: Apache-2.0 */
/* What is said where a request finds nothing. */
#ifndef OP_RECORDING_TREE_MISSING_H
#define OP_RECORDING_TREE_MISSING_H

#include "recording/tree/view.h"

/* Say on standard error what the request of @v names that is not in @what, and what comes
 * near. view_make() returned -ENOENT. */
void missing_say(const struct view *v, const char *what);

/* The name of a kind that --kind takes. Returns @buf. */
const char *missing_kind(const struct op_collect *c, uint32_t kind, char *buf,
			 size_t size);

#endif
