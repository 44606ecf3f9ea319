/* SPDX-License-Identifier: Apache-2.0 */
/* Calls that a compiler inlines, for the lines of debug info. */
#include <stdio.h>
#include <stdlib.h>

static inline double inner(double x)
{
	int i;

	for (i = 0; i < 10; i++)
		x = x * 1.0000001 + 0.5;
	return x;
}

static inline double middle(double x)
{
	return inner(x) + inner(x + 1);
}

__attribute__((noinline)) double outer(long n)
{
	double sum = 0;
	long i;

	for (i = 0; i < n; i++)
		sum += middle((double)i);
	return sum;
}

int main(int argc, char **argv)
{
	long n = argc > 1 ? atol(argv[1]) : 1;

	printf("%f\n", outer(n));
	return 0;
}
