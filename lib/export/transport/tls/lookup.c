/* SPDX-License-Identifier: Apache-2.0 */
#include "export/transport/tls/lookup.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/macros.h"

struct op_lookup {
	char *host;
	char *port;
	pthread_mutex_t lock;
	pthread_cond_t ended;
	unsigned int users; /* its thread and who waits: the last one frees it */
	bool done;
	struct addrinfo *list; /* once it is done */
};

static void destroy(struct op_lookup *l)
{
	if (l->list)
		freeaddrinfo(l->list);
	(void)pthread_cond_destroy(&l->ended);
	(void)pthread_mutex_destroy(&l->lock);
	free(l->host);
	free(l->port);
	free(l);
}

struct op_lookup *op_lookup_release(struct op_lookup *l)
{
	bool last;

	if (!l)
		return NULL;
	(void)pthread_mutex_lock(&l->lock);
	last = --l->users == 0;
	(void)pthread_mutex_unlock(&l->lock);
	if (last)
		destroy(l);
	return NULL;
}

static void *look_up(void *arg)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM };
	struct addrinfo *list = NULL;
	struct op_lookup *l = arg;

	if (getaddrinfo(l->host, l->port, &hints, &list))
		list = NULL;
	(void)pthread_mutex_lock(&l->lock);
	l->list = list;
	l->done = true;
	(void)pthread_cond_signal(&l->ended);
	(void)pthread_mutex_unlock(&l->lock);
	(void)op_lookup_release(l);
	return NULL;
}

/* The signals of its thread are blocked like those of its creator, the sending thread. */
static int start(struct op_lookup *l)
{
	pthread_attr_t attr;
	pthread_t thread;
	int r;

	r = pthread_attr_init(&attr);
	if (r)
		return -r;
	(void)pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	l->users = 2;
	r = pthread_create(&thread, &attr, look_up, l);
	(void)pthread_attr_destroy(&attr);
	return -r;
}

int op_lookup_begin(const char *host, const char *port, struct op_lookup **ret)
{
	struct op_lookup *l = calloc(1, sizeof(*l));
	int r;

	if (!l)
		return -ENOMEM;
	(void)pthread_mutex_init(&l->lock, NULL);
	(void)pthread_cond_init(&l->ended, NULL);
	l->host = strdup(host);
	l->port = strdup(port);
	r = l->host && l->port ? start(l) : -ENOMEM;
	if (r < 0) {
		destroy(l);
		return r;
	}
	*ret = l;
	return 0;
}

bool op_lookup_wait(struct op_lookup *l, uint32_t ms, const struct addrinfo **ret)
{
	struct timespec until;
	bool done;
	int r = 0;

	(void)clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += ms / OP_MS_PER_S;
	until.tv_nsec += (long)(ms % OP_MS_PER_S) * OP_NS_PER_MS;
	if (until.tv_nsec >= OP_NS_PER_S) {
		until.tv_nsec -= OP_NS_PER_S;
		until.tv_sec++;
	}
	(void)pthread_mutex_lock(&l->lock);
	while (!l->done && !r)
		r = pthread_cond_clockwait(&l->ended, &l->lock, CLOCK_MONOTONIC, &until);
	done = l->done;
	if (done)
		*ret = l->list;
	(void)pthread_mutex_unlock(&l->lock);
	return done;
}
