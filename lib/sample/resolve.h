/* SPDX-License-Identifier: Apache-2.0 */
/* Whose a record is, and its stack: the sample that it makes. */
#ifndef OP_SAMPLE_RESOLVE_H
#define OP_SAMPLE_RESOLVE_H

struct op_parsed;
struct op_sampler;
struct op_window;
struct op_window_sample;

/*
 * Make a sample of a record. It is given to the process and to the program that it was taken
 * from, though they may have ended since; strings and stack go into @window.
 *
 * Returns 0, or -errno: -EINPROGRESS where there is no time, to be given again later.
 */
int op_record_resolve(struct op_sampler *sampler, struct op_parsed *r,
		      struct op_window *window, struct op_window_sample *ret);

#endif
