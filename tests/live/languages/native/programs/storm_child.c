/* SPDX-License-Identifier: Apache-2.0 */
/* storm_child MS: the chain for MS milliseconds of CPU time, counted from main(). */
#include "links.h"

int main(int argc, char **argv)
{
	struct job j = { LEAF_A, 0, 0 };
	uint64_t ns = (argc > 1 ? (uint64_t)atoi(argv[1]) : 30) * 1000000;
	uint64_t start = truth_cpu_ns();

	/* One cycle: the shares hold over all processes together. */
	j.until_ns = start + ns / 2;
	f24(&j);
	j.leaf = LEAF_B;
	j.until_ns = start + ns * 8 / 10;
	f24(&j);
	j.leaf = LEAF_C;
	j.until_ns = start + ns;
	f24(&j);
	return 0;
}
