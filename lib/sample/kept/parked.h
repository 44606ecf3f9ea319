/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that a runtime parks until there is work. They wait in futex(2), but not for
 * a lock. */
#ifndef OP_SAMPLE_PARKED_H
#define OP_SAMPLE_PARKED_H

#include <stdint.h>

#include "base/hash.h"

struct op_record;
struct op_window;
struct op_window_sample;

/* Known stacks of a window. */
struct op_parked {
	uint32_t epoch;
	struct op_map64 stacks; /* stack number -> 1: its thread is parked; 0 */
};

void op_parked_deinit(struct op_parked *p);
/* Let @sample of the record @h count as parked time, and not as a contention, if it is
 * a wait of a parked thread. Returns 0 or -errno. */
int op_parked_type(struct op_parked *p, const struct op_record *h,
		   struct op_window *window, struct op_window_sample *sample);

#endif
