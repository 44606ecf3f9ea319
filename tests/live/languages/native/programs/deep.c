/* SPDX-License-Identifier: Apache-2.0 */
/* The chain on top of 600 frames of recursion, all of the function dig. */
#include "links.h"

#ifndef DEPTH_OF_DIG
#define DEPTH_OF_DIG 600
#endif

TRUTH_FN void dig(struct job *j, int depth)
{
	volatile uint64_t room[3];

	room[0] = (uint64_t)depth;
	if (depth > 1)
		dig(j, depth - 1);
	else
		f24(j);
	room[1] = room[0];
	KEEP();
}

TRUTH_FN void dig_all(struct job *j)
{
	dig(j, DEPTH_OF_DIG);
	KEEP();
}

int main(int argc, char **argv)
{
	return truth_main(argc, argv, dig_all);
}
