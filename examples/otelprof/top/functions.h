/* SPDX-License-Identifier: Apache-2.0 */
/* Samples summed by owner and function: how often on the CPU itself (self), how often
 * anywhere on the stack (total; recursion counts once a sample). The owner is a process, all
 * processes of a program, a container, a thread, or nobody in particular. */
#ifndef OTELPROF_FUNCTIONS_H
#define OTELPROF_FUNCTIONS_H

#include <stddef.h>
#include <stdint.h>

enum function_owner {
	OWNER_PROCESS,
	OWNER_PROGRAM,
	OWNER_CONTAINER,
	OWNER_THREAD,
	OWNER_ALL,
	OWNERS,
};

struct function_row {
	int64_t id; /* of the process or thread; 0: its owner has no number */
	char *owner; /* its name; a container's id, empty on the host; empty for OWNER_ALL */
	char *container_id;
	char *function;
	char *module;
	char *file;
	char *type;
	uint64_t self;
	uint64_t total;
	uint64_t seen; /* number of the last sample that counted here */
};

struct function_sums {
	struct function_row *rows;
	size_t len;
	size_t cap;
	enum function_owner owner;
	uint32_t *slots; /* open addressing: row + 1 */
	size_t mask;
	uint64_t samples; /* sum of their counts */
	uint64_t number;  /* samples added */
};

/* Add one ExportProfilesServiceRequest. Returns 0 or a negative errno. */
int functions_add(struct function_sums *r, const void *request, size_t len);
enum function_order {
	FUNCTIONS_BY_SELF,
	FUNCTIONS_BY_TOTAL,
};

/* Most first; ties by the other sum, name and owner, so that the order is always one. */
void functions_sort(struct function_sums *r, enum function_order order);
/* Forget all rows; the owner stays. */
void functions_clear(struct function_sums *r);

#endif
