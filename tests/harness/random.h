/* SPDX-License-Identifier: Apache-2.0 */
/* Random numbers that are the same in each run (xorshift64). */
#ifndef OP_TEST_RANDOM_H
#define OP_TEST_RANDOM_H

#include <stdint.h>

static inline uint32_t random_u32(void)
{
	static uint64_t state = 88172645463325252;

	state ^= state << 13;
	state ^= state >> 7;
	state ^= state << 17;
	return (uint32_t)(state >> 16);
}

#endif
