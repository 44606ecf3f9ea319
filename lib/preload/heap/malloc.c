/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The entry points of C. The next allocator may implement one function by another one
 * that we also intercept. So an allocation is examined here only if no inner call has
 * done so.
 */
#include <errno.h>
#include <malloc.h>
#include <stdlib.h>

#include "preload/heap/sampler.h"

__attribute__((noinline)) void op_preload_made(void *p, size_t size)
{
	struct op_preload_thread *t = &op_preload_thread;
	uint64_t weight;

	if (!p)
		return;
	t->made++;
	if (!size)
		size = 1; /* an empty allocation takes memory, too */
	if (op_likely(t->random &&
		      !__builtin_sub_overflow(t->left, (int64_t)size, &t->left) &&
		      t->left >= 0))
		return;
	weight = op_preload_sample(size);
	if (!weight)
		return;
	if (op_preload_addresses_add(p)) {
		op_preload_report_alloc(p, size, weight);
		return;
	}
	/* Its free could not be recognised, so report it as allocated and freed
	 * at once. */
	op_preload_report_alloc(p, size, weight);
	op_preload_report_free(p);
}

__attribute__((noinline)) void op_preload_unmade(void *p)
{
	if (!p)
		return;
	if (!__atomic_load_n(&op_preload_free_gate.part.listeners, __ATOMIC_RELAXED)) {
		op_preload_addresses_clear(); /* no profiler listens */
		return;
	}
	if (op_preload_addresses_take(p))
		op_preload_report_free(p);
}

OP_HEAP_EXPORT void *malloc(size_t size)
{
	void *p;

	if (!op_preload_heard())
		return op_preload_next.malloc(size);
	p = op_preload_next.malloc(size);
	op_preload_made(p, size);
	return p;
}

OP_HEAP_EXPORT void free(void *p)
{
	if (op_preload_free_heard())
		op_preload_unmade(p);
	op_preload_next.free(p);
}

OP_HEAP_EXPORT void *calloc(size_t n, size_t size)
{
	uint64_t before;
	void *p;

	if (!op_preload_heard())
		return op_preload_next.calloc(n, size);
	before = op_preload_thread.made;
	p = op_preload_next.calloc(n, size);
	if (op_preload_thread.made == before)
		/* there is memory, so the product did not overflow */
		op_preload_made(p, n * size);
	return p;
}

/* realloc() is a free and an allocation, even if the address stays the same. The free is
 * reported before the call: another thread may get the address as soon as it is free. */
OP_HEAP_EXPORT void *realloc(void *old, size_t size)
{
	uint64_t before;
	void *p;

	if (op_preload_free_heard())
		op_preload_unmade(old);
	if (!op_preload_heard())
		return op_preload_next.realloc(old, size);
	before = op_preload_thread.made;
	p = op_preload_next.realloc(old, size);
	if (op_preload_thread.made == before)
		op_preload_made(p, size);
	return p;
}

OP_HEAP_EXPORT void *reallocarray(void *old, size_t n, size_t size)
{
	size_t bytes;

	if (__builtin_mul_overflow(n, size, &bytes)) {
		errno = ENOMEM;
		return NULL;
	}
	return realloc(old, bytes);
}

/* Functions that are called rarely; they are looked up at their first call. */

typedef void *(*one_fn)(size_t);
typedef void *(*aligned_fn)(size_t, size_t);
typedef int (*posix_fn)(void **, size_t, size_t);
typedef void (*free_sized_fn)(void *, size_t);
typedef void (*free_aligned_fn)(void *, size_t, size_t);

OP_HEAP_EXPORT int posix_memalign(void **ret, size_t align, size_t size)
{
	static void *place;
	posix_fn next = (posix_fn)op_preload_find(&place, "posix_memalign");
	uint64_t before = op_preload_thread.made;
	int r = next ? next(ret, align, size) : ENOMEM;

	if (r == 0 && op_preload_heard() && op_preload_thread.made == before)
		op_preload_made(*ret, size);
	return r;
}

static void *aligned(aligned_fn next, size_t align, size_t size)
{
	uint64_t before = op_preload_thread.made;
	void *p;

	if (!next) {
		errno = ENOMEM;
		return NULL;
	}
	p = next(align, size);
	if (op_preload_heard() && op_preload_thread.made == before)
		op_preload_made(p, size);
	return p;
}

OP_HEAP_EXPORT void *aligned_alloc(size_t align, size_t size)
{
	static void *place;

	return aligned((aligned_fn)op_preload_find(&place, "aligned_alloc"), align, size);
}

OP_HEAP_EXPORT void *memalign(size_t align, size_t size)
{
	static void *place;

	return aligned((aligned_fn)op_preload_find(&place, "memalign"), align, size);
}

static void *paged(one_fn next, size_t size)
{
	uint64_t before = op_preload_thread.made;
	void *p;

	if (!next) {
		errno = ENOMEM;
		return NULL;
	}
	p = next(size);
	if (op_preload_heard() && op_preload_thread.made == before)
		op_preload_made(p, size);
	return p;
}

OP_HEAP_EXPORT void *valloc(size_t size)
{
	static void *place;

	return paged((one_fn)op_preload_find(&place, "valloc"), size);
}

OP_HEAP_EXPORT void *pvalloc(size_t size)
{
	static void *place;

	return paged((one_fn)op_preload_find(&place, "pvalloc"), size);
}

/* Since C23. */
OP_HEAP_EXPORT void free_sized(void *p, size_t size);
OP_HEAP_EXPORT void free_sized(void *p, size_t size)
{
	static void *place;
	free_sized_fn next = (free_sized_fn)op_preload_find(&place, "free_sized");

	if (op_preload_free_heard())
		op_preload_unmade(p);
	if (next)
		next(p, size);
	else
		op_preload_next.free(p);
}

OP_HEAP_EXPORT void free_aligned_sized(void *p, size_t align, size_t size);
OP_HEAP_EXPORT void free_aligned_sized(void *p, size_t align, size_t size)
{
	static void *place;
	free_aligned_fn next =
		(free_aligned_fn)op_preload_find(&place, "free_aligned_sized");

	if (op_preload_free_heard())
		op_preload_unmade(p);
	if (next)
		next(p, align, size);
	else
		op_preload_next.free(p);
}
