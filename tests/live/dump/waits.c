/* SPDX-License-Identifier: Apache-2.0 */
/* Threads that wait in known ways, each in a function of its own. */
#include <netinet/in.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PLACE __attribute__((noinline)) static void *

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER,
		       other = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t cond = PTHREAD_COND_INITIALIZER;
static int network[2], pipes[2];
static volatile int never;

PLACE in_lock(void *arg)
{
	pthread_mutex_lock(&mutex); /* PLACE in_lock lock */
	never = 1;
	return arg;
}

PLACE in_cond(void *arg)
{
	pthread_mutex_lock(&other);
	pthread_cond_wait(&cond, &other); /* PLACE in_cond condition */
	never = 1;
	return arg;
}

PLACE in_sleep(void *arg)
{
	const struct timespec t = { .tv_sec = 1000 };

	nanosleep(&t, NULL); /* PLACE in_sleep sleep */
	never = 1;
	return arg;
}

PLACE in_network(void *arg)
{
	char c;

	(void)!recv(network[0], &c, 1, 0); /* PLACE in_network network */
	never = 1;
	return arg;
}

PLACE in_pipe(void *arg)
{
	char c;

	(void)!read(pipes[0], &c, 1); /* PLACE in_pipe pipe */
	never = 1;
	return arg;
}

PLACE in_poll(void *arg)
{
	struct pollfd p = { .fd = pipes[0], .events = POLLIN };

	(void)poll(&p, 1, -1); /* PLACE in_poll events */
	never = 1;
	return arg;
}

PLACE in_child(void *arg)
{
	(void)waitpid(-1, NULL, 0); /* PLACE in_child child */
	never = 1;
	return arg;
}

PLACE in_work(void *arg)
{
	for (;; never = never + 1) /* PLACE in_work None */
		;
	return arg;
}

/* Both ends of a connection over loopback. */
static int connect_loopback(void)
{
	struct sockaddr_in a = { .sin_family = AF_INET,
				 .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(a);
	int s = socket(AF_INET, SOCK_STREAM, 0);

	if (bind(s, (struct sockaddr *)&a, len) || listen(s, 1) ||
	    getsockname(s, (struct sockaddr *)&a, &len))
		return -1;
	network[1] = socket(AF_INET, SOCK_STREAM, 0);
	if (connect(network[1], (struct sockaddr *)&a, len))
		return -1;
	network[0] = accept(s, NULL, NULL);
	return network[0] < 0;
}

int main(void)
{
	void *(*const places[])(void *) = { in_lock, in_cond, in_sleep, in_network,
					    in_pipe, in_poll, in_child, in_work };
	pthread_t threads[8];
	size_t i;

	if (connect_loopback() || pipe(pipes))
		return 1;
	pthread_mutex_lock(&mutex);
	if (!fork()) {
		pause();
		_exit(0);
	}
	for (i = 0; i < 8; i++)
		if (pthread_create(&threads[i], NULL, places[i], NULL))
			return 1;
	usleep(500000);
	puts("ready");
	fflush(stdout);
	pthread_join(threads[0], NULL); /* PLACE main thread */
	return 0;
}
