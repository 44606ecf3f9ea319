/* SPDX-License-Identifier: Apache-2.0 */
/* Four threads hold one lock while they work, so that they work one after the other. */
#include <pthread.h>
#include <stdlib.h>

enum {
	THREADS = 4,
	WORK = 200000
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static volatile unsigned long total;

static void add_to_total(void)
{
	unsigned long i;

	pthread_mutex_lock(&lock); /* GUILTY */
	for (i = 0; i < WORK; i++)
		total += i;
	pthread_mutex_unlock(&lock);
}

static void *serve(void *unused)
{
	for (;;)
		add_to_total();
	return unused;
}

int main(void)
{
	pthread_t threads[THREADS];
	int i;

	for (i = 0; i < THREADS; i++)
		if (pthread_create(&threads[i], NULL, serve, NULL))
			return 1;
	pthread_join(threads[0], NULL);
	return 0;
}
