/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The entry points of C++, with their names in the Itanium ABI for a size_t of 8 bytes.
 * In libstdc++ they are implemented by malloc() and free(), which have examined the
 * allocation already. They may throw, and then nothing has to be undone.
 *
 * A program of another language that loads a C++ library has no next operators, because
 * that library's libstdc++ is not linked into the program itself. Then the same
 * functions implement them here.
 */
#include <dlfcn.h>
#include <stdlib.h>

#include "preload/heap/sampler.h"

/* Look up the next operator @name. Either all of them or none are used, because one
 * implementation must not free what another has allocated. */
static void *find(void **place, const char *name)
{
	static void *plain;

	return op_preload_find(&plain, "_Znwm") ? op_preload_find(place, name) : NULL;
}

static void *unaligned(size_t size)
{
	return malloc(size ? size : 1);
}

static void *aligned(size_t size, size_t align)
{
	void *p;

	if (align < sizeof(void *))
		align = sizeof(void *);
	return posix_memalign(&p, align, size ? size : 1) ? NULL : p;
}

/* @p, unless there is no memory: callers of operators that throw do not expect NULL. */
static void *or_throw(void *p)
{
	static const char name[] = "_ZSt17__throw_bad_allocv";
	void (*throw_it)(void);

	if (p)
		return p;
	throw_it = (void (*)(void))dlsym(RTLD_DEFAULT, name);
	if (!throw_it) {
		void *library = dlopen("libstdc++.so.6", RTLD_LAZY | RTLD_NOLOAD);

		if (library)
			throw_it = (void (*)(void))dlsym(library, name);
	}
	if (throw_it)
		throw_it();
	return NULL; /* there is no libstdc++ that could throw */
}

#define NEW(name, parameters, arguments, otherwise)                                      \
	OP_HEAP_EXPORT void *name parameters;                                            \
	OP_HEAP_EXPORT void *name parameters                                             \
	{                                                                                \
		static void *place;                                                      \
		void *(*next)parameters = (void *(*)parameters)find(&place, #name);      \
		uint64_t before = op_preload_thread.made;                                \
		void *p;                                                                 \
                                                                                         \
		if (!next)                                                               \
			return otherwise;                                                \
		p = next arguments;                                                      \
		if (op_preload_heard() && op_preload_thread.made == before)              \
			op_preload_made(p, size);                                        \
		return p;                                                                \
	}

#define DELETE(name, parameters, arguments)                                              \
	OP_HEAP_EXPORT void name parameters;                                             \
	OP_HEAP_EXPORT void name parameters                                              \
	{                                                                                \
		static void *place;                                                      \
		void(*next) parameters = (void(*) parameters)find(&place, #name);        \
                                                                                         \
		if (op_preload_free_heard())                                             \
			op_preload_unmade(p);                                            \
		if (next)                                                                \
			next arguments;                                                  \
		else                                                                     \
			op_preload_next.free(p);                                         \
	}

/* clang-format off */
NEW(_Znwm, (size_t size), (size), or_throw(unaligned(size)))
NEW(_Znam, (size_t size), (size), or_throw(unaligned(size)))
NEW(_ZnwmRKSt9nothrow_t, (size_t size, const void *nothrow), (size, nothrow), unaligned(size))
NEW(_ZnamRKSt9nothrow_t, (size_t size, const void *nothrow), (size, nothrow), unaligned(size))
NEW(_ZnwmSt11align_val_t, (size_t size, size_t align), (size, align),
    or_throw(aligned(size, align)))
NEW(_ZnamSt11align_val_t, (size_t size, size_t align), (size, align),
    or_throw(aligned(size, align)))
NEW(_ZnwmSt11align_val_tRKSt9nothrow_t, (size_t size, size_t align, const void *nothrow),
    (size, align, nothrow), aligned(size, align))
NEW(_ZnamSt11align_val_tRKSt9nothrow_t, (size_t size, size_t align, const void *nothrow),
    (size, align, nothrow), aligned(size, align))
DELETE(_ZdlPv, (void *p), (p))
DELETE(_ZdaPv, (void *p), (p))
DELETE(_ZdlPvm, (void *p, size_t size), (p, size))
DELETE(_ZdaPvm, (void *p, size_t size), (p, size))
DELETE(_ZdlPvRKSt9nothrow_t, (void *p, const void *nothrow), (p, nothrow))
DELETE(_ZdaPvRKSt9nothrow_t, (void *p, const void *nothrow), (p, nothrow))
DELETE(_ZdlPvSt11align_val_t, (void *p, size_t align), (p, align))
DELETE(_ZdaPvSt11align_val_t, (void *p, size_t align), (p, align))
DELETE(_ZdlPvmSt11align_val_t, (void *p, size_t size, size_t align), (p, size, align))
DELETE(_ZdaPvmSt11align_val_t, (void *p, size_t size, size_t align), (p, size, align))
DELETE(_ZdlPvSt11align_val_tRKSt9nothrow_t, (void *p, size_t align, const void *nothrow),
       (p, align, nothrow))
DELETE(_ZdaPvSt11align_val_tRKSt9nothrow_t, (void *p, size_t align, const void *nothrow),
       (p, align, nothrow))
/* clang-format on */
