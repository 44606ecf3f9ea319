/* SPDX-License-Identifier: Apache-2.0 */
/* Sums the functions of each kind of samples separately, because their units differ. */
#ifndef OP_RECORDING_READ_KINDS_H
#define OP_RECORDING_READ_KINDS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "otlp/reader.h"
#include "recording/read/functions.h"

enum {
	KINDS_MAX = 32, /* types of samples; further ones are left out */
	KIND_NAME_BYTES = 64,
	KIND_AMOUNT_BYTES = 32,
};

struct kind_sums {
	char type[KIND_NAME_BYTES]; /* "off_cpu" */
	char unit[KIND_NAME_BYTES]; /* "nanoseconds" */
	bool clock;		    /* samples of the CPUs: the value is nanoseconds */
	struct function_sums sums;
};

struct kinds {
	struct kind_sums of[KINDS_MAX];
	size_t len;
	enum function_owner owner;
};

/* Add one ExportProfilesServiceRequest. Returns 0 or a negative errno. */
int kinds_add(struct kinds *k, const void *request, size_t len);
/* Sort the kinds: CPU samples first, the others by name. Sort the functions of each,
 * largest first. */
void kinds_sort(struct kinds *k, enum function_order order);
/* The kind with the name of @like, else the first one, or NULL. */
const struct kind_sums *kinds_find(const struct kinds *k, const struct kind_sums *like);
/* Forget all sums; the owner stays. */
void kinds_clear(struct kinds *k);

/* "1.25 s", "3.0 MiB", or "17". Returns @buf. */
const char *kind_amount(const struct kind_sums *k, uint64_t value,
			char buf[KIND_AMOUNT_BYTES]);

#endif
