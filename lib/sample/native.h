/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of locations that kernel frames and native frames share. */
#ifndef OP_SAMPLE_NATIVE_H
#define OP_SAMPLE_NATIVE_H

#include "profile/window.h"
#include "runtime/runtime.h"
#include "sample/frames.h"

/* The attributes of a location with frames of @type. Returns 0, -ENOMEM or -ENOSPC. */
int op_frames_type(struct op_sampler *sampler, struct op_window *window,
		   enum op_frame_type type, struct op_attribute_set *ret);
/* The number of a function in @window; NULL and "" mean that a string is absent. Returns
 * 0, -ENOMEM or -ENOSPC. */
int op_frames_function(struct op_window *window, const char *name,
		       const char *system_name, const char *file, uint32_t start_line,
		       uint32_t *ret);
/* Set the functions of @frame, innermost first, as the lines of @location. Returns as
 * above. */
int op_frames_functions(struct op_window *window, const struct op_runtime_frame *frame,
			struct op_location *location);

#endif
