/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps objects by address, with a limit of their number and bytes. */
#include "runtime/objects.h"

#include <errno.h>

void *op_objects_find(const struct op_objects *objects, uint64_t addr, uint64_t *ret_at)
{
	*ret_at = UINT64_MAX;
	if (!op_map64_get(&objects->by_addr, addr, ret_at))
		return NULL;
	return objects->all.data[*ret_at];
}

static void drop_all(struct op_objects *objects)
{
	size_t i;

	for (i = 0; i < objects->all.len; i++)
		objects->kind->free(objects->all.data[i]);
	objects->all.len = 0;
	objects->bytes = 0;
	op_map64_clear(&objects->by_addr);
}

void op_objects_begin(struct op_objects *objects)
{
	if (objects->all.len >= objects->kind->max ||
	    objects->bytes > objects->kind->bytes_max)
		drop_all(objects);
}

int op_objects_keep(struct op_objects *objects, uint64_t addr, void *object, uint64_t at)
{
	const struct op_objects_kind *kind = objects->kind;

	if (at < objects->all.len) {
		objects->bytes -= kind->bytes(objects->all.data[at]);
		kind->free(objects->all.data[at]);
		objects->all.data[at] = object;
		objects->bytes += kind->bytes(object);
		return 0;
	}
	if (op_vec_reserve(&objects->all, 1) < 0 ||
	    op_map64_put(&objects->by_addr, addr, objects->all.len) < 0) {
		kind->free(object);
		return -ENOMEM;
	}
	objects->all.data[objects->all.len++] = object;
	objects->bytes += kind->bytes(object);
	return 0;
}

void op_objects_deinit(struct op_objects *objects)
{
	drop_all(objects);
	op_vec_clear(&objects->all);
}
