/* SPDX-License-Identifier: Apache-2.0 */
/* A child that spins, and its CPU clock to wait by. */
#ifndef TEST_CHILD_H
#define TEST_CHILD_H

#include <signal.h>
#include <stdint.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "test.h"

static inline uint64_t now_ms(void)
{
	struct timespec ts;

	(void)clock_gettime(CLOCK_MONOTONIC, &ts);
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

/* A child that spins until child_end(), or until this test ends. @comm: its command name,
 * NULL: the test's. */
static inline pid_t child_spin(const char *comm)
{
	pid_t pid = fork();

	CHECK(pid >= 0);
	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (comm)
			(void)prctl(PR_SET_NAME, comm);
		for (;;)
			__asm__ volatile("");
	}
	return pid;
}

/* The CPU time of the child @pid. A test that waits for CPU time takes longer on a busy
 * machine, but is not wrong there. */
static inline uint64_t child_cpu_ms(pid_t pid)
{
	struct timespec ts;
	clockid_t clock;

	CHECK_INT(clock_getcpuclockid(pid, &clock), 0);
	CHECK_OK(clock_gettime(clock, &ts));
	return (uint64_t)ts.tv_sec * 1000 + (uint64_t)ts.tv_nsec / 1000000;
}

static inline void child_end(pid_t pid)
{
	CHECK_INT(kill(pid, SIGKILL), 0);
	CHECK_INT(waitpid(pid, NULL, 0), pid);
}

#endif
