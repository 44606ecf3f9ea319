/* SPDX-License-Identifier: Apache-2.0 */
/* The leaves, and f1, which calls the leaf whose turn it is. */
#ifndef TRUTH_LEAVES_H
#define TRUTH_LEAVES_H

#include "chain.h"

#ifndef TRUTH_SCOPE
#define TRUTH_SCOPE
#endif

TRUTH_SCOPE TRUTH_LEAF(leaf_a)
TRUTH_SCOPE TRUTH_LEAF(leaf_b)
TRUTH_SCOPE TRUTH_LEAF(leaf_c)

TRUTH_SCOPE TRUTH_FN void f1(struct job *j)
{
	if (j->leaf == LEAF_A)
		leaf_a(j);
	else if (j->leaf == LEAF_B)
		leaf_b(j);
	else
		leaf_c(j);
	KEEP();
}

#endif
