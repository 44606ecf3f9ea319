/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
static int cmp(const void *a, const void *b)
{
	return *(int *)a - *(int *)b;
}
volatile double s;
int main()
{
	static int a[20000];
	for (;;) {
		for (int i = 0; i < 20000; i++)
			a[i] = (i * 7919) % 10007;
		qsort(a, 20000, 4, cmp);
		for (int i = 0; i < 50000; i++)
			s += sin(i);
		char b[4096];
		for (int i = 0; i < 1000; i++)
			memset(b, i, 4096);
	}
}
