/* SPDX-License-Identifier: Apache-2.0 */
/* Uses a processor; what is hostile is the file it is linked into. */
#include <stdio.h>
#include <sys/prctl.h>
#include <unistd.h>

static __attribute__((noinline)) void spin(unsigned int n)
{
	volatile unsigned int x = n;

	while (--n)
		x = x * 1664525u + n;
}

int main(void)
{
	(void)prctl(PR_SET_PDEATHSIG, 9);
	(void)printf("ready %d\n", (int)getpid());
	(void)fflush(stdout);
	for (;;)
		spin(1000000);
}
