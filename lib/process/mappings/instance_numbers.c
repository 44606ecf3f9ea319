/* SPDX-License-Identifier: Apache-2.0 */
#include "process/mappings/instance_numbers.h"

#include <stdlib.h>

#include "base/macros.h"
#include "code/unwind/arena.h"
#include "process/image/executable.h"
#include "process/mappings/runtimes.h"

enum {
	RETRY_SHIFT_MAX = 7,
};

/* The interval between attempts to find a number for a file: 64 ms, ... 8.2 s. */
static const uint64_t RETRY_NS = UINT64_C(64000000);

size_t op_program_runtimes_bpf_bytes(const struct op_runtime_ops *ops)
{
	return OP_ALIGN_UP(OP_MAX(ops->bpf_size, (size_t)8), (size_t)8);
}

/* The instance of @image at @bias, or NULL. find(r, NULL, 0) is the first free one. */
static struct op_runtime_instance *find(const struct op_program_runtimes *r,
					const struct op_image *image, uint64_t bias)
{
	size_t i;

	for (i = 1; i < OP_INSTANCES_MAX; i++)
		if (r->slot[i].image == image && r->slot[i].bias == bias)
			return &r->slot[i];
	return NULL;
}

struct op_runtime_instance *op_program_runtimes_take(struct op_program_runtimes *r,
						     struct op_image *image,
						     uint64_t bias)
{
	struct op_runtime_instance *slot = find(r, image, bias);

	if (slot)
		return slot;
	slot = find(r, NULL, 0);
	if (!slot)
		return NULL;
	*slot = (struct op_runtime_instance){ .image = image,
					      .ops = image->runtime,
					      .bias = bias };
	image->refs++;
	return slot;
}

void op_program_runtimes_release(struct op_runtime_instance *i, struct op_arena *arena,
				 struct op_images *images, uint64_t now_ns)
{
	if (i->instance) {
		i->ops->detach(i->instance);
		images->others_attached -= i->image->other;
		op_cache_deinit(&i->frames);
		op_arena_release(arena, i->ref, op_program_runtimes_bpf_bytes(i->ops),
				 now_ns);
		free(i->bpf);
	}
	op_image_put(images, i->image, now_ns);
	*i = (struct op_runtime_instance){ 0 };
}

bool op_program_runtimes_give_back(struct op_program_runtimes *r,
				   const struct op_program_runtimes_context *context)
{
	const struct op_mappings *mappings = context->mappings;
	struct op_runtime_instance *oldest = NULL;
	uint32_t mapped = 0;
	size_t i;

	if (!context->over_ns)
		return false;
	for (i = 0; i < mappings->len; i++) {
		const struct op_mapping *v = &mappings->vma[i];
		const struct op_executable *e = v->exe;
		const struct op_runtime_instance *slot;

		if (!e || !e->image || !e->image->runtime)
			continue;
		if (op_mapping_is_doubted(
			    v)) /* its place is not known before the file is compared */
			return false;
		slot = find(r, e->image, v->bias);
		if (slot)
			mapped |= UINT32_C(1) << (slot - r->slot);
	}
	r->gone = false;
	for (i = 1; i < OP_INSTANCES_MAX; i++) {
		struct op_runtime_instance *slot = &r->slot[i];

		if (!slot->image || mapped & UINT32_C(1) << i) {
			slot->gone_ns = 0;
			continue;
		}
		if (!slot->gone_ns)
			slot->gone_ns = context->now_ns;
		if (!oldest || slot->gone_ns < oldest->gone_ns)
			oldest = slot;
		r->gone = true;
	}
	if (!r->full || !oldest || oldest->gone_ns > context->over_ns)
		return false;
	op_program_runtimes_release(oldest, context->arena, context->images,
				    context->now_ns);
	return true;
}

void op_program_runtimes_want(struct op_program_runtimes *r,
			      struct op_program_runtimes_context *context, bool full)
{
	struct op_images *images = context->images;

	if (!context->over_ns)
		return;
	r->full = full;
	if (!full) {
		r->failures = 0;
		r->retry_ns = 0;
		return;
	}
	if (context->now_ns >= r->retry_ns) {
		r->rescan = !r->gone;
		if (!r->gone && r->failures == 1) {
			op_log(context->log,
			       images->instances_told ? OP_LOG_DEBUG : OP_LOG_WARNING,
			       "process %u maps more than %d files of runtimes at a time; "
			       "the frames of the others stay native",
			       context->pid, OP_INSTANCES_MAX - 1);
			images->instances_told = true;
		}
		r->retry_ns =
			context->now_ns +
			(RETRY_NS << OP_MIN(r->failures, (uint32_t)RETRY_SHIFT_MAX));
		r->failures++;
	}
	op_program_runtimes_remind(context, r->retry_ns);
}

void op_program_runtimes_remind(struct op_program_runtimes_context *context,
				uint64_t at_ns)
{
	if (!context->ret_retry_ns || at_ns < context->ret_retry_ns)
		context->ret_retry_ns = at_ns;
}
