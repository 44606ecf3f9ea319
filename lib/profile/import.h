/* SPDX-License-Identifier: Apache-2.0 */
/* Copies a stack or a resource of one window into another, with everything that it refers
 * to. */
#ifndef OP_PROFILE_IMPORT_H
#define OP_PROFILE_IMPORT_H

#include "profile/window.h"

/* Returns 0, -ENOMEM or -ENOSPC; after an error the parts already copied stay. */
int op_window_import_stack(struct op_window *to, const struct op_window *from,
			   uint32_t stack, uint32_t *ret);
int op_window_import_resource(struct op_window *to, const struct op_window *from,
			      uint32_t resource, uint32_t *ret);

#endif
