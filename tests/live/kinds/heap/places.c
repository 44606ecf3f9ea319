/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A program that allocates known amounts in known places, as it is asked by its standard input:
 * a struct request each, which is answered by the same when it is done. It never says anything
 * of a profiler.
 */
#include <malloc.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "places.h"

#define PLACE	    __attribute__((noinline, noclone))
#define STAYS(name) __asm__ volatile("/* " name " */" ::: "memory")

enum {
	KEPT_MAX = 65536,
};

struct kept {
	void *p[KEPT_MAX];
	size_t len;
};

static struct kept of_a, of_b, of_c, others;

static void keep(struct kept *k, void *p)
{
	if (!p || k->len == KEPT_MAX)
		_exit(3);
	*(volatile char *)p = 1;
	k->p[k->len++] = p;
}

static void let_go(struct kept *k)
{
	while (k->len)
		free(k->p[--k->len]);
}

static PLACE void *place_a(size_t size)
{
	void *p = malloc(size);

	STAYS("a");
	return p;
}

static PLACE void *place_b(size_t size)
{
	void *p = malloc(size);

	STAYS("b");
	return p;
}

static PLACE void *place_c(size_t size)
{
	void *p = malloc(size);

	STAYS("c");
	return p;
}

static PLACE void *place_child(size_t size)
{
	void *p = malloc(size);

	STAYS("child");
	return p;
}

static PLACE void *place_calloc(size_t size)
{
	char *p = calloc(4, size / 4);

	STAYS("calloc");
	return p && !p[size - 1] ? p : NULL;
}

static PLACE void *place_realloc(void *old, size_t size)
{
	void *p = realloc(old, size);

	STAYS("realloc");
	return p;
}

static PLACE void *place_reallocarray(size_t size)
{
	void *p = reallocarray(NULL, 4, size / 4);

	STAYS("reallocarray");
	return p;
}

static PLACE void *place_aligned(int which, size_t size)
{
	void *p = NULL;

	switch (which) {
	case 0:
		return posix_memalign(&p, 128, size) ? NULL : p;
	case 1:
		p = aligned_alloc(128, size);
		break;
	case 2:
		p = memalign(128, size);
		break;
	default:
		p = valloc(size);
	}
	STAYS("aligned");
	return (uintptr_t)p % 128 ? NULL : p;
}

/* 60, 30 and 10 per cent, by turns. */
static void three_places(const struct request *q, bool keeps)
{
	static void *(*const place[10])(size_t) = { place_a, place_b, place_a, place_a,
						    place_b, place_a, place_c, place_a,
						    place_b, place_a };
	struct kept *kept;
	uint32_t i;

	for (i = 0; i < q->n; i++) {
		void *p = place[i % 10](q->size);

		kept = place[i % 10] == place_a	  ? &of_a
		       : place[i % 10] == place_b ? &of_b
						  : &of_c;
		if (keeps)
			keep(kept, p);
		else
			free(p);
	}
}

static void *thread_main(void *arg)
{
	three_places(arg, false);
	return NULL;
}

static void in_threads(const struct request *q)
{
	pthread_t thread[PLACES_THREADS];
	int i;

	for (i = 0; i < PLACES_THREADS; i++)
		if (pthread_create(&thread[i], NULL, thread_main, (void *)q))
			_exit(4);
	for (i = 0; i < PLACES_THREADS; i++)
		(void)pthread_join(thread[i], NULL);
}

/* The child frees what it inherited, and allocates. */
static void in_child(const struct request *q)
{
	uint32_t i;
	pid_t pid = fork();

	if (pid == 0) {
		let_go(&of_a);
		for (i = 0; i < q->n; i++)
			free(place_child(q->size));
		_exit(0);
	}
	(void)waitpid(pid, NULL, 0);
}

static void other_calls(const struct request *q)
{
	uint32_t i;

	for (i = 0; i < q->n; i++) {
		keep(&others, place_calloc(q->size));
		keep(&others, place_reallocarray(q->size));
		keep(&others, place_aligned((int)(i % 4), q->size));
	}
}

static void grow(const struct request *q)
{
	size_t i;

	for (i = 0; i < of_c.len; i++)
		of_c.p[i] = place_realloc(of_c.p[i], q->size);
}

static void serve(const struct request *q)
{
	switch (q->what) {
	case 'k':
		three_places(q, true);
		break;
	case 'm':
		three_places(q, false);
		break;
	case 't':
		in_threads(q);
		break;
	case 'c':
		in_child(q);
		break;
	case 'o':
		other_calls(q);
		break;
	case 'r':
		grow(q);
		break;
	case 'a':
		let_go(&of_a);
		break;
	case 'f':
		let_go(&of_a);
		let_go(&of_b);
		let_go(&of_c);
		let_go(&others);
		break;
	default:
		break;
	}
}

int main(void)
{
	struct request q;

	while (read(0, &q, sizeof(q)) == sizeof(q)) {
		serve(&q);
		(void)!write(1, &q, sizeof(q));
	}
	return 0;
}
