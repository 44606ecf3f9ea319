/* SPDX-License-Identifier: Apache-2.0 */
/* The runtime operations of Ruby, for a file, a process and a frame. */
#include "runtime/runtime.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/macros.h"
#include "runtime/ruby/function.h"
#include "runtime/ruby/image.h"
#include "runtime/thread_slot.h"

#include "op_ruby.h"

enum {
	/* Before and behind the loop, in its source file: the functions that push
	 * frames and call vm_exec(). */
	BEFORE_BYTES = 1 << 17,
	BEHIND_BYTES = 1 << 16,
};

/* YJIT's code calls the library by relative addresses, so it is this close. */
static const uint64_t NEAR_BYTES = UINT64_C(1) << 31;

struct ruby_instance {
	struct op_ruby_functions functions;
	uint64_t exec;			     /* address of vm_exec() */
	char unknown[OP_RUNTIME_GONE_BYTES]; /* the name of a frame that cannot be read */
};

static int ruby_probe(struct op_elf *elf, const char *path,
		      const struct op_layouts *layouts, struct op_log *log,
		      void **ret_image, struct op_runtime_loop *ret_loop)
{
	_cleanup_free_ struct op_ruby_image *image = calloc(1, sizeof(*image));
	int r;

	if (!image)
		return -ENOMEM;
	r = op_runtime_ruby_image(elf, path, layouts, log, image, ret_loop);
	if (r == 1)
		*ret_image = OP_TAKE_PTR(image);
	return r;
}

/* Find where threads have their execution context. */
static int find_context(const struct op_ruby_image *image,
			const struct op_runtime_target *target, struct op_ruby *ruby)
{
	struct op_elf_tls_place place;
	int r;

	if (image->shared) {
		ruby->flags |= OP_RUBY_SHARED;
		ruby->ec_at = (int64_t)(image->shared + target->bias);
		ruby->ec_thread = image->layout.ec_thread;
		ruby->thread_id = image->layout.thread_id;
		return 0;
	}
	r = op_runtime_thread_variable(target, &image->tls, &place);
	if (r < 0)
		return r;
	ruby->ec_at = place.offset;
	ruby->module = place.module;
	ruby->dtv_at = place.dtv_at;
	ruby->dtv_step = place.dtv_step;
	return 0;
}

static void add_bias(__u64 to[2], const uint64_t range[2], uint64_t bias)
{
	to[0] = range[0] ? range[0] + bias : 0;
	to[1] = range[0] ? range[1] + bias : 0;
}

static int ruby_attach(void *image_data, const struct op_runtime_target *target,
		       struct op_log *log, void *bpf, void **ret_instance)
{
	const struct op_ruby_image *image = image_data;
	const struct op_ruby_loop *loop = &image->loop;
	_cleanup_free_ struct ruby_instance *instance = calloc(1, sizeof(*instance));
	struct op_ruby *ruby = bpf;
	uint32_t i;
	int r;

	if (!instance)
		return -ENOMEM;
	r = find_context(image, target, ruby);
	if (r < 0)
		return r;
	ruby->frame_bytes = image->layout.frame_bytes;
	if (image->layout.parent)
		ruby->flags |= OP_RUBY_CLASSES;
	if (target->await_chains && image->layout.ec_fiber) {
		ruby->ec_fiber = image->layout.ec_fiber;
		ruby->fiber_prev = image->layout.fiber_prev;
	}
	add_bias(ruby->exec, loop->exec, target->bias);
	add_bias(ruby->core, loop->core, target->bias);
	for (i = 0; i < OP_RUBY_AFTER; i++)
		add_bias(ruby->after[i], loop->after[i], target->bias);
	add_bias(ruby->plt, loop->plt, target->bias);
	if (!image->layout.parent)
		op_runtime_ruby_function_object(&image->layout, ruby->object);
	instance->exec = ruby->exec[0];
	ruby->callers[0] = ruby->core[0] - BEFORE_BYTES;
	ruby->callers[1] = ruby->exec[1] + BEHIND_BYTES;
	op_runtime_ruby_functions_init(
		&instance->functions, target->memory, &image->layout,
		image->symbols ? image->symbols + target->bias : 0);
	*ret_instance = OP_TAKE_PTR(instance);
	return 0;
}

/* YJIT reserves memory near the library. Since 3.4 the kernel has a name for it. */
static bool is_near(const void *data, const struct op_runtime_target *target,
		    const struct op_runtime_mapping *m)
{
	const struct ruby_instance *instance = data;
	uint64_t far = m->start > instance->exec ? m->start - instance->exec
						 : instance->exec - m->start;

	return far < NEAR_BYTES &&
	       (!m->path[0] || strncmp(m->path, "[anon:Ruby:", 11) == 0);
}

static int ruby_update(void *data, const struct op_runtime_target *target, void *bpf,
		       struct op_runtime_code *ret)
{
	op_runtime_claim_code(target, is_near, data, ret);
	return 0;
}

static void ruby_detach(void *data)
{
	struct ruby_instance *instance = data;

	if (!instance)
		return;
	op_runtime_ruby_functions_deinit(&instance->functions);
	free(instance);
}

static int ruby_describe(void *data, const uint64_t *words, size_t len,
			 struct op_runtime_frame *ret)
{
	struct ruby_instance *instance = data;
	const struct op_ruby_function *f;
	uint64_t reads = instance->functions.reads;
	uint64_t all[OP_RUBY_METHOD_WORDS] = { 0 };
	int r;

	if (len != OP_RUBY_FRAME_WORDS && len != OP_RUBY_METHOD_WORDS)
		return -EBADMSG;
	memcpy(all, words, len * sizeof(*words));
	r = op_runtime_ruby_functions_get(&instance->functions, all, &f);
	if (r == -ENOMEM)
		return r;
	ret->len = 1;
	if (r < 0) {
		op_runtime_frame_gone(&op_runtime_ruby, words[0] & OP_FRAME_ADDRESS_MASK,
				      r, instance->unknown, ret);
		return 0;
	}
	ret->function[0] = (struct op_runtime_function){
		.name = f->name,
		.file = f->file,
		.line = op_runtime_ruby_line(f, words),
		.start_line = f->first_line,
	};
	ret->fresh = instance->functions.reads != reads;
	return 0;
}

static int ruby_keep_object(void *data, uint64_t addr, uint32_t check,
			    const struct op_memory *copy)
{
	struct ruby_instance *instance = data;

	return op_runtime_ruby_functions_add(&instance->functions, addr, check, copy);
}

static void ruby_window_end(void *data)
{
	struct ruby_instance *instance = data;

	instance->functions.window++;
}

const struct op_runtime_ops op_runtime_ruby = {
	.id = OP_RUNTIME_RUBY,
	.frame_type = "ruby",
	.bpf_size = sizeof(struct op_ruby),
	.file_names = (const char *const[]){ "ruby", "libruby", NULL },
	.layouts = &op_runtime_ruby_layouts,
	.probe = ruby_probe,
	.attach = ruby_attach,
	.detach = ruby_detach,
	.update = ruby_update,
	.describe = ruby_describe,
	.keep_object = ruby_keep_object,
	.window_end = ruby_window_end,
};
