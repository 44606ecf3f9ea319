/* SPDX-License-Identifier: Apache-2.0 */
#include "victim.h"

#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "kind_profile.h"

static const char VARIABLE[] = "VICTIM_MODE";

/* ---- in the new process ---- */

static PLACE void dies_of_segv(void)
{
	*(volatile char *)(uintptr_t)VICTIM_ADDRESS = 1;
	STAYS("segv");
}

static PLACE void dies_of_abort(void)
{
	abort();
}

/* Says that it is here, once it is. */
static PLACE void *waits_for_kill(void *arg)
{
	(void)!write(STDOUT_FILENO, "h", 1);
	for (;;)
		(void)pause();
	STAYS("kill");
	return arg;
}

static void start_threads(void)
{
	pthread_t thread;
	int i;

	for (i = 1; i < VICTIM_THREADS; i++)
		(void)pthread_create(&thread, NULL, waits_for_kill, NULL);
}

static void on_signal(int signal)
{
}

static void die(enum victim mode)
{
	const struct rlimit none = { 0 };
	int i;

	(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
	(void)setrlimit(RLIMIT_CORE, &none);
	for (i = 1; i < SIGSYS; i++)
		(void)signal(i, SIG_DFL); /* of sanitizers and test runners */
	switch (mode) {
	case VICTIM_SEGV:
		dies_of_segv();
		break;
	case VICTIM_ABORT:
		dies_of_abort();
		break;
	case VICTIM_KILL:
	case VICTIM_TERM:
		start_threads();
		(void)waits_for_kill(NULL);
		break;
	case VICTIM_EXIT:
		start_threads();
		break;
	case VICTIM_HANDLED:
		(void)signal(SIGUSR1, on_signal);
		(void)raise(SIGUSR1);
		break;
	default:
		(void)raise(SIGCHLD);
		break;
	}
	_exit(0);
}

__attribute__((constructor)) static void maybe_die(void)
{
	const char *mode = getenv(VARIABLE);

	if (mode)
		die((enum victim)atoi(mode));
}

/* ---- in the test ---- */

int victim_run(enum victim mode)
{
	char text[16];
	int out[2];
	int status = 0;
	char here;
	pid_t pid;
	int i;

	(void)snprintf(text, sizeof(text), "%d", (int)mode);
	CHECK_OK(pipe2(out, O_CLOEXEC));
	pid = fork();
	CHECK(pid >= 0);
	if (pid == 0) {
		(void)dup2(out[1], STDOUT_FILENO);
		(void)setenv(VARIABLE, text, 1);
		(void)execl("/proc/self/exe", "victim", NULL);
		_exit(99);
	}
	(void)close(out[1]);
	if (mode == VICTIM_KILL || mode == VICTIM_TERM) {
		for (i = 0; i < VICTIM_THREADS; i++)
			CHECK_INT(read(out[0], &here, 1), 1);
		CHECK_OK(kill(pid, mode == VICTIM_KILL ? SIGKILL : SIGTERM));
	}
	CHECK_INT(waitpid(pid, &status, 0), pid);
	(void)close(out[0]);
	return status;
}
