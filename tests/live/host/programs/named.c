/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program, and a library, that works in a function of the name that it is built with (-DNAME),
 * with a frame of -DPAD bytes.
 *
 *     named MS          work for so much CPU time
 *     named hold FILE   open the library FILE, work in it, close it, and live on
 */
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define PASTE2(a, b) a##b
#define PASTE(a, b)  PASTE2(a, b)
#define WORK_FN	     __attribute__((noinline, noclone, optimize("no-optimize-sibling-calls")))

static volatile unsigned long sink;

static long now_ms(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static WORK_FN void PASTE(NAME, _spin)(long end)
{
	volatile char pad[PAD];

	pad[0] = 1;
	while (now_ms() < end)
		for (int i = 0; i < 20000; i++)
			sink += (unsigned long)(i * pad[0]);
}

WORK_FN void named_work(long ms);
WORK_FN void named_work(long ms)
{
	PASTE(NAME, _spin)(now_ms() + ms);
	sink++;
}

#ifndef LIBRARY
static int hold(const char *path)
{
	void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	void (*work)(long) =
		library ? (void (*)(long))dlsym(library, "named_work") : NULL;

	if (!work)
		return 1;
	work(300);
	(void)dlclose(library);
	(void)puts("closed");
	(void)fflush(stdout);
	for (;;)
		(void)pause();
}

int main(int argc, char **argv)
{
	if (argc == 3 && !strcmp(argv[1], "hold"))
		return hold(argv[2]);
	if (argc != 2)
		return 2;
	named_work(atoi(argv[1]));
	return 0;
}
#endif
