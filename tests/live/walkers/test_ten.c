/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Ten runtimes fit: each form of the walker loads with the steps of ten (the real ones, some
 * more than once), and where each has a program of its own, one more costs no more than the
 * first.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/bpf.h>
#include <stdlib.h>
#include <time.h>

#include "op_user_types.h"

#include "ten_cpu.skel.h"
#include "ten_walker.skel.h"
#include "test.h"

enum {
	RUNTIMES = 10,
	REAL = 4,		  /* the first of them */
	INSTRUCTIONS_MAX = 60000, /* verified, of a program that has one runtime */
	LOG_BYTES = 64 * 1024,
	LOG_STATS = 4, /* the kernel's BPF_LOG_STATS */
};

/* An object that is open, and its settings. */
struct opened {
	void *memory;
	struct bpf_object_skeleton *skeleton;
	struct op_settings *settings;
};

static struct opened open_walker(void)
{
	struct ten_walker *s = ten_walker__open();

	CHECK(s);
	return (struct opened){ s, s->skeleton, &s->rodata_set->op_settings };
}

static struct opened open_cpu(void)
{
	struct ten_cpu *s = ten_cpu__open();

	CHECK(s);
	return (struct opened){ s, s->skeleton, &s->rodata_set->op_settings };
}

static double now_ms(void)
{
	struct timespec t;

	(void)clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec * 1e3 + (double)t.tv_nsec / 1e6;
}

/* Of a log with statistics: "processed N insns", where 7.1 and later also tell the parts. */
static unsigned long processed(const char *log)
{
	static const char word[] = "processed ";
	const char *at = log;

	while ((at = strstr(at, word))) {
		char *end;
		unsigned long n;

		at += sizeof(word) - 1;
		n = strtoul(at, &end, 10);
		if (end > at && !strncmp(end, " insns", 6))
			return n;
	}
	return 0;
}

/* Load program @name alone, with the steps of @runtimes. Returns how many instructions the
 * verifier looked at, or 0 where the kernel refused. */
static unsigned long load(struct opened (*open)(void), const char *name,
			  uint64_t runtimes)
{
	struct opened o = open();
	struct bpf_object *object = *o.skeleton->obj;
	struct bpf_program *program;
	char *log = calloc(1, LOG_BYTES);
	unsigned long instructions = 0;
	double ms;
	int r;

	CHECK(log);
	/* as in the library: what is off would not be verified */
	o.settings->user_stacks = 1;
	o.settings->kernel_stacks = 1;
	o.settings->runtimes_on = runtimes;
	bpf_object__for_each_program(program, object)
		CHECK_OK(bpf_program__set_autoload(program, false));
	program = bpf_object__find_program_by_name(object, name);
	CHECK(program);
	CHECK_OK(bpf_program__set_autoload(program, true));
	CHECK_OK(bpf_program__set_log_level(program, LOG_STATS));
	CHECK_OK(bpf_program__set_log_buf(program, log, LOG_BYTES));
	ms = now_ms();
	r = bpf_object__load(object);
	ms = now_ms() - ms;
	if (r == 0)
		instructions = processed(log);
	printf("  %s, runtimes 0x%llx: %lu instructions verified, %.1f ms with its maps\n",
	       name, (unsigned long long)runtimes, instructions, ms);
	if (r < 0)
		printf("  errno %d: %s\n", -r, log);
	bpf_object__destroy_skeleton(o.skeleton);
	free(o.memory);
	free(log);
	if (r == -EPERM)
		SKIP("no rights here");
	return instructions;
}

static bool has_loop(void)
{
	return libbpf_probe_bpf_helper(BPF_PROG_TYPE_PERF_EVENT, BPF_FUNC_loop, NULL) ==
	       1;
}

static const uint64_t all = (UINT64_C(2) << RUNTIMES) - 2;

static void test_one_loop(void)
{
	unsigned long none;

	if (!has_loop())
		SKIP("no bpf_loop() here");
	none = load(open_walker, "op_walk", 0);
	CHECK(none);
	CHECK(load(open_walker, "op_walk", all) > none);
}

/* Each program has the native step and its own: none pays for the others. */
static void test_a_program_a_runtime(void)
{
	unsigned long most = 0;
	unsigned long none = load(open_walker, "op_walk_each", 0);
	int i;

	if (!none)
		SKIP("subprograms and tail calls do not mix here");
	for (i = 1; i <= RUNTIMES; i++) {
		unsigned long n = load(open_walker, "op_walk_each", UINT64_C(1) << i);

		/* what the branches are taken for varies a little, downwards too on Linux 5.10 */
		CHECK(n > none - none / 32);
		CHECK(n <= INSTRUCTIONS_MAX);
		/* each step there is, once */
		if (i <= REAL && n > most)
			most = n;
		CHECK(n <= most + most / 32);
	}
}

/* The last resort holds all of them: it has no share, and must load. */
static void test_no_tail_call(void)
{
	CHECK(load(open_cpu, "op_cpu_whole", all));
}

TEST_MAIN({ "loop", test_one_loop }, { "each", test_a_program_a_runtime },
	  { "whole", test_no_tail_call })
