/* SPDX-License-Identifier: Apache-2.0 */
/* The instances of a process with a fake runtime. */
#include "process/mappings/runtimes.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/macros.h"
#include "code/unwind/arena.h"
#include "process/image/executable.h"
#include "test.h"

enum {
	FEW = 2048, /* mappings */
	TURNS = 5,
	/* between FEW mappings and eight times as many; with a walk for each mapping it
	 * would be 64 */
	FACTOR_MAX = 24,
};

/* For so long late records are waited for. */
static const uint64_t KEEP_NS = UINT64_C(3000000000);

/* What the runtime was asked, and what it answers. */
static struct {
	uint64_t value;	 /* goes into the struct at the next update */
	uint64_t copy;	 /* what it believes to be published */
	size_t attached; /* instances */
	size_t updates;
	size_t mappings; /* of code that the process made, at the last update */
	uint64_t last;	 /* where the last of them begins */
} fake;

struct scene {
	struct op_arena *arena;
	void *slab;
	struct op_images images;
	struct op_image image;
	struct op_executable exe;
	struct op_mappings mappings;
	struct op_mapping vma[OP_MAPPINGS_MAX];
	struct op_log log;
	struct op_program_runtimes runtimes;
	struct op_program_runtimes_context context;
};

static int fake_attach(void *image, const struct op_runtime_target *target,
		       struct op_log *log, void *bpf, void **ret_instance)
{
	fake.attached++;
	fake.copy = 0;
	*ret_instance = &fake;
	return 0;
}

static void fake_detach(void *instance)
{
	fake.attached--;
}

/* As those of lib/runtime: the struct is compared with what was handed out. */
static int fake_update(void *instance, const struct op_runtime_target *target, void *bpf,
		       struct op_runtime_code *ret)
{
	struct op_runtime_mapping m = { 0 };

	fake.updates++;
	for (fake.mappings = 0; target->code_mapping(target, fake.mappings, &m) == 0;
	     fake.mappings++)
		fake.last = m.start;
	if (fake.copy == fake.value)
		return 0;
	fake.copy = fake.value;
	memcpy(bpf, &fake.value, sizeof(fake.value));
	return 1;
}

static const struct op_runtime_ops fake_ops = {
	.id = OP_RUNTIME_PHP,
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
	s->mappings = (struct op_mappings){ .refs = 1, .vma = s->vma };
	s->context = (struct op_program_runtimes_context){ .arena = s->arena,
							   .images = &s->images,
							   .log = &s->log,
							   .now_ns = 10 * KEEP_NS,
							   .pid = 1,
							   .mappings = &s->mappings };
}

static void end(struct scene *s)
{
	op_program_runtimes_detach(&s->runtimes, s->arena, &s->images, s->context.now_ns);
	CHECK_INT(s->image.refs, 1);
	CHECK_INT(fake.attached, 0);
	op_arena_free(s->arena);
	free(s->slab);
}

static void map_file(struct scene *s, uint64_t bias)
{
	CHECK(s->mappings.len < OP_MAPPINGS_MAX);
	s->vma[s->mappings.len++] = (struct op_mapping){ .start = bias + 0x1000,
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
	s->context.over_ns = s->context.now_ns - KEEP_NS;
	return op_program_runtimes_attach(&s->runtimes, &s->context);
}

static void map_code(struct scene *s, uint64_t start)
{
	CHECK(s->mappings.len < OP_MAPPINGS_MAX);
	s->vma[s->mappings.len++] =
		(struct op_mapping){ .start = start, .end = start + 0x1000 };
}

static uint64_t published(const struct scene *s)
{
	struct op_instance instance[OP_INSTANCES_MAX];
	const uint64_t *there;

	op_program_runtimes_fill(&s->runtimes, instance);
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
	static struct scene s;
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
	map_code(&s, 0x20000000); /* new code, so it is asked */
	(void)attach_then(&s);
	CHECK_INT(published(&s), 1);
	CHECK(op_program_runtimes_waiting(&s.runtimes));
	/* It does not ask every moment. */
	for (i = 0; i < 8; i++)
		CHECK(!attach_then(&s));
	CHECK(s.context.ret_retry_ns > s.context.now_ns + 100000000);

	op_arena_release(s.arena, ref, bytes, 0);
	CHECK(attach_then(&s));
	CHECK_INT(published(&s), 2);
	CHECK(!op_program_runtimes_waiting(&s.runtimes));
	end(&s);
}

/* The load bias of instance @number; 0: it is free. */
static uint64_t bias_of(const struct scene *s, uint32_t number)
{
	const struct op_runtime_instance *i =
		op_program_runtimes_get(&s->runtimes, number);

	return i ? i->bias : 0;
}

/* A process that closes a runtime's library and opens it elsewhere, again and again. */
static void test_one_after_another(void)
{
	static struct scene s;
	uint64_t gone_ns = 0;
	uint64_t i;

	begin(&s);
	for (i = 1; i <= 7; i++) {
		s.mappings.len = 0;
		map_file(&s, i << 32);
		if (i == 2)
			gone_ns = s.context.now_ns;
		CHECK(attach_then(&s));
		s.context.now_ns += 1000;
	}
	CHECK_INT(fake.attached, 7);
	CHECK(!op_program_runtimes_waiting(&s.runtimes));

	/* All numbers are given away; those of the first may still be in late records. */
	s.mappings.len = 0;
	map_file(&s, i << 32);
	CHECK(!attach_then(&s));
	while (s.context.ret_retry_ns < gone_ns + KEEP_NS) {
		CHECK(s.context.ret_retry_ns > s.context.now_ns);
		CHECK(op_program_runtimes_waiting(&s.runtimes));
		CHECK(!s.runtimes.rescan); /* what is mapped is known */
		CHECK(!attach_then(&s));
		CHECK_INT(bias_of(&s, 1), UINT64_C(1) << 32);
	}
	CHECK(attach_then(&s));
	CHECK(s.context.now_ns < gone_ns + 3 * KEEP_NS);
	CHECK_INT(bias_of(&s, 1), i << 32);
	CHECK_INT(bias_of(&s, 2), UINT64_C(2) << 32);
	CHECK_INT(fake.attached, 7);
	CHECK(!op_program_runtimes_waiting(&s.runtimes));
	CHECK_INT(s.context.ret_retry_ns, 0);

	/* One that is mapped again keeps its number, and is the last to lose it. */
	for (i = 9; i <= 30; i++) {
		s.mappings.len = 0;
		map_file(&s, UINT64_C(2) << 32);
		map_file(&s, i << 32);
		do
			(void)attach_then(&s);
		while (op_program_runtimes_waiting(&s.runtimes));
		CHECK_INT(bias_of(&s, 2), UINT64_C(2) << 32);
		CHECK_INT(fake.attached, 7);
	}
	end(&s);
}

static struct {
	size_t warnings;
	size_t lines;
} logged;

static void take_line(void *userdata, int level, const char *message)
{
	if (!strstr(message, "more than 7 files"))
		return;
	logged.lines++;
	logged.warnings += level == OP_LOG_WARNING;
}

/* More files than there are numbers, all mapped; then one is not. */
static void test_eight_at_a_time(void)
{
	static struct scene s;
	struct op_mappings *mappings = &s.mappings;
	size_t rescans = 0;
	uint64_t i;

	begin(&s);
	memset(&logged, 0, sizeof(logged));
	s.log = (struct op_log){ .fn = take_line, .level = OP_LOG_DEBUG };
	for (i = 1; i <= 8; i++)
		map_file(&s, i << 32);
	CHECK(attach_then(&s));
	CHECK_INT(fake.attached, 7);
	CHECK(s.runtimes.rescan);
	CHECK_INT(logged.lines, 0); /* some may have been unmapped */
	for (i = 0; i < 20; i++) {
		CHECK(op_program_runtimes_waiting(&s.runtimes));
		rescans += s.runtimes.rescan;
		s.runtimes.rescan = false;
		CHECK(!attach_then(&s));
	}
	CHECK_INT(rescans, 20);
	CHECK(s.context.ret_retry_ns - s.context.now_ns > 2 * KEEP_NS);
	CHECK_INT(logged.lines, 1);
	CHECK_INT(logged.warnings, 1);

	/* Mappings of an earlier time say nothing about now. */
	s.context.over_ns = 0;
	mappings->len = 1;
	CHECK(!op_program_runtimes_attach(&s.runtimes, &s.context));
	mappings->len = 8;
	CHECK(op_program_runtimes_waiting(&s.runtimes));

	s.runtimes.rescan = false;
	memmove(&mappings->vma[3], &mappings->vma[4], 4 * sizeof(mappings->vma[0]));
	mappings->len = 7;
	while (op_program_runtimes_waiting(&s.runtimes)) {
		CHECK_INT(bias_of(&s, 4), UINT64_C(4) << 32);
		(void)attach_then(&s);
		CHECK(!s.runtimes.rescan);
	}
	CHECK_INT(bias_of(&s, 4), UINT64_C(8) << 32);
	CHECK_INT(fake.attached, 7);
	end(&s);
}

static uint64_t cpu_ns(void)
{
	struct timespec t;

	CHECK(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t) == 0);
	return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

/* CPU time of the first look at @mappings, half of which are of the runtime's file. */
static uint64_t look_ns(struct scene *s, size_t mappings)
{
	uint64_t least = UINT64_MAX;
	uint64_t begin_ns;
	size_t turn;
	size_t i;

	for (turn = 0; turn < TURNS; turn++) {
		begin(s);
		for (i = 0; i < mappings; i += 2) {
			map_file(s, 0x10000000 + i * 0x10000);
			s->vma[i].bias = 0x10000000;
			map_code(s, 0x10008000 + i * 0x10000);
		}
		begin_ns = cpu_ns();
		CHECK(attach_then(s));
		least = OP_MIN(least, cpu_ns() - begin_ns);
		CHECK_INT(fake.attached, 1);
		CHECK_INT(fake.updates, 1);
		CHECK_INT(fake.mappings, mappings / 2);
		CHECK_INT(fake.last, s->vma[mappings - 1].start);
		end(s);
	}
	return least;
}

/* A process with as many mappings as are followed takes that many steps, not more. */
static void test_many_mappings(void)
{
	static struct scene s;
	uint64_t few = look_ns(&s, FEW);
	uint64_t many = look_ns(&s, OP_MAPPINGS_MAX);

	printf("a look at %d mappings: %llu ns, at %d: %llu ns\n", FEW,
	       (unsigned long long)few, OP_MAPPINGS_MAX, (unsigned long long)many);
	CHECK(many < FACTOR_MAX * few);
}

/* In any order, and behind the last. */
static int order_update(void *instance, const struct op_runtime_target *target, void *bpf,
			struct op_runtime_code *ret)
{
	static const size_t order[] = { 2, 0, 1, 1, 3, 2 };
	struct op_runtime_mapping m = { 0 };
	size_t i;

	for (i = 0; i < sizeof(order) / sizeof(order[0]); i++) {
		int r = target->code_mapping(target, order[i], &m);

		CHECK_INT(r, order[i] < 3 ? 0 : -ENOENT);
		if (r == 0)
			CHECK_INT(m.start, 0x20000000 + order[i] * 0x10000);
	}
	fake.updates++;
	return 0;
}

static void test_any_order(void)
{
	static struct scene s;
	struct op_runtime_ops ops = fake_ops;

	begin(&s);
	ops.update = order_update;
	s.image.runtime = &ops;
	map_code(&s, 0x20000000);
	map_file(&s, 0x20001000);
	map_code(&s, 0x20010000);
	map_code(&s, 0x20020000);
	CHECK(attach_then(&s));
	CHECK_INT(fake.updates, 1);
	end(&s);
}

/* The file @path, as it is published. */
static struct op_mapping marked(const struct scene *s, char *path, op_ref segment)
{
	struct op_image image = { .refs = 1 };
	struct op_executable exe = { .path = path,
				     .state = OP_EXECUTABLE_READY,
				     .image = &image };
	struct op_mapping v = { .start = 0x30001000,
				.end = 0x30002000,
				.exe = &exe,
				.bias = 0x30000000,
				.segment = segment };

	op_program_runtimes_mark(&s->runtimes, &v, 0, UINT64_MAX);
	CHECK_INT(v.bias, 0x30000000);
	CHECK_INT(v.room | v.above, 0);
	return v;
}

/* Where a runtime's coroutines are switched, its step gets control. */
static void test_switcher(void)
{
	static const uint32_t own = OP_MAPPING_CODE | 1 << OP_MAPPING_INSTANCE_SHIFT;
	static char path[] = "/x/_fake.so";
	static char other[] = "/_fake./x_fake.so";
	static struct scene s;
	struct op_runtime_ops ops = fake_ops;

	begin(&s);
	ops.switcher = "_fake.";
	s.image.runtime = &ops;
	CHECK_INT(marked(&s, path, 1).flags, 0);
	map_file(&s, 0x10000000);
	CHECK(attach_then(&s));
	CHECK_INT(marked(&s, path, 1).flags, own);
	CHECK_INT(marked(&s, path, 0).flags, 0);
	CHECK_INT(marked(&s, other, 1).flags, 0);
	ops.switcher = NULL;
	CHECK_INT(marked(&s, path, 1).flags, 0);
	end(&s);
}

TEST_MAIN({ "no_room", test_no_room }, { "many_mappings", test_many_mappings },
	  { "any_order", test_any_order }, { "switcher", test_switcher },
	  { "one_after_another", test_one_after_another },
	  { "eight_at_a_time", test_eight_at_a_time })
