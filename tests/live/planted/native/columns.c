/* SPDX-License-Identifier: Apache-2.0 */
/* A matrix that stands in memory by rows is summed by columns. */
#include <stdio.h>
#include <stdlib.h>

enum {
	SIDE = 4096
};

static double sum_columns(const double *m)
{
	double sum = 0;
	size_t x, y;

	for (x = 0; x < SIDE; x++)
		for (y = 0; y < SIDE; y++)	/* GUILTY: the loop */
			sum += m[y * SIDE + x]; /* GUILTY: the load */
	return sum;
}

int main(void)
{
	double *m = calloc((size_t)SIDE * SIDE, sizeof(*m));
	double sum = 0;

	if (!m)
		return 1;
	while (sum >= 0) {
		m[0] += 1; /* else the compiler sums once */
		sum += sum_columns(m);
	}
	printf("%f\n", sum);
	free(m);
	return 0;
}
