/* SPDX-License-Identifier: Apache-2.0 */
/* The ThreadSanitizer of gcc 12 does not know pthread_clockjoin_np(), so each thread that ends by it
 * would be a leak and its memory a race: it gets the call that it knows. */
#include <pthread.h>
#include <time.h>

enum {
	NS_PER_S = 1000000000,
};

__attribute__((visibility("default"))) int
pthread_clockjoin_np(pthread_t thread, void **ret, clockid_t clock,
		     const struct timespec *end)
{
	struct timespec now, real;
	long long left;

	(void)clock_gettime(clock, &now);
	(void)clock_gettime(CLOCK_REALTIME, &real);
	left = (long long)(end->tv_sec - now.tv_sec) * NS_PER_S + end->tv_nsec -
	       now.tv_nsec;
	left = (left > 0 ? left : 0) + real.tv_nsec;
	real.tv_sec += left / NS_PER_S;
	real.tv_nsec = left % NS_PER_S;
	return pthread_timedjoin_np(thread, ret, &real);
}
