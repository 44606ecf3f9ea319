/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Signal handlers that work on stacks of their own, some left by siglongjmp(). Two threads,
 * each with a timer of its own CPU time.
 */
#define _GNU_SOURCE
#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static __thread sigjmp_buf back;
static __thread volatile uint64_t handled;
static volatile uint64_t sink;

static __attribute__((noinline)) uint64_t work(uint64_t x, int n)
{
	while (n--)
		x = x * 6364136223846793005u + 1442695040888963407u;
	return x;
}

static __attribute__((noinline)) uint64_t down(int depth, uint64_t x)
{
	volatile uint64_t here = x + (uint64_t)depth;

	if (depth)
		return down(depth - 1, here * 3) + here;
	return work(here, 20000);
}

static void on_signal(int sign, siginfo_t *info, void *context)
{
	sink += down(8, ++handled);
	if (handled % 3 == 0)
		siglongjmp(back, 1);
}

static void *thread(void *unused)
{
	struct sigaction act = { .sa_sigaction = on_signal,
				 .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESTART };
	struct itimerspec often = { { 0, 1000000 }, { 0, 1000000 } };
	struct sigevent event = { .sigev_notify = SIGEV_THREAD_ID,
				  .sigev_signo = SIGALRM };
	stack_t stack = { .ss_size = 65536 };
	timer_t timer;

	stack.ss_sp = malloc(stack.ss_size);
	event._sigev_un._tid = (pid_t)syscall(SYS_gettid);
	if (!stack.ss_sp || sigaltstack(&stack, NULL) || sigaction(SIGALRM, &act, NULL) ||
	    timer_create(CLOCK_THREAD_CPUTIME_ID, &event, &timer) ||
	    timer_settime(timer, 0, &often, NULL))
		exit(1);
	(void)sigsetjmp(back, 1);
	for (;;)
		sink += down(20, sink);
	return unused;
}

int main(void)
{
	pthread_t other;

	if (pthread_create(&other, NULL, thread, NULL))
		return 1;
	thread(NULL);
	return 0;
}
