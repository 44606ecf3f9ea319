/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A host's own malloc: each block has a mark in front of it. A library that brought another malloc
 * or hooks of its own would free blocks without it. With a sanitizer malloc is that one's, and
 * OWN_MALLOC is not defined.
 */
#ifndef OWN_MALLOC_H
#define OWN_MALLOC_H

#include <errno.h>
#include <malloc.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
#define OWN_MALLOC 1

void *__libc_memalign(size_t align, size_t size);
void __libc_free(void *p);

enum {
	OWN_BLOCK_BYTES = 32, /* of struct own_block, and the least alignment */
};

struct own_block {
	uint64_t mark;
	void *base; /* of glibc's block */
	size_t size;
	uint64_t reserved0;
};

static const uint64_t OWN_MARK = UINT64_C(0x6b72616d206e776f);
static unsigned long own_blocks;  /* that were allocated */
static unsigned long own_foreign; /* that were freed and had no mark */

static struct own_block *own_block_of(void *p)
{
	return (struct own_block *)((char *)p - OWN_BLOCK_BYTES);
}

void *memalign(size_t align, size_t size)
{
	struct own_block *block;
	char *base;

	if (align < OWN_BLOCK_BYTES)
		align = OWN_BLOCK_BYTES;
	base = size > SIZE_MAX - align ? NULL : __libc_memalign(align, size + align);
	if (!base) {
		errno = ENOMEM;
		return NULL;
	}
	block = own_block_of(base + align);
	*block = (struct own_block){ OWN_MARK, base, size, 0 };
	__atomic_add_fetch(&own_blocks, 1, __ATOMIC_RELAXED);
	return base + align;
}

void *malloc(size_t size)
{
	return memalign(OWN_BLOCK_BYTES, size);
}

void *aligned_alloc(size_t align, size_t size)
{
	return memalign(align, size);
}

int posix_memalign(void **ret, size_t align, size_t size)
{
	void *p = memalign(align, size);

	if (!p)
		return ENOMEM;
	*ret = p;
	return 0;
}

void *calloc(size_t n, size_t size)
{
	size_t bytes;
	void *p = __builtin_mul_overflow(n, size, &bytes) ? NULL : malloc(bytes);

	/* by a volatile pointer, so that the compiler does not make it a call of calloc */
	if (p)
		memset((void *volatile){ p }, 0, bytes);
	return p;
}

void free(void *p)
{
	struct own_block *block = p ? own_block_of(p) : NULL;

	if (!p)
		return;
	if (block->mark != OWN_MARK) {
		__atomic_add_fetch(&own_foreign, 1, __ATOMIC_RELAXED);
		return;
	}
	block->mark = 0;
	__libc_free(block->base);
}

void *realloc(void *p, size_t size)
{
	void *q = malloc(size);

	if (p && q) {
		size_t had = own_block_of(p)->size;

		memcpy(q, p, had < size ? had : size);
		free(p);
	}
	return q;
}

size_t malloc_usable_size(void *p)
{
	return p ? own_block_of(p)->size : 0;
}
#endif

#endif
