/* SPDX-License-Identifier: Apache-2.0 */
#include "process/mappings/runtimes.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/macros.h"
#include "process/image/executable.h"
#include "process/mappings/instance_numbers.h"

/*
 * The interval between attempts to attach a runtime that has not started up: 2 ms, 4 ms,
 * ... 8.2 s. An interpreter starts up in some 10 ms, and its first samples should have
 * its frames.
 */
static const uint64_t RETRY_NS = UINT64_C(2000000);

/* After code ranges changed, more changes are likely: the next check is after this
 * time. */
static const uint64_t MORE_CODE_NS = UINT64_C(10000000);

enum {
	RETRY_SHIFT_MAX = 12,
	FAILURES_MAX = 20,
	FRAMES_MAX = 1 << 13, /* frames kept for each process, with 256 KiB of keys */
	/* Attached files other than ELF files. Each may take 10 MiB. */
	OTHERS_MAX = 128,
};

/* The process that a runtime reads. */
struct target {
	struct op_runtime_target base;
	const struct op_program_runtimes_context *context;
	const struct op_image *image;
	/* The position of code_mapping(): mapping `at` of the process. Below it are
	 * `made` mappings of code that the process made. */
	size_t at;
	size_t made;
};

static int open_image(const struct op_runtime_target *base, const char *prefix,
		      struct op_elf **ret, uint64_t *ret_bias)
{
	const struct target *t = op_container_of(base, struct target, base);
	const struct op_mappings *mappings = t->context->mappings;
	const struct op_mapping *v = prefix ? op_mappings_find_named(mappings, prefix)
					    : op_mappings_find_image(mappings, t->image);

	return v ? t->context->open_file(t->context->ctx, v, ret, ret_bias) : -ENOENT;
}

static int open_self(const struct op_runtime_target *base)
{
	const struct target *t = op_container_of(base, struct target, base);
	const struct op_mappings *mappings = t->context->mappings;
	const struct op_mapping *v =
		mappings ? op_mappings_find_image(mappings, t->image) : NULL;

	return v ? t->context->open_own(t->context->ctx, v) : -ENOENT;
}

/* A runtime asks for one mapping after another, so each search begins where the last one
 * ended. */
static int code_mapping(const struct op_runtime_target *base, size_t i,
			struct op_runtime_mapping *ret)
{
	struct target *t = op_container_of(base, struct target, base);
	const struct op_mappings *mappings = t->context->mappings;

	if (i < t->made)
		t->at = t->made = 0;
	for (; t->at < mappings->len; t->at++) {
		const struct op_mapping *v = &mappings->vma[t->at];

		if (!op_mapping_is_made(v))
			continue;
		if (t->made < i) {
			t->made++;
			continue;
		}
		*ret = (struct op_runtime_mapping){ .start = v->start,
						    .end = v->end,
						    .path = v->exe ? v->exe->path : "" };
		return 0;
	}
	return -ENOENT;
}

static struct target target_of(const struct op_program_runtimes_context *context,
			       const struct op_runtime_instance *i)
{
	return (struct target){ .base = { .pid = (int)context->pid,
					  .bias = i->bias,
					  .memory = context->memory,
					  .await_chains = context->await_chains,
					  .open_image = open_image,
					  .open_self = open_self,
					  .code_mapping = code_mapping },
				.context = context,
				.image = i->image };
}

/* Write the struct of @i to a new place in the arena, and release the old one. Returns 0
 * or -errno. */
static int write_bpf(struct op_runtime_instance *i, struct op_arena *arena,
		     uint64_t now_ns)
{
	void *there;
	op_ref ref;
	int r = op_arena_alloc(arena, op_program_runtimes_bpf_bytes(i->ops), &ref,
			       &there);

	if (r < 0)
		return r;
	/* the struct is complete before a BPF program can see it */
	memcpy(there, i->bpf, op_program_runtimes_bpf_bytes(i->ops));
	op_arena_release(arena, i->ref, op_program_runtimes_bpf_bytes(i->ops), now_ns);
	i->ref = ref;
	return 0;
}

static void try_after(struct op_runtime_instance *i,
		      struct op_program_runtimes_context *context, uint64_t after_ns)
{
	i->retry_ns = context->now_ns + after_ns;
	op_program_runtimes_remind(context, i->retry_ns);
}

static void try_again(struct op_runtime_instance *i,
		      struct op_program_runtimes_context *context)
{
	try_after(i, context, RETRY_NS << OP_MIN(i->failures, RETRY_SHIFT_MAX));
	i->failures++;
}

/* Update an attached runtime's code ranges. Returns true if something changed. */
static bool update(struct op_runtime_instance *i,
		   struct op_program_runtimes_context *context)
{
	struct target t = target_of(context, i);
	struct op_runtime_code code = { 0 };
	bool written = false;
	bool moved;
	int r;

	r = i->ops->update(i->instance, &t.base, i->bpf, &code);
	i->unwritten |= r == 1;
	if (i->unwritten && write_bpf(i, context->arena, context->now_ns) == 0) {
		i->unwritten = false;
		written = true;
	}
	i->update_again = r == -EAGAIN || i->unwritten || code.again;
	if (i->update_again)
		try_again(i, context);
	else if (r >= 0)
		i->failures = 0;
	if (r < 0 && r != -EAGAIN)
		return written;
	code.len = OP_MIN(code.len, (size_t)OP_RUNTIME_RANGES_MAX);
	moved = code.len != i->code.len ||
		memcmp(code.range, i->code.range, code.len * sizeof(*code.range)) != 0;
	if (moved && i->code.len && r >= 0) {
		i->update_again = true;
		try_after(i, context, MORE_CODE_NS);
	}
	i->code = code;
	return moved || written;
}

static int attach(struct op_runtime_instance *i,
		  struct op_program_runtimes_context *context)
{
	struct target t = target_of(context, i);
	_cleanup_free_ uint8_t *bpf = calloc(1, op_program_runtimes_bpf_bytes(i->ops));
	void *instance = NULL;
	int r;

	if (!bpf)
		return -ENOMEM;
	if (i->image->other && context->images->others_attached >= OTHERS_MAX)
		return -EMFILE;
	r = i->ops->attach(i->image->runtime_image, &t.base, context->log, bpf,
			   &instance);
	if (r < 0)
		return r;
	i->bpf = OP_TAKE_PTR(bpf);
	r = write_bpf(i, context->arena, context->now_ns);
	if (r < 0) {
		i->ops->detach(instance);
		free(i->bpf);
		i->bpf = NULL;
		return r;
	}
	i->instance = instance;
	i->failures = 0;
	context->images->others_attached += i->image->other;
	op_cache_init(&i->frames, FRAMES_MAX);
	return 0;
}

/* Was the module mapped that the attached runtime waits for? Only its mapping shows that
 * the program uses tasks. */
static bool module_came(const struct op_runtime_instance *i,
			const struct op_program_runtimes_context *context)
{
	return context->await_chains && i->ops->module && !i->module_seen &&
	       op_mappings_find_named(context->mappings, i->ops->module);
}

/* Attach one instance, or update its code ranges if the checksum @code changed. Returns
 * true if something changed. */
static bool work_on(struct op_runtime_instance *i,
		    struct op_program_runtimes_context *context, uint64_t code)
{
	bool changed = false;
	bool came;
	int r;

	if (i->given_up)
		return false;
	if (context->now_ns < i->retry_ns && (!i->instance || i->update_again)) {
		op_program_runtimes_remind(context, i->retry_ns);
		return false;
	}
	if (!i->instance) {
		r = attach(i, context);
		if (r < 0) {
			try_again(i, context);
			/* a runtime may take long to start up; after other errors it is
			 * tried FAILURES_MAX times */
			i->given_up = r != -EAGAIN && i->failures >= FAILURES_MAX;
			op_log(context->log, OP_LOG_DEBUG, "Runtime %s of process %u: %s",
			       op_runtime_name(i->ops), context->pid, strerror(-r));
			return false;
		}
		changed = true;
	}
	came = module_came(i, context);
	if (i->ops->update &&
	    (changed || came || i->update_again || code != i->seen_code)) {
		i->seen_code = code;
		i->module_seen |= came;
		changed |= update(i, context);
	}
	return changed;
}

/* Does @v map a runtime's file that may be attached? */
static bool is_runtime(const struct op_mapping *v,
		       const struct op_program_runtimes_context *context)
{
	const struct op_image *image = v->exe ? v->exe->image : NULL;

	return image && image->runtime && (v->segment || image->other) &&
	       !(context->refused & UINT32_C(1) << image->runtime->id);
}

bool op_program_runtimes_attach(struct op_program_runtimes *r,
				struct op_program_runtimes_context *context)
{
	const struct op_mappings *mappings = context->mappings;
	bool changed = r->slot && op_program_runtimes_give_back(r, context);
	bool full = false;
	uint64_t code = 0;
	size_t i;

	for (i = 0; i < mappings->len; i++) {
		const struct op_mapping *v = &mappings->vma[i];
		struct op_runtime_instance *slot;

		if (!is_runtime(v, context))
			continue;
		if (!r->slot)
			r->slot = calloc(OP_INSTANCES_MAX, sizeof(*r->slot));
		slot = r->slot ? op_program_runtimes_take(r, v->exe->image, v->bias)
			       : NULL;
		full |= r->slot && !slot;
		if (slot && !code)
			code = op_mappings_made_sum(mappings);
		if (slot)
			changed |= work_on(slot, context, code);
	}
	op_program_runtimes_want(r, context, full);
	return changed;
}

void op_program_runtimes_detach(struct op_program_runtimes *r, struct op_arena *arena,
				struct op_images *images, uint64_t now_ns)
{
	size_t i;

	for (i = 1; r->slot && i < OP_INSTANCES_MAX; i++)
		if (r->slot[i].image)
			op_program_runtimes_release(&r->slot[i], arena, images, now_ns);
	free(r->slot);
	r->slot = NULL;
}

bool op_program_runtimes_waiting(const struct op_program_runtimes *r)
{
	size_t i;

	if (r->full)
		return true;
	for (i = 1; r->slot && i < OP_INSTANCES_MAX; i++) {
		const struct op_runtime_instance *slot = &r->slot[i];

		if (slot->image && !slot->given_up &&
		    (!slot->instance || slot->update_again))
			return true;
	}
	return false;
}

/* The range of the code of @i that @v overlaps, or NULL. */
static const struct op_runtime_range *range_of(const struct op_runtime_instance *i,
					       const struct op_mapping *v)
{
	size_t k;

	for (k = 0; k < i->code.len; k++)
		if (v->start < i->code.range[k].end && v->end > i->code.range[k].start)
			return &i->code.range[k];
	return NULL;
}

/* Does @v map the file of @i's switcher? Without a table it is like any other file. */
static bool is_switcher(const struct op_runtime_instance *i, const struct op_mapping *v)
{
	const char *prefix = i->ops->switcher;

	return prefix && v->segment && !v->exe->vdso && v->exe->path &&
	       strncmp(op_base_name(v->exe->path), prefix, strlen(prefix)) == 0;
}

void op_program_runtimes_mark(const struct op_program_runtimes *r, struct op_mapping *v,
			      uint64_t below, uint64_t above)
{
	bool anonymous = op_mapping_is_made(v);
	uint32_t i;

	for (i = 1; r->slot && i < OP_INSTANCES_MAX; i++) {
		const struct op_runtime_instance *slot = &r->slot[i];
		const struct op_runtime_range *range;

		if (!slot->instance)
			continue;
		range = anonymous ? range_of(slot, v) : NULL;
		if (range) {
			v->flags |= OP_MAPPING_CODE | i << OP_MAPPING_INSTANCE_SHIFT;
			v->bias = range->value;
			v->room = OP_MIN(range->room, v->start - below);
			v->above = OP_MIN(range->above, above - v->end);
			return;
		}
		if (!anonymous && v->exe->image == slot->image && v->bias == slot->bias) {
			v->flags |= i << OP_MAPPING_INSTANCE_SHIFT;
			return;
		}
		if (!anonymous && is_switcher(slot, v)) {
			v->flags |= OP_MAPPING_CODE | i << OP_MAPPING_INSTANCE_SHIFT;
			return;
		}
	}
}

void op_program_runtimes_fill(const struct op_program_runtimes *r,
			      struct op_instance ret[OP_INSTANCES_MAX])
{
	size_t i;

	memset(ret, 0, OP_INSTANCES_MAX * sizeof(*ret));
	for (i = 1; r->slot && i < OP_INSTANCES_MAX; i++)
		if (r->slot[i].instance)
			ret[i] = (struct op_instance){ .runtime = r->slot[i].ops->id,
						       .ref = r->slot[i].ref };
}

void op_program_runtimes_window_end(struct op_program_runtimes *r)
{
	size_t i;

	for (i = 1; r->slot && i < OP_INSTANCES_MAX; i++) {
		struct op_runtime_instance *slot = &r->slot[i];

		if (slot->instance && slot->ops->window_end)
			slot->ops->window_end(slot->instance);
	}
}

int op_program_runtimes_describe_code(const struct op_program_runtimes *r,
				      const struct op_program_runtimes_context *context,
				      uint64_t addr, struct op_runtime_frame *ret)
{
	size_t i;

	for (i = 1; r->slot && i < OP_INSTANCES_MAX; i++) {
		struct op_runtime_instance *slot = &r->slot[i];
		struct target t = target_of(context, slot);

		if (slot->instance && slot->ops->describe_code &&
		    slot->ops->describe_code(slot->instance, &t.base, addr, ret) == 1)
			return 1;
	}
	return 0;
}

bool op_program_runtimes_generates(const struct op_program_runtimes *r)
{
	size_t i;

	for (i = 1; r->slot && i < OP_INSTANCES_MAX; i++) {
		const struct op_runtime_instance *slot = &r->slot[i];

		if (slot->instance ? slot->code.len > 0
				   : slot->image && slot->ops->update && !slot->given_up)
			return true;
	}
	return false;
}

struct op_runtime_instance *op_program_runtimes_get(const struct op_program_runtimes *r,
						    uint32_t number)
{
	if (!r->slot || number >= OP_INSTANCES_MAX || !r->slot[number].instance)
		return NULL;
	return &r->slot[number];
}
