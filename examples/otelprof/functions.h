/* SPDX-License-Identifier: Apache-2.0 */
/* Samples summed by process and function: how often on the CPU itself (self), how often
 * anywhere on the stack (total; recursion counts once a sample). */
#ifndef OTELPROF_FUNCTIONS_H
#define OTELPROF_FUNCTIONS_H

#include <stddef.h>
#include <stdint.h>

struct function_row {
	int64_t pid;
	char *process;
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
	uint32_t *slots; /* open addressing: row + 1 */
	size_t mask;
	uint64_t samples; /* sum of their counts */
	uint64_t number;  /* samples added */
};

/* Add one ExportProfilesServiceRequest. Returns 0 or a negative errno. */
int functions_add(struct function_sums *r, const void *request, size_t len);
/* Most self first; ties by total, name and pid, so that the order is always one. */
void functions_sort(struct function_sums *r);
void functions_clear(struct function_sums *r);

#endif
