/* SPDX-License-Identifier: Apache-2.0 */
/* Two named threads share the time; each runs the chain by its own CPU clock. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <pthread.h>

#include "links.h"

static double truth_seconds;

TRUTH_FN void *thread_main(void *arg)
{
	(void)arg;
	truth_run(f24, (uint64_t)(truth_seconds * 1e9 / 2));
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t threads[2];
	struct timespec ts;

	truth_seconds = argc > 1 ? atof(argv[1]) : 1;
	(void)printf("ready %d\n", (int)getpid());
	(void)fflush(stdout);
	for (int i = 0; i < 2; i++) {
		if (pthread_create(&threads[i], NULL, thread_main, NULL))
			return 1;
		(void)pthread_setname_np(threads[i], i ? "truth-two" : "truth-one");
	}
	for (int i = 0; i < 2; i++)
		(void)pthread_join(threads[i], NULL);
	(void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &ts);
	(void)printf("cpu_ns %lld\n", (long long)ts.tv_sec * 1000000000 + ts.tv_nsec);
	return 0;
}
