/* SPDX-License-Identifier: Apache-2.0 */
#include "process/runtimes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "process/publish.h"
#include "process/state.h"
#include "target/open.h"

/* Back-off of a runtime that has not started up: 50 ms, 100 ms, … 12.8 s. */
static const uint64_t RETRY_NS = UINT64_C(50000000);

enum {
	RETRY_SHIFT_MAX = 8,
	FAILURES_MAX = 16,
	FRAMES_MAX = 1 << 13, /* a process, 256 KiB of keys; more are not kept */
};

/* The target given to a runtime's attach. */
struct target {
	struct op_runtime_target base;
	struct op_processes *p;
	const struct op_program *program;
	const struct op_layout *layout;
};

bool op_runtimes_wanted(struct op_processes *p, enum op_runtime id)
{
	uint32_t bit = UINT32_C(1) << id;

	if (p->runtimes_wanted & bit)
		return true;
	if (p->runtimes_refused & bit)
		return false;
	if (p->config.need_runtime && p->config.need_runtime(p->config.ctx, id) < 0) {
		p->runtimes_refused |= bit;
		op_log(p->config.log, OP_LOG_WARNING,
		       "The unwinder of runtime %d cannot be loaded, ignoring", (int)id);
		return false;
	}
	p->runtimes_wanted |= bit;
	return true;
}

static bool base_name_begins(const char *path, const char *prefix)
{
	const char *slash = strrchr(path, '/');

	return strncmp(slash ? slash + 1 : path, prefix, strlen(prefix)) == 0;
}

static int open_image(const struct op_runtime_target *base, const char *prefix,
		      struct op_elf **ret, uint64_t *ret_bias)
{
	const struct target *t = op_container_of(base, struct target, base);
	size_t i;

	for (i = 0; i < t->layout->len; i++) {
		const struct op_vma *v = &t->layout->vma[i];

		if (!v->exe || v->exe->vdso || !base_name_begins(v->exe->path, prefix))
			continue;
		return op_publish_open_file(t->p, t->program, v, ret, ret_bias);
	}
	return -ENOENT;
}

static int attach(struct op_processes *p, struct op_program *program,
		  const struct op_layout *layout, const struct op_vma *v,
		  struct op_program_runtime *r)
{
	struct op_image *image = v->exe->image;
	const struct op_runtime_ops *ops = image->runtime;
	struct target t = {
		.base = { .pid = (int)program->pid,
			  .bias = v->bias,
			  .memory = &program->memory.memory,
			  .open_image = open_image },
		.p = p,
		.program = program,
		.layout = layout,
	};
	size_t bytes = OP_ALIGN_UP(OP_MAX(ops->bpf_size, (size_t)8), (size_t)8);
	_cleanup_free_ void *bpf = calloc(1, bytes);
	void *instance = NULL;
	void *there;
	int e;

	if (!bpf)
		return -ENOMEM;
	e = ops->attach(image->runtime_image, &t.base, p->config.log, bpf, &instance);
	if (e < 0)
		return e;
	e = op_arena_alloc(p->config.arena, bytes, &r->ref, &there);
	if (e < 0) {
		ops->detach(instance);
		return e;
	}
	/* Written whole before a program can see it. */
	memcpy(there, bpf, bytes);
	op_cache_init(&r->frames, FRAMES_MAX);
	r->instance = instance;
	r->bias = v->bias;
	r->image = image;
	image->refs++;
	return 0;
}

/* One runtime of the layout. */
static bool attach_one(struct op_processes *p, struct op_program *program,
		       const struct op_layout *layout, const struct op_vma *v)
{
	struct op_program_runtime *r;
	int e;

	if (!program->runtimes)
		program->runtimes = calloc(OP_RUNTIME_MAX, sizeof(*program->runtimes));
	if (!program->runtimes)
		return false;
	r = &program->runtimes[v->exe->image->runtime->id];
	if (r->instance || r->given_up)
		return false;
	if (p->now_ns < r->retry_ns) {
		p->attach_pending = true;
		return false;
	}
	e = attach(p, program, layout, v, r);
	if (e == 0)
		return true;
	r->retry_ns = p->now_ns + (RETRY_NS << OP_MIN(r->failures, RETRY_SHIFT_MAX));
	r->failures++;
	/* "Not started up" may last; anything else is tried a few times. */
	if (e != -EAGAIN && r->failures >= FAILURES_MAX)
		r->given_up = true;
	else
		p->attach_pending = true;
	op_log(p->config.log, OP_LOG_DEBUG, "Runtime %s of process %u: %s",
	       v->exe->image->runtime->name, program->pid, strerror(-e));
	return false;
}

bool op_runtimes_attach(struct op_processes *p, struct op_program *program,
			const struct op_layout *layout)
{
	bool changed = false;
	size_t i;

	if (program->until_ns)
		return false;
	for (i = 0; i < layout->len; i++) {
		const struct op_vma *v = &layout->vma[i];

		if (!v->segment || !v->exe || !v->exe->image || !v->exe->image->runtime)
			continue;
		if (p->runtimes_refused & (UINT32_C(1) << v->exe->image->runtime->id))
			continue;
		changed |= attach_one(p, program, layout, v);
	}
	return changed;
}

void op_runtimes_detach(struct op_processes *p, struct op_program *program)
{
	size_t i;

	for (i = 0; program->runtimes && i < OP_RUNTIME_MAX; i++) {
		struct op_program_runtime *r = &program->runtimes[i];
		const struct op_runtime_ops *ops;

		if (!r->instance)
			continue;
		ops = r->image->runtime;
		ops->detach(r->instance);
		op_cache_deinit(&r->frames);
		op_arena_release(p->config.arena, r->ref,
				 OP_ALIGN_UP(OP_MAX(ops->bpf_size, (size_t)8), (size_t)8),
				 p->now_ns);
		op_image_put(&p->executables.images, r->image, p->now_ns);
	}
	free(program->runtimes);
	program->runtimes = NULL;
}

void op_runtimes_window_end(struct op_program *program)
{
	size_t i;

	for (i = 0; program->runtimes && i < OP_RUNTIME_MAX; i++) {
		struct op_program_runtime *r = &program->runtimes[i];

		if (r->instance && r->image->runtime->window_end)
			r->image->runtime->window_end(r->instance);
	}
}

int op_runtimes_describe(struct op_program *program, enum op_runtime id,
			 const uint64_t *words, size_t len, struct op_runtime_frame *ret,
			 const char **ret_type)
{
	const struct op_program_runtime *r;
	const struct op_runtime_ops *ops;
	int n;

	if (!program || !program->runtimes || id >= OP_RUNTIME_MAX)
		return -ESRCH;
	r = &program->runtimes[id];
	if (!r->instance)
		return -ESRCH;
	ops = r->image->runtime;
	n = ops->describe(r->instance, words, len, ret);
	if (n == 0 || (n > 0 && (size_t)n > len))
		return -EBADMSG;
	*ret_type = ops->frame_type;
	return n;
}

struct op_cache *op_runtimes_memo(struct op_program *program, enum op_runtime id)
{
	if (!program || !program->runtimes || id >= OP_RUNTIME_MAX ||
	    !program->runtimes[id].instance)
		return NULL;
	return &program->runtimes[id].frames;
}
