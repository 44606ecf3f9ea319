/* SPDX-License-Identifier: Apache-2.0 */
/* What is said where a request finds nothing. */
#ifndef OP_RECORDING_TREE_MISSING_H
#define OP_RECORDING_TREE_MISSING_H

#include "recording/tree/view.h"

/* Make the view, or say on standard error what the request names that is not in @what, and what
 * comes near. Returns 0 or STATUS_FAILED; view_clear() must follow in both cases. */
int view_make_or_say(const struct op_collect *c, const struct view_request *request,
		     const char *what, struct view *ret);

/* Name the kinds that there are, on standard error. */
void missing_note_kinds(const struct op_collect *c);

#endif
