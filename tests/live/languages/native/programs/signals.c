/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A signal interrupts victim() and tiny() at any instruction, also in prologues and
 * epilogues. Its handler runs the upper half of the chain: leaf, f1 … f12, on_signal, the
 * trampoline, whatever was interrupted, f13 … f24. All the measured time is spent in the
 * handler.
 */
#include <signal.h>
#include <string.h>
#include <sys/time.h>

/* Longer cycles: the 20 µs before each signal are then 0.2 % of the time. */
#define TRUTH_CYCLES 2
#include "lower.h"

static struct job *volatile truth_job;
static volatile sig_atomic_t truth_done;
static volatile uint64_t truth_sink;

TRUTH_FN void on_signal(int number)
{
	(void)number;
	f12(truth_job);
	truth_done = 1;
	KEEP();
}

TRUTH_FN uint64_t tiny(uint64_t a)
{
	uint64_t b = a ^ 5, c = a + 7, d = a * 3;

	__asm__ volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d));
	truth_sink += a;
	__asm__ volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d));
	return a + b + c + d;
}

/* Arms a 20 µs timer and calls tiny() until the handler has run. */
TRUTH_FN void victim(struct job *j)
{
	struct itimerval timer = { { 0, 0 }, { 0, 20 } };

	truth_job = j;
	truth_done = 0;
	(void)setitimer(ITIMER_REAL, &timer, NULL);
	while (!truth_done)
		truth_sink += tiny(truth_sink);
}

TRUTH_LINK(f13, victim)
TRUTH_LINK_FAT(f14, f13)
TRUTH_LINK(f15, f14)
TRUTH_LINK_FAT(f16, f15)
TRUTH_LINK(f17, f16)
TRUTH_LINK_FAT(f18, f17)
TRUTH_LINK(f19, f18)
TRUTH_LINK_FAT(f20, f19)
TRUTH_LINK(f21, f20)
TRUTH_LINK_FAT(f22, f21)
TRUTH_LINK(f23, f22)
TRUTH_LINK_FAT(f24, f23)

int main(int argc, char **argv)
{
	struct sigaction action;

	(void)memset(&action, 0, sizeof(action));
	action.sa_handler = on_signal;
	(void)sigaction(SIGALRM, &action, NULL);
	return truth_main(argc, argv, f24);
}
