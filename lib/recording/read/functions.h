/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sums samples by owner and function: how often a function itself was on the CPU
 * (self), and how often it was anywhere on the stack (total). Recursion counts once a
 * sample. The owner is a process, all processes of a program, a container, a thread, or
 * everything.
 *
 * A sample of a CPU's clock stands for the period of its profile. A budget or a rule
 * changes the period, so shares are shares of the time. A sample of another kind has a
 * value of its own.
 */
#ifndef OP_RECORDING_READ_FUNCTIONS_H
#define OP_RECORDING_READ_FUNCTIONS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/hash.h"

enum function_owner {
	OWNER_PROCESS,
	OWNER_PROGRAM,
	OWNER_CONTAINER,
	OWNER_THREAD,
	OWNER_ALL,
	OWNERS,
};

struct function_row {
	int64_t id;  /* number of the process or thread; 0: none */
	char *owner; /* name or container id; empty on the host, and for OWNER_ALL */
	char *container_id;
	char *function;
	char *module;
	char *file;
	char *type;
	uint64_t self; /* samples */
	uint64_t total;
	uint64_t self_value;
	uint64_t total_value;
	uint64_t seen; /* number of the last sample that was counted */
};

struct function_sums {
	struct function_row *rows;
	size_t len;
	size_t cap;
	enum function_owner owner;
	uint64_t seed; /* of the index */
	struct op_index index;
	uint64_t samples; /* sum of their counts */
	uint64_t value;	  /* time that they stand for */
	uint64_t number;  /* samples added so far */
};

struct otlp_sample_view;

/* Add one sample of any kind. Returns 0 or -ENOMEM. */
int functions_add_sample(struct function_sums *r, const struct otlp_sample_view *s);
/* Is it a sample of a CPU's clock, whose value is time? */
bool functions_is_clock(const struct otlp_sample_view *s);
enum function_order {
	FUNCTIONS_BY_SELF,
	FUNCTIONS_BY_TOTAL,
};

/* Sort the largest first; nothing can be added afterwards. Ties are broken by the other sum, name and owner, so that the
 * order is deterministic. */
void functions_sort(struct function_sums *r, enum function_order order);
/* Forget all rows; the owner stays. */
void functions_clear(struct function_sums *r);

#endif
