/* SPDX-License-Identifier: Apache-2.0 */
/* Grows the memory of an array by half. */
#include "base/vec.h"

#include <errno.h>

#include "base/checked.h"

int op_vec_grow(void **data, size_t *cap, size_t len, size_t more, size_t elem_size)
{
	size_t want;
	size_t bytes;
	size_t new_cap;
	void *p;

	if (op_add_overflow(len, more, &want))
		return -ENOMEM;
	if (want <= *cap)
		return 0;
	new_cap = *cap < 8 ? 8 : *cap + *cap / 2;
	if (new_cap < want)
		new_cap = want;
	if (op_mul_overflow(new_cap, elem_size, &bytes))
		return -ENOMEM;
	p = realloc(*data, bytes);
	if (!p)
		return -ENOMEM;
	*data = p;
	*cap = new_cap;
	return 0;
}
