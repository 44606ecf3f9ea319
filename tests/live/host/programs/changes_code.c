/* SPDX-License-Identifier: Apache-2.0 */
/* The code of changes.c: a library, or a program with -DPROGRAM, that works in a function of
 * -DNAME with a frame of -DPAD bytes behind -DFILL bytes of code. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

#define PASTE2(a, b) a##b
#define PASTE(a, b)  PASTE2(a, b)
#define TEXT2(a)     #a
#define TEXT(a)	     TEXT2(a)
#define WORK_FN	     __attribute__((noinline, noclone, optimize("no-optimize-sibling-calls")))

static volatile uint64_t sink;

static uint64_t now_ns(clockid_t clock)
{
	struct timespec t;

	(void)clock_gettime(clock, &t);
	return (uint64_t)t.tv_sec * 1000000000u + (uint64_t)t.tv_nsec;
}

WORK_FN void PASTE(NAME, _fill)(void);
WORK_FN void PASTE(NAME, _fill)(void)
{
	__asm__ volatile(".fill " TEXT(FILL) ", 1, 0x90");
}

static WORK_FN void PASTE(NAME, _spin)(uint64_t ns, uint64_t inner[2])
{
	volatile char pad[PAD];

	pad[0] = 1;
	ns += now_ns(CLOCK_PROCESS_CPUTIME_ID);
	inner[0] = now_ns(CLOCK_REALTIME);
	for (; now_ns(CLOCK_PROCESS_CPUTIME_ID) < ns; inner[1] = now_ns(CLOCK_REALTIME))
		for (int i = 0; i < 5000; i++)
			sink += (uint64_t)(i * pad[0]);
}

/* Works for @ns of CPU time. */
WORK_FN void changes_work(uint64_t ns, uint64_t inner[2]);
WORK_FN void changes_work(uint64_t ns, uint64_t inner[2])
{
	PASTE(NAME, _spin)(ns, inner);
	sink++;
}

#ifdef PROGRAM
/* run NS LOG NAME SHAPE */
int main(int argc, char **argv)
{
	uint64_t outer = now_ns(CLOCK_REALTIME);
	uint64_t inner[2] = { 0, 0 };
	char line[256];
	int fd;
	int len;

	if (argc != 5)
		return 2;
	fd = open(argv[2], O_WRONLY | O_APPEND);
	changes_work(strtoull(argv[1], NULL, 10), inner);
	len = snprintf(line, sizeof(line), "%d %s %lu %lu %lu %lu exec-%s\n",
		       (int)getpid(), argv[3], outer, inner[0], inner[1],
		       now_ns(CLOCK_REALTIME), argv[4]);
	return write(fd, line, (size_t)len) != len;
}
#endif
