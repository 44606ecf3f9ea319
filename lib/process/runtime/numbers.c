/* SPDX-License-Identifier: Apache-2.0 */
#include "process/runtime/numbers.h"

#include <stdlib.h>

#include "base/macros.h"
#include "process/runtime/runtimes.h"
#include "unwind/arena.h"

size_t op_runtimes_bpf_bytes(const struct op_runtime_ops *ops)
{
	return OP_ALIGN_UP(OP_MAX(ops->bpf_size, (size_t)8), (size_t)8);
}

struct op_runtime_instance *op_runtimes_take(struct op_runtimes *r,
					     struct op_image *image, uint64_t bias)
{
	struct op_runtime_instance *free_one = NULL;
	size_t i;

	for (i = 1; i < OP_INSTANCES_MAX; i++) {
		struct op_runtime_instance *slot = &r->slot[i];

		if (slot->image == image && slot->bias == bias)
			return slot;
		if (!slot->image && !free_one)
			free_one = slot;
	}
	if (!free_one)
		return NULL;
	*free_one = (struct op_runtime_instance){ .image = image,
						  .ops = image->runtime,
						  .bias = bias };
	image->refs++;
	return free_one;
}

void op_runtimes_release(struct op_runtime_instance *i, struct op_arena *arena,
			 struct op_images *images, uint64_t now_ns)
{
	if (i->instance) {
		i->ops->detach(i->instance);
		images->others_attached -= i->image->other;
		op_cache_deinit(&i->frames);
		op_arena_release(arena, i->ref, op_runtimes_bpf_bytes(i->ops), now_ns);
		free(i->bpf);
	}
	op_image_put(images, i->image, now_ns);
	*i = (struct op_runtime_instance){ 0 };
}
