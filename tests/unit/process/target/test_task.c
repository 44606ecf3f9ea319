/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a call is charged with: the time that it waited, and not the time that it worked. A
 * slow processor would else use up what may be waited for processes that stall.
 */
#include <time.h>

#include "process/target/task/syscalls.h"
#include "process/target/task/task.h"
#include "tools.h"

enum {
	TRIES = 400, /* until a call was not preempted */
};

#define WORK_NS	    UINT64_C(2000000)
#define LITTLE_NS   UINT64_C(1000000)
#define DEADLINE_NS UINT64_C(2000000000)

/* Until its own CPU clock has gone on by WORK_NS. */
static OP_TASK_CODE int work(void *data, int *ret_fd)
{
	struct timespec t = { 0 };
	int64_t begin = -1;
	int64_t now = 0;

	do {
		(void)op_syscall(SYS_clock_gettime, CLOCK_THREAD_CPUTIME_ID, &t);
		now = (int64_t)t.tv_sec * 1000000000 + t.tv_nsec;
		if (begin < 0)
			begin = now;
	} while (now - begin < (int64_t)WORK_NS);
	return 0;
}

static OP_TASK_CODE int wait(void *data, int *ret_fd)
{
	struct timespec t = { .tv_nsec = WORK_NS };

	return (int)op_syscall(SYS_nanosleep, &t, 0);
}

/* The time that a call of @fn is charged with. */
static uint64_t charge(struct op_tasks *tasks, op_task_fn fn)
{
	CHECK(op_task_data(tasks));
	CHECK_OK(op_task_run(tasks, fn, DEADLINE_NS, NULL));
	if (tasks->direct)
		SKIP("calls are made directly here");
	return tasks->spent_ns;
}

static void test_charge(void)
{
	struct op_tasks tasks;
	uint64_t least = UINT64_MAX;
	int i;

	op_tasks_init(&tasks);
	/* a thread's CPU clock may begin at its wake-up, before it runs */
	CHECK(charge(&tasks, wait) >= LITTLE_NS);
	for (i = 0; i < TRIES && least >= LITTLE_NS; i++) {
		uint64_t spent = charge(&tasks, work);

		least = spent < least ? spent : least;
	}
	CHECK(least < LITTLE_NS);
	op_tasks_deinit(&tasks);
}

/* The type is known before anything is opened. */
static void test_regular(void)
{
	struct op_tasks tasks;
	char text[8] = "";
	uint32_t mode;
	int fd;

	op_tasks_init(&tasks);
	CHECK_OK(mkfifo(tools_path("pipe"), 0600));
	tools_write("file", "content");
	CHECK_OK(symlink("file", tools_path("link")));
	CHECK_INT(op_task_open_regular(&tasks, tools_path("pipe"), OP_TASK_SERVED_OPEN,
				       &mode),
		  -ENOTSUP);
	CHECK(S_ISFIFO(mode));
	CHECK_INT(op_task_open_regular(&tasks, "/dev/zero", OP_TASK_SERVED_OPEN, &mode),
		  -ENOTSUP);
	CHECK(S_ISCHR(mode));
	CHECK_INT(op_task_open_regular(&tasks, "/", OP_TASK_SERVED_OPEN, &mode), -EISDIR);
	CHECK_INT(op_task_open_regular(&tasks, tools_path("none"), OP_TASK_SERVED_OPEN,
				       &mode),
		  -ENOENT);
	CHECK_INT(mode, 0);
	fd = op_task_open_regular(&tasks, tools_path("link"), OP_TASK_SERVED_OPEN, &mode);
	CHECK(fd > STDERR_FILENO && S_ISREG(mode));
	CHECK(read(fd, text, sizeof(text)) == 7);
	CHECK_STR(text, "content");
	CHECK_OK(close(fd));
	op_tasks_deinit(&tasks);
}

TEST_MAIN({ "charge", test_charge }, { "regular", test_regular })
