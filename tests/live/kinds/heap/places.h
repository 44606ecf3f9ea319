/* SPDX-License-Identifier: Apache-2.0 */
/* What the programs with known places are asked. */
#ifndef TEST_HEAP_PLACES_H
#define TEST_HEAP_PLACES_H

#include <stdbool.h>
#include <stdint.h>

enum {
	PLACES_THREADS = 4,
};

struct request {
	uint32_t what; /* a letter: places.c */
	uint32_t n;    /* allocations */
	uint64_t size; /* of each */
};

#endif
