/* SPDX-License-Identifier: Apache-2.0 */
/* The instances of a process, of a runtime that is made here. */
#include "process/runtimes.h"

#include <stdlib.h>
#include <string.h>

#include "base/macros.h"
#include "image/executable.h"
#include "test.h"
#include "unwind/arena.h"

enum {
	MAPPINGS = 64,
};

/* What the runtime was asked, and what it answers. */
static struct {
	uint64_t value;	 /* goes into the struct at the next update */
	uint64_t copy;	 /* what it believes to be published */
	size_t attached; /* instances */
	size_t updates;
} fake;

struct scene {
	struct op_arena *arena;
	void *slab;
	struct op_images images;
	struct op_image image;
	struct op_executable exe;
	struct op_layout layout;
	struct op_vma vma[MAPPINGS];
	struct op_log log;
	struct op_runtimes runtimes;
	struct op_runtimes_context context;
};

static int fake_attach(void *image, const struct op_runtime_target *target,
		       struct op_log *log, void *bpf, void **ret_instance)
{
	(void)image;
	(void)target;
	(void)log;
	(void)bpf;
	fake.attached++;
	fake.copy = 0;
	*ret_instance = &fake;
	return 0;
}

static void fake_detach(void *instance)
{
	(void)instance;
	fake.attached--;
}

/* As those of lib/runtime: the struct is compared with what was handed out. */
static int fake_update(void *instance, const struct op_runtime_target *target, void *bpf,
		       struct op_runtime_code *ret)
{
	(void)instance;
	(void)target;
	(void)ret;
	fake.updates++;
	if (fake.copy == fake.value)
		return 0;
	fake.copy = fake.value;
	memcpy(bpf, &fake.value, sizeof(fake.value));
	return 1;
}

static const struct op_runtime_ops fake_ops = {
	.id = OP_RUNTIME_PHP,
	.name = "fake",
	.frame_type = "fake",
	.bpf_size = sizeof(uint64_t),
	.attach = fake_attach,
	.detach = fake_detach,
	.update = fake_update,
};

static int add_slab(void *ctx, uint32_t index, void **ret)
{
	struct scene *s = ctx;

	CHECK_INT(index, 0);
	s->slab = calloc(1, OP_SLAB_BYTES);
	CHECK(s->slab);
	*ret = s->slab;
	return 0;
}

/* One file of the runtime, which nothing maps yet. */
static void begin(struct scene *s)
{
	static const struct op_arena_ops ops = { .add_slab = add_slab };

	memset(&fake, 0, sizeof(fake));
	memset(s, 0, sizeof(*s));
	CHECK_OK(op_arena_new(&ops, s, OP_SLAB_BYTES, &s->arena));
	s->image = (struct op_image){ .refs = 1, .runtime = &fake_ops };
	s->exe = (struct op_executable){ .refs = 1,
					 .state = OP_EXECUTABLE_READY,
					 .image = &s->image };
	s->layout = (struct op_layout){ .refs = 1, .vma = s->vma };
	s->context = (struct op_runtimes_context){ .arena = s->arena,
						   .images = &s->images,
						   .log = &s->log,
						   .now_ns = 1,
						   .pid = 1,
						   .layout = &s->layout };
}

static void end(struct scene *s)
{
	op_runtimes_detach(&s->runtimes, s->arena, &s->images, s->context.now_ns);
	CHECK_INT(s->image.refs, 1);
	CHECK_INT(fake.attached, 0);
	op_arena_free(s->arena);
	free(s->slab);
}

static void map_file(struct scene *s, uint64_t bias)
{
	CHECK(s->layout.len < MAPPINGS);
	s->vma[s->layout.len++] = (struct op_vma){ .start = bias + 0x1000,
						   .end = bias + 0x2000,
						   .exe = &s->exe,
						   .bias = bias,
						   .segment = 1 };
}

/* When the next attempt is due, until which the time goes on. */
static bool attach_then(struct scene *s)
{
	s->context.now_ns = OP_MAX(s->context.now_ns, s->context.ret_retry_ns);
	s->context.ret_retry_ns = 0;
	return op_runtimes_attach(&s->runtimes, &s->context);
}

static uint64_t published(const struct scene *s)
{
	struct op_instance instance[OP_INSTANCES_MAX];
	const uint64_t *there;

	op_runtimes_fill(&s->runtimes, instance);
	there = op_arena_at(s->arena, instance[1].ref);
	CHECK(there);
	return *there;
}

/* Take all that is free; the last one fits nowhere. */
static op_ref fill(struct scene *s, size_t *ret_bytes)
{
	op_ref first = 0;
	op_ref ref;
	void *there;

	for (*ret_bytes = OP_SLAB_BYTES; *ret_bytes >= 8; *ret_bytes /= 2)
		while (op_arena_alloc(s->arena, *ret_bytes, &ref, &there) == 0)
			first = ref;
	*ret_bytes = 8;
	return first;
}

/* What changed while there was no room is published when there is. */
static void test_no_room(void)
{
	struct scene s;
	size_t bytes;
	op_ref ref;
	int i;

	begin(&s);
	map_file(&s, 0x10000000);
	fake.value = 1;
	CHECK(attach_then(&s));
	CHECK_INT(published(&s), 1);
	ref = fill(&s, &bytes);
	CHECK(ref);

	fake.value = 2;
	s.vma[1] = (struct op_vma){ .start = 0x20000000, .end = 0x20001000 };
	s.layout.len = 2; /* new code, so it is asked */
	(void)attach_then(&s);
	CHECK_INT(published(&s), 1);
	CHECK(op_runtimes_waiting(&s.runtimes));
	/* It does not ask every moment. */
	for (i = 0; i < 8; i++)
		CHECK(!attach_then(&s));
	CHECK(s.context.ret_retry_ns > s.context.now_ns + 100000000);

	op_arena_release(s.arena, ref, bytes, 0);
	CHECK(attach_then(&s));
	CHECK_INT(published(&s), 2);
	CHECK(!op_runtimes_waiting(&s.runtimes));
	end(&s);
}

TEST_MAIN({ "no_room", test_no_room })
