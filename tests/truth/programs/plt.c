/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The leaves call a tiny function of a library through a lazily bound PLT all the time, so
 * that samples fall into PLT stubs; every link of the chain crosses a PLT too.
 */
#include <stdint.h>

struct job;
void plt_tiny(struct job *j);
void plt_chain(struct job *j);
#define TRUTH_SPIN(j)                                                                    \
	do {                                                                             \
		for (int _i = 0; _i < 4000; _i++)                                        \
			plt_tiny(j);                                                     \
	} while (0)
#include "chain.h"

TRUTH_LEAF(leaf_a)
TRUTH_LEAF(leaf_b)
TRUTH_LEAF(leaf_c)

TRUTH_FN void f1(struct job *j)
{
	if (j->leaf == LEAF_A)
		leaf_a(j);
	else if (j->leaf == LEAF_B)
		leaf_b(j);
	else
		leaf_c(j);
	KEEP();
}

TRUTH_LINK(f2, f1)
TRUTH_LINK_FAT(f3, f2)
TRUTH_LINK(f4, f3)
TRUTH_LINK_FAT(f5, f4)
TRUTH_LINK(f6, f5)
TRUTH_LINK_FAT(f7, f6)
TRUTH_LINK(f8, f7)
TRUTH_LINK_FAT(f9, f8)
TRUTH_LINK(f10, f9)
TRUTH_LINK_FAT(f11, f10)
TRUTH_LINK(f12, f11)

int main(int argc, char **argv)
{
	return truth_main(argc, argv, plt_chain);
}
