/* SPDX-License-Identifier: Apache-2.0 */
/* 600 frames of recursion between f1 and f24's callers: dig is there 600 times. */
#include "links.h"

enum {
	DEPTH = 600
};

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
	dig(j, DEPTH);
	KEEP();
}

int main(int argc, char **argv)
{
	return truth_main(argc, argv, dig_all);
}
