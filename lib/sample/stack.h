/* SPDX-License-Identifier: Apache-2.0 */
/* Converts the words of a user stack to locations of the window. */
#ifndef OP_SAMPLE_STACK_H
#define OP_SAMPLE_STACK_H

#include <stddef.h>
#include <stdint.h>

#include "sample/frames.h"
#include "sample/kept/thread_cache.h"
#include "sample/sampler.h"

/* Add the locations of @left words to sampler->locations from *@len on, and raise *@len.
 * @callers may be NULL. Returns 0, -ENOMEM, -ENOSPC or -EINPROGRESS. */
int op_stack_add_user(struct op_sampler *sampler, const struct op_frames_of *of,
		      const uint64_t *words, size_t left, struct op_thread_cache *callers,
		      size_t *len);
/* Add the frame that shows how a stack ended, if needed. */
int op_stack_add_end(struct op_sampler *sampler, struct op_window *window,
		     unsigned int end, size_t *len);

#endif
