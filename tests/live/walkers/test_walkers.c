/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every form of the walker loads on this kernel, in each type of program that an entry may
 * be, within its share of the verifier's work; and one more runtime loads one more program.
 */
#include <bpf/bpf.h>
#include <linux/bpf.h>
#include <unistd.h>

#include "base/rows/rows.h"
#include "kernel/state.h"
#include "otelprof/config.h"
#include "otelprof/error.h"
#include "runtime/runtime.h"

#include "test.h"

enum {
	INSTRUCTIONS_MAX =
		61700, /* verified, of one program with the steps of four runtimes */
	STEPS = 4,
	STEP_MAX = 3000,  /* more for each further one: 5 % */
	AWAIT_MAX = 2000, /* more, where tasks that await each other are followed */
};

/* Without its programs. @flags: OTELPROF_*. */
static struct op_capture *open_capture(enum op_walker_form form, uint64_t flags)
{
	static struct op_log log = { .level = OP_LOG_WARNING };
	struct op_capture_config config = {
		.log = &log,
		.sample_rate_hz = 99,
		.max_frames = OP_FRAMES_MAX,
		.max_processes = 64,
		.procfs_root = "/proc",
		.sysfs_root = "/sys",
		.kinds = UINT64_C(1) << OP_EVENT_CPU,
		.walker = form,
		.flags = flags,
	};
	struct op_capture *c = NULL;
	int r = op_capture_new(&config, &c);

	if (r == -OTELPROF_E_CAPABILITY || r == -OTELPROF_E_NO_BTF)
		SKIP("no rights or no BTF here: %s", otelprof_strerror(r));
	if (r < 0)
		TEST_FAIL("form %d: %s %s", form, log.message,
			  log.detail ? log.detail : "");
	return c;
}

static struct op_capture *make(enum op_walker_form form, uint64_t flags)
{
	struct op_capture *c = open_capture(form, flags);

	if (op_capture_load(c) < 0)
		TEST_FAIL("form %d: %s %s", form, c->log->message,
			  c->log->detail ? c->log->detail : "");
	return c;
}

/* What one program may have. */
static uint32_t most_instructions(const struct op_capture *c)
{
	uint32_t most = INSTRUCTIONS_MAX;
	uint32_t steps = 0;
	size_t len;
	const struct op_runtime_ops *const *all = op_runtime_all(&len);
	size_t i;

	for (i = 0; i < len; i++)
		if (all[i]->bpf_size && ++steps > STEPS)
			most += STEP_MAX;
	return most + (c->config.flags & OTELPROF_AWAIT_CHAINS ? AWAIT_MAX : 0);
}

/* Check a program of @c. Returns its number. */
static uint32_t look_at(const struct op_capture *c, int fd)
{
	struct bpf_prog_info info = { 0 };
	uint32_t len = sizeof(info);

	CHECK_OK(bpf_obj_get_info_by_fd(fd, &info, &len));
	printf("  %s type %u: %u instructions verified\n", info.name, info.type,
	       info.verified_insns);
	CHECK(info.verified_insns <= most_instructions(c));
	return info.id;
}

/* The number of the program at @place of @w, or 0 where there is none. */
static uint32_t number_at(const struct op_walkers *w, uint32_t place)
{
	uint32_t id;

	return bpf_map_lookup_elem(w->fd, &place, &id) < 0 ? 0 : id;
}

/* Check the program at @place of @w, of @c. Returns its number. */
static uint32_t look(const struct op_capture *c, const struct op_walkers *w,
		     uint32_t place)
{
	uint32_t id = number_at(w, place);
	int fd;

	CHECK(id);
	fd = bpf_prog_get_fd_by_id(id);
	CHECK(fd >= 0);
	(void)look_at(c, fd);
	(void)close(fd);
	return id;
}

static size_t runtimes_len(void)
{
	size_t len;

	(void)op_runtime_all(&len);
	return len;
}

static const struct op_runtime_ops *runtime_at(size_t i)
{
	size_t len;

	return op_runtime_all(&len)[i];
}

/* Add @runtime to all of @c's walkers: one more program each, and no other changes, or the
 * one program again. */
static void check_added(struct op_capture *c, enum op_runtime runtime)
{
	uint32_t before[OP_PROGRAM_TYPES_MAX][OP_RUNTIME_MAX];
	uint32_t place;
	size_t i;

	for (i = 0; i < c->kinds.walkers_len; i++)
		for (place = 0; place < OP_RUNTIME_MAX; place++)
			before[i][place] = number_at(&c->kinds.walkers[i], place);
	CHECK_OK(op_capture_need_runtimes(c, UINT64_C(1) << runtime));
	for (i = 0; i < c->kinds.walkers_len; i++) {
		uint32_t last = c->form == OP_WALKER_LOOP ? 0 : (uint32_t)runtime;

		for (place = 0; place < OP_RUNTIME_MAX; place++)
			if (place != last)
				CHECK_INT(number_at(&c->kinds.walkers[i], place),
					  before[i][place]);
		CHECK(look(c, &c->kinds.walkers[i], last) != before[i][last]);
	}
}

static void check_form(enum op_walker_form form, uint64_t flags)
{
	static const uint32_t types[] = { BPF_PROG_TYPE_PERF_EVENT,
					  BPF_PROG_TYPE_RAW_TRACEPOINT,
					  BPF_PROG_TYPE_KPROBE };
	struct op_capture *c = make(form, flags);
	const struct op_walkers *walkers;
	struct op_kind kind = { 0 };
	size_t i;

	CHECK_INT(c->kinds.walkers_len, 1); /* what the kinds that are on need */
	for (i = 0; i < sizeof(types) / sizeof(types[0]); i++) {
		kind.program_type = types[i];
		CHECK_OK(op_walkers_need(c, &kind, &walkers));
	}
	CHECK_INT(c->kinds.walkers_len, 3);
	kind.program_type = BPF_PROG_TYPE_RAW_TRACEPOINT;
	kind.holds = true;
	CHECK_OK(op_walkers_need(c, &kind, &walkers));
	CHECK_INT(c->kinds.walkers_len, 4);
	for (i = 0; i < c->kinds.walkers_len; i++)
		CHECK(look(c, &c->kinds.walkers[i], 0));
	for (i = 0; i < runtimes_len(); i++)
		check_added(c, runtime_at(i)->id);
	op_capture_free(c);
}

static void test_one_loop(void)
{
	struct op_capture *c = make(OP_WALKER_AUTO, 0);
	bool loop = c->form == OP_WALKER_LOOP;

	op_capture_free(c);
	if (!loop)
		SKIP("no bpf_loop() here");
	check_form(OP_WALKER_LOOP, 0);
	check_form(OP_WALKER_LOOP, OTELPROF_AWAIT_CHAINS);
}

static void test_a_program_a_runtime(void)
{
	check_form(OP_WALKER_EACH, 0);
	check_form(OP_WALKER_EACH, OTELPROF_AWAIT_CHAINS);
}

/* The entry that walks by itself: loaded again with each runtime. */
static void check_whole(uint64_t flags)
{
	struct op_capture *c = make(OP_WALKER_WHOLE, flags);
	uint32_t before = look_at(c, c->kinds.program[OP_EVENT_CPU][0]);
	size_t i;

	CHECK_INT(c->kinds.walkers_len, 0);
	for (i = 0; i < runtimes_len(); i++) {
		CHECK_OK(op_capture_need_runtimes(c, UINT64_C(1) << runtime_at(i)->id));
		CHECK(look_at(c, c->kinds.program[OP_EVENT_CPU][0]) != before);
	}
	op_capture_free(c);
}

static void test_no_tail_call(void)
{
	check_whole(0);
	check_whole(OTELPROF_AWAIT_CHAINS);
}

/* What is asked for before the programs are loaded is loaded with them, once. */
static void test_once(void)
{
	struct op_capture *c = open_capture(OP_WALKER_AUTO, 0);
	uint32_t before;

	CHECK_INT(c->kinds.walkers_len, 0);
	CHECK_INT(c->kinds.program[OP_EVENT_CPU][0], -1);
	CHECK_OK(op_capture_need_runtimes(c, UINT64_C(1) << runtime_at(0)->id));
	CHECK(c->kinds.program[OP_EVENT_CPU][0] >= 0);
	before = look_at(c, c->kinds.program[OP_EVENT_CPU][0]);
	CHECK_OK(op_capture_load(c));
	CHECK_INT(look_at(c, c->kinds.program[OP_EVENT_CPU][0]), before);
	op_capture_free(c);
}

/* A kind that is turned on later names types that nobody has named before. */
static void test_kinds_later(void)
{
	struct op_capture *c = make(OP_WALKER_AUTO, 0);
	const uint64_t cpu = UINT64_C(1) << OP_EVENT_CPU;
	uint32_t i;

	CHECK_INT(c->typed_kinds, cpu);
	for (i = 0; i < OP_KINDS; i++) {
		if (!(op_word_bits(op_word_kinds) >> i & 1))
			continue;
		if (op_capture_set_kinds(c, cpu | UINT64_C(1) << i) < 0)
			TEST_FAIL("%s: %s %s", op_kind_name(op_kinds()[i]),
				  c->log->message, c->log->detail ? c->log->detail : "");
		if (i == OP_EVENT_PROBES) {
			int fd = op_capture_load_probe(c, BPF_PROG_TYPE_KPROBE, 0, 0,
						       NULL);

			CHECK(fd >= 0);
			(void)close(fd);
		}
		if (i == OP_EVENT_HEAP) {
			const struct op_argument argument[OP_ARGUMENTS_MAX] = { 0 };
			struct op_capture_heap heap = { -1, -1, -1 };
			int fd = op_capture_load_heap(c, false, argument, &heap);

			CHECK(fd >= 0);
			(void)close(fd);
			(void)close(heap.lives);
			(void)close(heap.of_pid);
			(void)close(heap.of_all);
		}
		CHECK(c->typed_kinds >> i & 1);
		CHECK(c->types_fd >= 0);
	}
	op_capture_free(c);
}

/*
 * The form that this kernel takes, with each runtime alone and with all. tests/system/vm reads what
 * this prints, and between it what tests/system/vm/loads.c does.
 */
static void test_what_it_costs(void)
{
	struct op_capture *c;
	size_t i;

	(void)setvbuf(stdout, NULL, _IOLBF, 0);
	for (i = 0; i < runtimes_len(); i++) {
		printf("with none\n");
		c = make(OP_WALKER_AUTO, 0);
		printf("with %s\n", op_runtime_name(runtime_at(i)));
		CHECK_OK(op_capture_need_runtimes(c, UINT64_C(1) << runtime_at(i)->id));
		op_capture_free(c);
	}
	printf("with none\n");
	c = make(OP_WALKER_AUTO, 0);
	for (i = 0; c->form != OP_WALKER_EACH && i < runtimes_len(); i++) {
		printf("with %s\n", i + 1 < runtimes_len() ? "some" : "all");
		CHECK_OK(op_capture_need_runtimes(c, UINT64_C(1) << runtime_at(i)->id));
	}
	op_capture_free(c);
}

TEST_MAIN({ "loop", test_one_loop }, { "each", test_a_program_a_runtime },
	  { "whole", test_no_tail_call }, { "once", test_once },
	  { "later", test_kinds_later }, { "costs", test_what_it_costs })
