/* SPDX-License-Identifier: Apache-2.0 */
/* Cuts a stack where the code of a frame changed between the walk and the sample. */
#ifndef OP_SAMPLE_CHANGED_H
#define OP_SAMPLE_CHANGED_H

#include <stdint.h>

struct op_frames_of;
struct op_parsed;
struct op_proc;
struct op_proc_view;
struct op_record;
struct op_sampler;
struct op_unwind_result;

/* The walk by the newest state of @walked, which is @proc or an earlier program of it, is
 * true for the time of the sample only where that did not change since. Cut it there. */
void op_changed_cut_later(struct op_unwind_result *s, const struct op_proc *proc,
			  const struct op_proc *walked, const struct op_record *h);
/*
 * The kernel walked the record by @published, before user space had published code that
 * replaced other code than its own copy. Frames above the first one in such code were
 * found by the rules of the old code, so cut them. That frame itself gets the current
 * name if its code is still there. Returns 0, or -EINPROGRESS without time to find out
 * whether a copy of the old code replaced it.
 */
int op_changed_cut(struct op_sampler *sampler, struct op_proc *proc, struct op_parsed *r,
		   struct op_frames_of *of, const struct op_proc_view *published,
		   uint32_t *ret_generation);

#endif
