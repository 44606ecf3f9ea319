/* SPDX-License-Identifier: Apache-2.0 */
/* Growable arrays. `OP_VEC(struct x) v = { 0 };` is empty. op_vec_push() returns a
 * pointer to the new element, or NULL without memory (the array stays as it was). */
#ifndef OP_BASE_VEC_H
#define OP_BASE_VEC_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#define OP_VEC(type)                                                                     \
	struct {                                                                         \
		type *data;                                                              \
		size_t len;                                                              \
		size_t cap;                                                              \
	}

/* Reserve memory for @more elements after @len. Returns 0 or -ENOMEM. */
int op_vec_grow(void **data, size_t *cap, size_t len, size_t more, size_t elem_size);

#define op_vec_reserve(v, more)                                                          \
	op_vec_grow((void **)&(v)->data, &(v)->cap, (v)->len, more, sizeof(*(v)->data))

#define op_vec_push(v) (op_vec_reserve(v, 1) ? NULL : &(v)->data[(v)->len++])

#define op_vec_foreach(item, v)                                                          \
	for ((item) = (v)->data; (v)->len && (item) < (v)->data + (v)->len; (item)++)

/* Release the memory; the array is empty and usable again. */
#define op_vec_clear(v)                                                                  \
	do {                                                                             \
		free((v)->data);                                                         \
		(v)->data = NULL;                                                        \
		(v)->len = (v)->cap = 0;                                                 \
	} while (0)

#endif
