/* SPDX-License-Identifier: Apache-2.0 */
/* The runtime operations of Perl, for a file, a process and a frame. */
#include "runtime/runtime.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/macros.h"
#include "runtime/perl/image.h"
#include "runtime/perl/sub.h"
#include "runtime/thread_slot.h"

struct perl_instance {
	struct op_perl_subs subs;
	char unknown[OP_RUNTIME_GONE_BYTES]; /* the name of a frame that cannot be read */
};

static int perl_probe(struct op_elf *elf, const char *path,
		      const struct op_layouts *layouts, struct op_log *log,
		      void **ret_image, struct op_runtime_loop *ret_loop)
{
	_cleanup_free_ struct op_perl_image *image = calloc(1, sizeof(*image));
	int r;

	if (!image)
		return -ENOMEM;
	r = op_runtime_perl_image(elf, path, layouts, log, image, ret_loop);
	if (r == 1)
		*ret_image = OP_TAKE_PTR(image);
	return r;
}

/* Find the thread-local variable that points to a thread's interpreter. */
static int find_tls(const struct op_perl_image *image,
		    const struct op_runtime_target *target, struct op_perl *perl)
{
	struct op_elf_tls_place place;
	int r = op_runtime_thread_variable(target, &image->tls, &place);

	if (r < 0)
		return r;
	perl->at = place.offset;
	perl->module = place.module;
	perl->dtv_at = place.dtv_at;
	perl->dtv_step = place.dtv_step;
	return 0;
}

/* Find the pthread key of that pointer. It is made right after the first interpreter. */
static int find_key(const struct op_perl_image *image,
		    const struct op_runtime_target *target, struct op_perl *perl)
{
	struct op_thread_slot slot;
	uint64_t interpreter;
	uint32_t key;
	int r = op_memory_read(target->memory, image->interpreter + target->bias,
			       &interpreter, sizeof(interpreter));

	if (r == 0)
		r = op_memory_read(target->memory, image->key + target->bias, &key,
				   sizeof(key));
	if (r < 0)
		return r;
	if (!interpreter)
		return -EAGAIN;
	r = op_runtime_thread_slot(target, key, &slot);
	if (r < 0)
		return r;
	perl->at = slot.at;
	perl->block = slot.block;
	return 0;
}

static int find_interpreter(const struct op_perl_image *image,
			    const struct op_runtime_target *target, struct op_perl *perl)
{
	switch (image->where) {
	case OP_PERL_TLS:
		return find_tls(image, target, perl);
	case OP_PERL_KEY:
		return find_key(image, target, perl);
	case OP_PERL_POINTER:
		perl->at = (int64_t)(image->interpreter + target->bias);
		return 0;
	case OP_PERL_GLOBALS:
		break;
	}
	return 0;
}

static int perl_attach(void *image_data, const struct op_runtime_target *target,
		       struct op_log *log, void *bpf, void **ret_instance)
{
	const struct op_perl_image *image = image_data;
	_cleanup_free_ struct perl_instance *instance = calloc(1, sizeof(*instance));
	struct op_perl *perl = bpf;
	uint64_t bias = image->where == OP_PERL_GLOBALS ? target->bias : 0;
	int r;

	if (!instance)
		return -ENOMEM;
	r = find_interpreter(image, target, perl);
	if (r < 0)
		return r;
	perl->where = (uint8_t)image->where;
	perl->globs = !image->key;
	if (image->where == OP_PERL_TLS || image->where == OP_PERL_KEY)
		perl->first = image->interpreter + target->bias;
	op_runtime_perl_steps(&image->layout, perl);
	perl->hash_aux = image->layout.hash_aux;
	perl->cx_bytes = image->layout.cx_bytes;
	perl->cx_sub = image->layout.cx_sub;
	perl->cx_cv = image->layout.cx_cv;
	perl->si_type = image->layout.si_type;
	perl->op = image->op + bias;
	perl->curcop = image->curcop + bias;
	perl->stackinfo = image->stackinfo + bias;
	perl->top_env = image->top_env + bias;
	op_runtime_perl_subs_init(&instance->subs, target->memory, &image->layout,
				  !image->key);
	*ret_instance = OP_TAKE_PTR(instance);
	return 0;
}

static void perl_detach(void *data)
{
	struct perl_instance *instance = data;

	if (!instance)
		return;
	op_runtime_perl_subs_deinit(&instance->subs);
	free(instance);
}

static int perl_describe(void *data, const uint64_t *words, size_t len,
			 struct op_runtime_frame *ret)
{
	struct perl_instance *instance = data;
	uint64_t reads = instance->subs.reads;
	const struct op_perl_sub *sub;
	int r;

	if (len != OP_PERL_FRAME_WORDS)
		return -EBADMSG;
	r = op_runtime_perl_subs_get(&instance->subs, words, &sub);
	if (r == -ENOMEM)
		return r;
	ret->len = 1;
	if (r < 0) {
		op_runtime_frame_gone(&op_runtime_perl, words[0] & OP_FRAME_ADDRESS_MASK,
				      r, instance->unknown, ret);
		return 0;
	}
	ret->function[0] = (struct op_runtime_function){
		.name = sub->name,
		.file = sub->file,
		.line = (uint32_t)words[1],
	};
	ret->fresh = instance->subs.reads != reads;
	return 0;
}

static int perl_keep_object(void *data, uint64_t addr, uint32_t check,
			    const struct op_memory *copy)
{
	struct perl_instance *instance = data;

	return op_runtime_perl_subs_keep(&instance->subs, addr, check, copy);
}

static void perl_window_end(void *data)
{
	struct perl_instance *instance = data;

	instance->subs.window++;
}

const struct op_runtime_ops op_runtime_perl = {
	.id = OP_RUNTIME_PERL,
	.frame_type = "perl",
	.bpf_size = sizeof(struct op_perl),
	.file_names = (const char *const[]){ "perl", "libperl", NULL },
	.layouts = &op_runtime_perl_layouts,
	.probe = perl_probe,
	.attach = perl_attach,
	.detach = perl_detach,
	.describe = perl_describe,
	.keep_object = perl_keep_object,
	.window_end = perl_window_end,
};
