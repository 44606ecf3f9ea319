/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Code that is made again and again at one place, each time with a frame of another size that it does
 * not write to. Calls that have returned left their return addresses there. Every stack is
 * main;outer;inner;[anon], with what noise() calls apart. Arguments: seconds and the most microseconds
 * that code stays, both of CPU time, and a seed.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>

typedef void (*code_fn)(void);

enum {
	PLACE = 256,
	STEPS = 20000
};

static volatile unsigned long sink;

__attribute__((noinline)) static void tick(void)
{
	sink++;
}

__attribute__((noinline)) static void noise(code_fn volatile f, int depth)
{
	char bytes[40];

	bytes[depth & 31] = 1;
	f();
	f();
	if (depth)
		noise(f, depth - 1);
	sink += (unsigned long)bytes[depth & 31];
}

__attribute__((noinline)) static void inner(code_fn f)
{
	noise(tick, 8);
	f();
	sink++;
}

__attribute__((noinline)) static void outer(code_fn f)
{
	inner(f);
	sink++;
}

static uint64_t now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

/* sub $frame,%rsp; mov $STEPS,%ecx; 1: dec %ecx; jnz 1b; add $frame,%rsp; ret */
static void make(unsigned char *at, uint32_t frame)
{
	const uint32_t steps = STEPS;
	unsigned char code[] = { 0x48, 0x81, 0xec, 0, 0,    0,	  0,	0xb9,
				 0,    0,    0,	   0, 0xff, 0xc9, 0x75, 0xfc,
				 0x48, 0x81, 0xc4, 0, 0,    0,	  0,	0xc3 };

	memcpy(code + 3, &frame, sizeof(frame));
	memcpy(code + 8, &steps, sizeof(steps));
	memcpy(code + 19, &frame, sizeof(frame));
	memcpy(at, code, sizeof(code));
}

int main(int argc, char **argv)
{
	unsigned char *place = mmap(NULL, 65536, PROT_READ | PROT_WRITE | PROT_EXEC,
				    MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	uint64_t end = now_us() + (uint64_t)atoi(argc > 1 ? argv[1] : "4") * 1000000;
	uint64_t most = (uint64_t)atoi(argc > 2 ? argv[2] : "1000000");
	uint64_t next = 0;

	srandom((unsigned int)atoi(argc > 3 ? argv[3] : "1"));
	if (place == MAP_FAILED)
		return 1;
	while (now_us() < end) {
		if (now_us() >= next) {
			make(place + PLACE, 8 + 16 * (uint32_t)(random() % 100));
			next = now_us() + 1 + (uint64_t)random() % most;
		}
		outer((code_fn)(void *)(place + PLACE));
	}
	return 0;
}
