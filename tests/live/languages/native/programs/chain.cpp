/* SPDX-License-Identifier: Apache-2.0 */
/* The chain as templates in a namespace: every name has to be demangled. */
#include "chain.h"

namespace truth
{

template <int N> TRUTH_FN void leaf(struct job *j)
{
	while (truth_cpu_ns() < j->until_ns)
		TRUTH_SPIN(j);
	KEEP();
}

template <int N> struct link {
	TRUTH_FN static void run(struct job *j)
	{
		link<N - 1>::run(j);
		KEEP();
	}
};

template <> struct link<1> {
	TRUTH_FN static void run(struct job *j)
	{
		if (j->leaf == LEAF_A)
			leaf<0>(j);
		else if (j->leaf == LEAF_B)
			leaf<1>(j);
		else
			leaf<2>(j);
		KEEP();
	}
};

} /* namespace truth */

int main(int argc, char **argv)
{
	return truth_main(argc, argv, truth::link<24>::run);
}
