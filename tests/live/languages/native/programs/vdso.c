/* SPDX-License-Identifier: Apache-2.0 */
/* Leaves in the vDSO: they call clock_gettime() of the monotonic clock for ever. */
#include <time.h>

#define TRUTH_SPIN(j)                                                                    \
	do {                                                                             \
		struct timespec _ts;                                                     \
		for (int _i = 0; _i < 500; _i++) {                                       \
			(void)clock_gettime(CLOCK_MONOTONIC, &_ts);                      \
			(j)->spins += (uint64_t)_ts.tv_nsec;                             \
		}                                                                        \
	} while (0)
#include "links.h"

int main(int argc, char **argv)
{
	return truth_main(argc, argv, f24);
}
