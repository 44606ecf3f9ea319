/* SPDX-License-Identifier: Apache-2.0 */
/*
 * LD_PRELOAD: the wall clock of the program alone steps by STEP seconds, AFTER ms after its first
 * look at it. STEP_2 is a second step, as late again. With ASLEEP the time since boot has the same
 * steps, as after a suspend: the monotonic clock stands during it.
 */
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum {
	NS_PER_S = 1000000000,
	NS_PER_MS = 1000000,
};

static long long number(const char *name)
{
	const char *text = getenv(name);

	return text ? atoll(text) : 0;
}

int clock_gettime(clockid_t clock, struct timespec *t)
{
	static long long begin;
	long r = syscall(SYS_clock_gettime, clock, t);
	struct timespec m;
	long long now, after;

	if (r ||
	    (clock != CLOCK_REALTIME && !(clock == CLOCK_BOOTTIME && getenv("ASLEEP"))))
		return (int)r;
	(void)syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &m);
	now = m.tv_sec * (long long)NS_PER_S + m.tv_nsec;
	begin = begin ? begin : now;
	after = number("AFTER") * NS_PER_MS;
	if (now - begin >= after)
		t->tv_sec += number("STEP");
	if (now - begin >= 2 * after)
		t->tv_sec += number("STEP_2");
	return 0;
}
