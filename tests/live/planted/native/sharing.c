/* SPDX-License-Identifier: Apache-2.0 */
/* Each worker counts for itself, but the counters of all workers share a line of the cache. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>

enum {
	WORKERS = 2,
	PACKET = 1500
};

static struct {
	volatile uint64_t packets;
	volatile uint64_t bytes;
} counters[WORKERS];

static unsigned int next_size(unsigned int seed)
{
	return seed * 1103515245 + 12345;
}

static void count_packet(int worker, unsigned int size)
{
	counters[worker].packets++;	/* GUILTY */
	counters[worker].bytes += size; /* GUILTY */
}

static void *receive(void *arg)
{
	int worker = (int)(intptr_t)arg;
	unsigned int size = (unsigned int)worker;

	for (;;) {
		size = next_size(size);
		count_packet(worker, size % PACKET);
	}
	return NULL;
}

int main(void)
{
	pthread_t threads[WORKERS];
	int i;

	for (i = 0; i < WORKERS; i++)
		if (pthread_create(&threads[i], NULL, receive, (void *)(intptr_t)i))
			return 1;
	return pthread_join(threads[0], NULL);
}
