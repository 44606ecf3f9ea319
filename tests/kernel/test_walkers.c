/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every form of the walker loads on this kernel, in each type of program that an entry may
 * be, within its share of the verifier's work; and one more runtime loads one more program.
 */
#include <bpf/bpf.h>
#include <linux/bpf.h>
#include <unistd.h>

#include "capture/state.h"
#include "otelprof/error.h"

#include "test.h"

enum {
	INSTRUCTIONS_MAX = 60000, /* verified, of one program */
};

static struct op_capture *make(enum op_walker_form form)
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

/* Check a program. Returns its number. */
static uint32_t look_at(int fd)
{
	struct bpf_prog_info info = { 0 };
	uint32_t len = sizeof(info);

	CHECK_OK(bpf_obj_get_info_by_fd(fd, &info, &len));
	printf("  %s type %u: %u instructions verified\n", info.name, info.type,
	       info.verified_insns);
	CHECK(info.verified_insns <= INSTRUCTIONS_MAX);
	return info.id;
}

/* Check the program at @place of @w. Returns its number, or 0 where there is none. */
static uint32_t look(const struct op_walkers *w, uint32_t place)
{
	uint32_t id;
	int fd;

	if (bpf_map_lookup_elem(w->fd, &place, &id) < 0)
		return 0;
	fd = bpf_prog_get_fd_by_id(id);
	CHECK(fd >= 0);
	(void)look_at(fd);
	(void)close(fd);
	return id;
}

static void check_form(enum op_walker_form form)
{
	static const uint32_t types[] = { BPF_PROG_TYPE_PERF_EVENT,
					  BPF_PROG_TYPE_RAW_TRACEPOINT,
					  BPF_PROG_TYPE_KPROBE };
	struct op_capture *c = make(form);
	uint32_t before[OP_PROGRAM_TYPES_MAX];
	size_t i;
	int fd;

	CHECK_INT(c->walkers_len, 1); /* what the kinds that are on need */
	for (i = 0; i < sizeof(types) / sizeof(types[0]); i++)
		CHECK_OK(op_walkers_need(c, types[i], &fd));
	CHECK_INT(c->walkers_len, 3);
	for (i = 0; i < c->walkers_len; i++) {
		before[i] = look(&c->walkers[i], 0);
		CHECK(before[i]);
		CHECK_INT(look(&c->walkers[i], OP_RUNTIME_PYTHON), 0);
	}
	CHECK_OK(op_capture_need_runtime(c, OP_RUNTIME_PYTHON));
	for (i = 0; i < c->walkers_len; i++) {
		uint32_t after = look(&c->walkers[i], 0);

		CHECK(after);
		if (form == OP_WALKER_LOOP)
			CHECK(after != before[i]);
		else
			CHECK(after == before[i] &&
			      look(&c->walkers[i], OP_RUNTIME_PYTHON));
	}
	op_capture_free(c);
}

static void test_one_loop(void)
{
	struct op_capture *c = make(OP_WALKER_AUTO);
	bool loop = c->form == OP_WALKER_LOOP;

	op_capture_free(c);
	if (!loop)
		SKIP("no bpf_loop() here");
	check_form(OP_WALKER_LOOP);
}

static void test_a_program_a_runtime(void)
{
	check_form(OP_WALKER_EACH);
}

/* The entry that walks by itself: loaded again with each runtime. */
static void test_no_tail_call(void)
{
	struct op_capture *c = make(OP_WALKER_WHOLE);
	uint32_t before = look_at(c->program[OP_EVENT_CPU][0]);

	CHECK_INT(c->walkers_len, 0);
	CHECK_OK(op_capture_need_runtime(c, OP_RUNTIME_PYTHON));
	CHECK(look_at(c->program[OP_EVENT_CPU][0]) != before);
	op_capture_free(c);
}

TEST_MAIN({ "loop", test_one_loop }, { "each", test_a_program_a_runtime },
	  { "whole", test_no_tail_call })
