/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What the writer takes: nanoseconds a call, the least of some rounds, by pointers to functions,
 * beside a function that does nothing.
 *
 *	switch NAME [CALLS [LIBRARY]]
 *
 * Prints a row of a table. With LIBRARY the writer comes by dlopen(); otherwise it is the one that
 * the program is linked with.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#include <otelprof/context.h>

enum {
	ROUNDS = 9,
};

struct writer {
	void (*init)(struct otelprof_context *context, const uint8_t *trace_id,
		     const uint8_t *span_id);
	int (*add)(struct otelprof_context *context, unsigned int key, const char *value,
		   size_t len);
	void (*set_span)(struct otelprof_context *context, const uint8_t *span_id);
	struct otelprof_context *(*attach)(struct otelprof_context *context);
};

static uint64_t calls = 10000000;
static struct otelprof_context span[2];
static const uint8_t id[16] = { 1 };

__attribute__((noinline)) static struct otelprof_context *
nothing(struct otelprof_context *context)
{
	__asm__ volatile("" ::: "memory");
	return context;
}

static double now_ns(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
	return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

static void run_attach(const struct writer *w)
{
	uint64_t i;

	for (i = 0; i < calls; i++)
		(void)w->attach(&span[i & 1]);
}

static void run_init(const struct writer *w)
{
	uint64_t i;

	for (i = 0; i < calls; i++)
		w->init(&span[i & 1], id, id);
}

/* A value of 16 bytes; the room is for some, so it begins anew. */
static void run_add(const struct writer *w)
{
	uint64_t i;

	for (i = 0; i < calls; i++)
		if (w->add(&span[0], 0, "/sixteen/letters", 16) < 0)
			w->init(&span[0], id, id);
}

static void run_set_span(const struct writer *w)
{
	uint64_t i;

	for (i = 0; i < calls; i++)
		w->set_span(&span[i & 1], id);
}

static double least_ns(void (*run)(const struct writer *w), const struct writer *w)
{
	double least = 1e18;
	int i;

	for (i = 0; i < ROUNDS; i++) {
		double begin = now_ns();
		double ns;

		run(w);
		ns = (now_ns() - begin) / (double)calls;
		if (ns < least)
			least = ns;
	}
	return least;
}

static void *symbol(void *library, const char *name)
{
	void *at = dlsym(library, name);

	if (!at) {
		(void)fprintf(stderr, "switch: %s\n", dlerror());
		exit(1);
	}
	return at;
}

static struct writer open_writer(const char *path)
{
	void *library = dlopen(path, RTLD_NOW);
	struct writer w;

	if (!library) {
		(void)fprintf(stderr, "switch: %s\n", dlerror());
		exit(1);
	}
	*(void **)&w.init = symbol(library, "otelprof_context_init");
	*(void **)&w.add = symbol(library, "otelprof_context_add");
	*(void **)&w.set_span = symbol(library, "otelprof_context_set_span");
	*(void **)&w.attach = symbol(library, "otelprof_context_attach");
	return w;
}

int main(int argc, char **argv)
{
	struct writer w = { otelprof_context_init, otelprof_context_add,
			    otelprof_context_set_span, otelprof_context_attach };
	struct writer none = { .attach = nothing };

	if (argc > 2)
		calls = strtoull(argv[2], NULL, 10);
	if (argc > 3)
		w = open_writer(argv[3]);
	if (argc < 2 || !calls)
		return 2;
	w.init(&span[0], id, id);
	w.init(&span[1], id, id);
	(void)w.attach(&span[0]);
	if (w.attach(&span[1]) != &span[0]) {
		(void)fprintf(stderr, "switch: the writer did not attach\n");
		return 1;
	}
	(void)printf("| %s | %.2f | %.2f | %.2f | %.2f | %.2f |\n", argv[1],
		     least_ns(run_attach, &none), least_ns(run_attach, &w),
		     least_ns(run_set_span, &w), least_ns(run_init, &w),
		     least_ns(run_add, &w));
	return 0;
}
