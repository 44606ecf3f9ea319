/* SPDX-License-Identifier: Apache-2.0 */
/* Calls functions that have no unwind data, from a depth of eight. */
#include <stdint.h>

uint64_t asm_leaf(uint64_t x);
uint64_t asm_pushes(uint64_t x);
uint64_t asm_frame_pointer(uint64_t x);
uint64_t asm_realigns(uint64_t x);
uint64_t asm_calls_back(uint64_t x, uint64_t (*callback)(uint64_t));

static __attribute__((noinline)) uint64_t work(uint64_t x)
{
	for (volatile int i = 0; i < 500; i++)
		x = x * 6364136223846793005u + 1442695040888963407u;
	return x;
}

static __attribute__((noinline)) uint64_t down(int depth, uint64_t x)
{
	volatile uint64_t here = x;

	if (depth)
		return down(depth - 1, here + 1) + here;
	return asm_leaf(here) + asm_pushes(here) + asm_frame_pointer(here) +
	       asm_realigns(here) + asm_calls_back(here, work);
}

int main(void)
{
	volatile uint64_t sum = 0;

	for (;;)
		sum = down(8, sum);
}
