/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the process and the stack of a record, and makes the sample. */
#ifndef OP_SAMPLE_RESOLVE_H
#define OP_SAMPLE_RESOLVE_H

struct op_parsed;
struct op_sampler;
struct op_window;
struct op_window_sample;

/*
 * Make a sample of a record. It belongs to the process and the program in which it was
 * taken, even if they have ended. Strings and stack go into @window.
 *
 * Returns 0, or -errno. -EINPROGRESS: there is no time; try again later.
 */
int op_record_resolve(struct op_sampler *sampler, struct op_parsed *r,
		      struct op_window *window, struct op_window_sample *ret);

#endif
