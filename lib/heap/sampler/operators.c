/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The entry points of C++, with their names in the Itanium ABI for a size_t of 8 bytes.
 * In libstdc++ they are implemented by malloc() and free(), which have examined the
 * allocation already. They may throw; nothing has to be undone in that case.
 */
#include <stdlib.h>

#include "heap/sampler/sampler.h"

#define NEW(name, parameters, arguments)                                                 \
	OP_HEAP_EXPORT void *name parameters;                                            \
	OP_HEAP_EXPORT void *name parameters                                             \
	{                                                                                \
		static void *place;                                                      \
		void *(*next)parameters =                                                \
			(void *(*)parameters)op_heap_find(&place, #name);                \
		uint64_t before = op_heap_thread.made;                                   \
		void *p;                                                                 \
                                                                                         \
		if (!next)                                                               \
			return malloc(size);                                             \
		p = next arguments;                                                      \
		if (op_heap_heard() && op_heap_thread.made == before)                    \
			op_heap_made(p, size);                                           \
		return p;                                                                \
	}

#define DELETE(name, parameters, arguments)                                              \
	OP_HEAP_EXPORT void name parameters;                                             \
	OP_HEAP_EXPORT void name parameters                                              \
	{                                                                                \
		static void *place;                                                      \
		void(*next) parameters =                                                 \
			(void(*) parameters)op_heap_find(&place, #name);                 \
                                                                                         \
		if (op_heap_free_heard())                                                \
			op_heap_unmade(p);                                               \
		if (next)                                                                \
			next arguments;                                                  \
		else                                                                     \
			op_heap_next.free(p);                                            \
	}

/* clang-format off */
NEW(_Znwm, (size_t size), (size))
NEW(_Znam, (size_t size), (size))
NEW(_ZnwmRKSt9nothrow_t, (size_t size, const void *nothrow), (size, nothrow))
NEW(_ZnamRKSt9nothrow_t, (size_t size, const void *nothrow), (size, nothrow))
NEW(_ZnwmSt11align_val_t, (size_t size, size_t align), (size, align))
NEW(_ZnamSt11align_val_t, (size_t size, size_t align), (size, align))
NEW(_ZnwmSt11align_val_tRKSt9nothrow_t, (size_t size, size_t align, const void *nothrow),
    (size, align, nothrow))
NEW(_ZnamSt11align_val_tRKSt9nothrow_t, (size_t size, size_t align, const void *nothrow),
    (size, align, nothrow))
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
