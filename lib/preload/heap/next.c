/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The next allocator. The first call looks it up with the dynamic linker, which may
 * allocate memory itself. That memory comes from a small pool, and is never reused.
 * free() and realloc() recognise it by its address, and check for it only if the pool
 * was used at all.
 */
#include <dlfcn.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "preload/heap/sampler.h"

enum {
	POOL_BYTES = 16384,
	POOL_ALIGN = 16,
};

static void *first_malloc(size_t size);
static void *first_calloc(size_t n, size_t size);
static void *first_realloc(void *p, size_t size);
static void first_free(void *p);

struct op_preload_next op_preload_next = { first_malloc, first_calloc, first_realloc,
					   first_free };

static struct op_preload_next behind; /* the functions of the next allocator */
static char pool[POOL_BYTES] __attribute__((aligned(POOL_ALIGN)));
static size_t pool_used;
static bool asking;
static char none; /* its address means "there is no such function" */

void *op_preload_find(void **place, const char *name)
{
	void *f = __atomic_load_n(place, __ATOMIC_RELAXED);

	if (!f) {
		f = dlsym(RTLD_NEXT, name);
		if (!f)
			f = &none;
		__atomic_store_n(place, f, __ATOMIC_RELAXED);
	}
	return f == &none ? NULL : f;
}

static void *pool_alloc(size_t size)
{
	size_t at = pool_used;

	if (size > POOL_BYTES - at) {
		errno = ENOMEM;
		return NULL;
	}
	pool_used = (at + size + POOL_ALIGN - 1) & ~(size_t)(POOL_ALIGN - 1);
	return pool + at;
}

static bool of_pool(const void *p)
{
	return (uintptr_t)p - (uintptr_t)pool < POOL_BYTES;
}

static void pool_free(void *p)
{
	if (!of_pool(p))
		behind.free(p);
}

static void *pool_realloc(void *p, size_t size)
{
	size_t old;
	void *to;

	if (!of_pool(p))
		return behind.realloc(p, size);
	old = (size_t)(pool + pool_used - (char *)p); /* an upper bound */
	to = behind.malloc(size);
	return to ? memcpy(to, p, old < size ? old : size) : NULL;
}

static void ask(void)
{
	struct op_preload_next found = { 0 };

	asking = true;
	found.malloc = dlsym(RTLD_NEXT, "malloc");
	found.calloc = dlsym(RTLD_NEXT, "calloc");
	found.realloc = dlsym(RTLD_NEXT, "realloc");
	found.free = dlsym(RTLD_NEXT, "free");
	behind = found;
	if (pool_used) {
		found.free = pool_free;
		found.realloc = pool_realloc;
	}
	op_preload_next = found;
	asking = false;
}

static void *first_malloc(size_t size)
{
	if (asking)
		return pool_alloc(size);
	ask();
	return op_preload_next.malloc(size);
}

static void *first_calloc(size_t n, size_t size)
{
	size_t bytes;

	if (!asking) {
		ask();
		return op_preload_next.calloc(n, size);
	}
	if (__builtin_mul_overflow(n, size, &bytes))
		return NULL;
	/* memory of the pool is zero, because none is given out twice */
	return pool_alloc(bytes);
}

static void *first_realloc(void *p, size_t size)
{
	void *to;

	if (!asking) {
		ask();
		return op_preload_next.realloc(p, size);
	}
	to = pool_alloc(size);
	if (to && p)
		(void)memmove(to, p, size);
	return to;
}

static void first_free(void *p)
{
	if (asking)
		return;
	ask();
	op_preload_next.free(p);
}

__attribute__((constructor)) static void begin(void)
{
	const char *bytes = getenv(OP_HEAP_INTERVAL_ENV);
	uint64_t mean = bytes ? strtoull(bytes, NULL, 10) : 0;

	if (op_preload_next.malloc == first_malloc && !asking)
		ask();
	if (mean && mean <= UINT32_MAX)
		op_preload_set_interval(mean);
}
