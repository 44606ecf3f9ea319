/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Slots of walks: a program that a clock tick interrupts keeps its slot, and the tick gets
 * one of its own. With a single slot the tick would be lost. Where each type of program has
 * its own slots the tick finds its slot free, whatever it interrupts.
 */
#include <bpf/bpf.h>
#include <bpf/libbpf.h>
#include <linux/perf_event.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "op_user_types.h"

#include "slots.h"
#include "slots.skel.h"
#include "test.h"

enum {
	CPUS_MAX = 64,
	PERIOD_NS = 100000, /* of the ticks */
	RUN_MS = 500,
};

/* A child that does nothing but enter the kernel. */
static pid_t call(void)
{
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			(void)syscall(SYS_getppid);
	}
	return pid;
}

static int tick(int cpu, int program)
{
	struct perf_event_attr attr = { .type = PERF_TYPE_SOFTWARE,
					.size = sizeof(attr),
					.config = PERF_COUNT_SW_CPU_CLOCK,
					.sample_period = PERIOD_NS };
	int fd = (int)syscall(SYS_perf_event_open, &attr, -1, cpu, -1, 0);

	if (fd >= 0)
		CHECK_OK(ioctl(fd, PERF_EVENT_IOC_SET_BPF, program));
	return fd;
}

static struct test_slots sum(const struct slots_test *skel)
{
	int cpus = libbpf_num_possible_cpus();
	struct test_slots *each = calloc((size_t)cpus, sizeof(*each));
	struct test_slots all = { 0 };
	uint32_t zero = 0;
	int i;

	CHECK(each);
	CHECK_OK(bpf_map_lookup_elem(bpf_map__fd(skel->maps.test_counts), &zero, each));
	for (i = 0; i < cpus; i++) {
		all.taken += each[i].taken;
		all.nested += each[i].nested;
		all.beside += each[i].beside;
		all.none += each[i].none;
		all.overwritten += each[i].overwritten;
		all.not_found += each[i].not_found;
	}
	free(each);
	return all;
}

/* The programs over @slots slots on each CPU, those of them theirs that @own says; maps are
 * those of @shared, if any. */
static struct slots_test *load(uint32_t slots, const struct op_settings *own,
			       const struct slots_test *shared)
{
	struct slots_test *skel = slots_test__open();
	struct op_settings *settings;

	CHECK(skel);
	settings = &skel->rodata_set->op_settings;
	settings->slots = own->slots;
	settings->slot_first = own->slot_first;
	settings->slot_alone = own->slot_alone;
	CHECK_OK(bpf_map__set_max_entries(skel->maps.op_slots, slots));
	CHECK_OK(bpf_map__set_max_entries(skel->maps.op_ring, 4096));
	if (shared) {
		CHECK_OK(bpf_map__reuse_fd(skel->maps.op_slots,
					   bpf_map__fd(shared->maps.op_slots)));
		CHECK_OK(bpf_map__reuse_fd(skel->maps.test_counts,
					   bpf_map__fd(shared->maps.test_counts)));
	}
	if (slots_test__load(skel) < 0)
		SKIP("the programs cannot be loaded here");
	return skel;
}

/* The walk of @calls and the tick of @ticks for a while. Both are closed. */
static struct test_slots run(struct slots_test *calls, struct slots_test *ticks)
{
	struct timespec span = { .tv_nsec = RUN_MS * 1000000L };
	int fd[CPUS_MAX];
	int cpus = libbpf_num_possible_cpus();
	struct test_slots got;
	struct bpf_link *link;
	pid_t pid = call();
	int i;

	link = bpf_program__attach(calls->progs.test_call);
	CHECK(link);
	for (i = 0; i < cpus && i < CPUS_MAX; i++)
		fd[i] = tick(i, bpf_program__fd(ticks->progs.test_tick));
	(void)nanosleep(&span, NULL);
	while (i-- > 0)
		(void)close(fd[i]);
	CHECK_OK(bpf_link__destroy(link));
	got = sum(calls);
	if (ticks != calls)
		slots_test__destroy(ticks);
	slots_test__destroy(calls);
	CHECK_OK(kill(pid, SIGKILL));
	CHECK_INT(waitpid(pid, NULL, 0), pid);
	printf("  %llu taken, %llu nested, %llu beside another, %llu without\n",
	       (unsigned long long)got.taken, (unsigned long long)got.nested,
	       (unsigned long long)got.beside, (unsigned long long)got.none);
	CHECK_INT(got.overwritten, 0);
	CHECK_INT(got.not_found, 0);
	return got;
}

static struct test_slots run_shared(uint32_t slots)
{
	const struct op_settings all = { .slots = slots };
	struct slots_test *skel = load(slots, &all, NULL);

	return run(skel, skel);
}

static void test_a_tick_in_a_walk_has_its_own(void)
{
	struct test_slots got = run_shared(2);

	CHECK(got.nested > 0);
	CHECK_INT(got.none, 0);
}

static void test_one_slot_loses_the_tick(void)
{
	struct test_slots got = run_shared(1);

	CHECK_INT(got.nested, 0);
	CHECK(got.none > 0);
}

/* As the library has it: perf events the first, other types what comes after it. */
static void test_each_type_has_its_own(void)
{
	const struct op_settings walk = { .slots = 1, .slot_first = 1 };
	const struct op_settings tick = { .slots = 1, .slot_alone = 1 };
	struct slots_test *calls = load(2, &walk, NULL);
	struct test_slots got = run(calls, load(2, &tick, calls));

	CHECK(got.beside > 0);
	CHECK_INT(got.none, 0);
}

TEST_MAIN({ "own", test_each_type_has_its_own },
	  { "two", test_a_tick_in_a_walk_has_its_own },
	  { "one", test_one_slot_loses_the_tick })
