/* SPDX-License-Identifier: Apache-2.0 */
/* Control that does not return where it came from: longjmp() and contexts with own stacks. */
#include <setjmp.h>
#include <stdint.h>
#include <stdlib.h>
#include <ucontext.h>

static jmp_buf home;
static ucontext_t scheduler, tasks[4];
static volatile uint64_t sink;

static __attribute__((noinline)) uint64_t work(uint64_t x)
{
	for (int i = 0; i < 300; i++)
		x = x * 6364136223846793005u + 1442695040888963407u;
	return x;
}

static __attribute__((noinline)) void down(int depth, uint64_t x)
{
	volatile uint64_t here = work(x);

	if (!depth)
		longjmp(home, 1);
	down(depth - 1, here);
	sink += here; /* so that the call above is none */
}

static __attribute__((noinline)) uint64_t switching(int number, int depth, uint64_t x)
{
	volatile uint64_t here = work(x);

	if (depth)
		return switching(number, depth - 1, here) + here;
	if (swapcontext(&tasks[number], &scheduler))
		abort();
	return work(here);
}

static void task(int number)
{
	for (;;)
		sink += switching(number, 4 + number, sink);
}

int main(void)
{
	int i;

	for (i = 0; i < 4; i++) {
		if (getcontext(&tasks[i]))
			return 1;
		tasks[i].uc_stack.ss_size = 65536;
		tasks[i].uc_stack.ss_sp = malloc(65536);
		if (!tasks[i].uc_stack.ss_sp)
			return 1;
		makecontext(&tasks[i], (void (*)(void))task, 1, i);
	}
	for (;;) {
		if (!setjmp(home))
			down(20, sink);
		for (i = 0; i < 4; i++) {
			if (swapcontext(&scheduler, &tasks[i]))
				return 1;
		}
	}
}
