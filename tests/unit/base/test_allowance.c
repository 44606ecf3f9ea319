/* SPDX-License-Identifier: Apache-2.0 */
/* The shares of a poll's time for its parts, and the limits of work. */
#include "base/allowance.h"

#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "test.h"

enum {
	RIVALS = 4
};

#define MS UINT64_C(1000000)

static void test_default(void)
{
	struct op_allowance t = { 0 };
	uint64_t before = op_allowance_now(&t);

	op_allowance_begin_poll(&t, 0);
	CHECK_INT(t.poll_ns, 20 * MS);
	/* a fifth is for what cannot be divided */
	CHECK(t.poll_end_ns >= before + 16 * MS);
	CHECK(t.poll_end_ns <= op_allowance_now(&t) + 16 * MS);
}

static void test_a_part_takes_its_share_of_what_is_left(void)
{
	const struct op_allowance t = { .poll_end_ns = 140 * MS, .poll_ns = 40 * MS };

	CHECK_INT(op_allowance_part(&t, 100 * MS, 4), 110 * MS);
	CHECK_INT(op_allowance_part(&t, 100 * MS, 2), 120 * MS);
	CHECK_INT(op_allowance_part(&t, 130 * MS, 4), 140 * MS);
	CHECK_INT(op_allowance_part(&t, 135 * MS, 4), 140 * MS);
}

static void test_each_part_gets_a_little(void)
{
	const struct op_allowance t = { .poll_end_ns = 140 * MS, .poll_ns = 40 * MS };

	CHECK_INT(op_allowance_part(&t, 139 * MS, 4), 141 * MS);
	CHECK_INT(op_allowance_part(&t, 500 * MS, 4), 502 * MS);
}

static void test_without_a_poll_there_is_no_end(void)
{
	const struct op_allowance t = { 0 };

	CHECK_INT(op_allowance_share(&t, 4), 5 * MS);
	CHECK_INT(op_allowance_part(&t, 700 * MS, 4), 705 * MS);
}

static void test_used(void)
{
	const struct op_allowance t = { .poll_end_ns = 132 * MS, .poll_ns = 40 * MS };

	CHECK(!op_allowance_has_worked(&t, 100 * MS));
	CHECK(!op_allowance_has_worked(&t, 105 * MS - 1));
	CHECK(op_allowance_has_worked(&t, 105 * MS));
	CHECK(op_allowance_has_worked(&t, 200 * MS));
}

static void test_time(void)
{
	struct op_allowance t = { 0 };
	int i;

	CHECK(!op_allowance_is_over(NULL) && !op_allowance_is_over(&t));
	op_allowance_until(&t, op_clock_monotonic_ns() + 60000 * MS);
	CHECK(!op_allowance_is_over(&t) && !op_allowance_is_half_over(&t));
	op_allowance_until(&t, 1);
	CHECK(op_allowance_is_half_over(&t));
	/* the clock is not read at each step */
	for (i = 0; i < OP_ALLOWANCE_STEPS; i++)
		CHECK(!op_allowance_step(&t));
	CHECK(op_allowance_step(&t) && op_allowance_step(&t));
	CHECK(op_allowance_must_wait(&t));
	t.hurry = true;
	CHECK(op_allowance_is_over(&t) && !op_allowance_must_wait(&t));
	op_allowance_until(&t, 0);
	CHECK(!op_allowance_is_over(&t));
}

static void test_cpu(void)
{
	struct op_allowance t = { 0 };

	CHECK(op_allowance_has_cpu(NULL) && op_allowance_has_cpu(&t));
	CHECK_INT(op_allowance_begin_cpu(&t), 0);
	op_allowance_give_cpu(&t, 1);
	CHECK(op_allowance_has_cpu(&t) && !t.cpu_was_out);
	op_allowance_take_cpu(&t, op_allowance_begin_cpu(&t) - 5);
	CHECK(!op_allowance_has_cpu(&t) && t.cpu_was_out);
	CHECK(t.cpu_left_ns < 0 && t.cpu_used_ns >= 5);
	op_allowance_give_cpu(&t, 1);
	CHECK(op_allowance_has_cpu(&t));
}

static bool refuse(void *ctx, uint64_t bytes, bool needed)
{
	return needed && bytes <= *(uint64_t *)ctx;
}

static void test_bytes(void)
{
	uint64_t room = 10;
	struct op_allowance t = { .may_take_ctx = &room };

	CHECK(op_allowance_may_take(NULL, 11, false));
	CHECK(op_allowance_may_take(&t, 11, false));
	t.may_take = refuse;
	CHECK(op_allowance_may_take(&t, 10, true));
	CHECK(!op_allowance_may_take(&t, 10, false) &&
	      !op_allowance_may_take(&t, 11, true));
}

static pid_t spin_here(void)
{
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		for (;;)
			;
	}
	return pid;
}

static void test_waiting_for_a_cpu_is_no_work(void)
{
	struct op_allowance t;
	pid_t rival[RIVALS];
	cpu_set_t before, one;
	uint64_t cpu_ns;
	int i;

	CHECK_INT(sched_getaffinity(0, sizeof(before), &before), 0);
	CPU_ZERO(&one);
	CPU_SET(sched_getcpu(), &one);
	CHECK_INT(sched_setaffinity(0, sizeof(one), &one), 0);
	for (i = 0; i < RIVALS; i++)
		rival[i] = spin_here();
	cpu_ns = op_clock_thread_ns();
	t = (struct op_allowance){ 0 };
	op_allowance_until(&t, op_allowance_now(&t) + 40 * MS);
	while (!op_allowance_is_over(&t))
		;
	cpu_ns = op_clock_thread_ns() - cpu_ns;
	for (i = 0; i < RIVALS; i++) {
		CHECK_INT(kill(rival[i], SIGKILL), 0);
		CHECK_INT(waitpid(rival[i], NULL, 0), rival[i]);
	}
	CHECK_INT(sched_setaffinity(0, sizeof(before), &before), 0);
	/* by the clock it would be 8 */
	CHECK(cpu_ns >= 25 * MS);
	CHECK(cpu_ns <= 45 * MS);
}

static void test_sleep_takes_time(void)
{
	const struct timespec pause = { .tv_nsec = 30 * MS };
	struct op_allowance t = { 0 };

	op_allowance_until(&t, op_allowance_now(&t) + 20 * MS);
	CHECK(!op_allowance_is_over(&t));
	CHECK_INT(nanosleep(&pause, NULL), 0);
	CHECK(op_allowance_is_over(&t));
}

TEST_MAIN({ "default", test_default },
	  { "a_part_takes_its_share_of_what_is_left",
	    test_a_part_takes_its_share_of_what_is_left },
	  { "each_part_gets_a_little", test_each_part_gets_a_little },
	  { "without_a_poll_there_is_no_end", test_without_a_poll_there_is_no_end },
	  { "used", test_used }, { "time", test_time }, { "cpu", test_cpu },
	  { "bytes", test_bytes },
	  { "waiting_for_a_cpu_is_no_work", test_waiting_for_a_cpu_is_no_work },
	  { "sleep_takes_time", test_sleep_takes_time })
