/* SPDX-License-Identifier: Apache-2.0 */
/* A shared object that plugins.c loads and drops. STEP makes each another. */
#include <stdint.h>

typedef uint64_t (*callback)(uint64_t);

static __attribute__((noinline)) uint64_t inner(uint64_t x, callback back)
{
	volatile char room[64 * STEP];

	room[STEP] = (char)x;
	return back(x) + (uint64_t)room[STEP];
}

uint64_t plugin(uint64_t x, callback back);
uint64_t plugin(uint64_t x, callback back)
{
	volatile uint64_t here = x;
	int i;

	for (i = 0; i < 50 * STEP; i++)
		here = here * 3 + inner(here, back);
	return here;
}
