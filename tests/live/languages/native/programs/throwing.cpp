/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The leaves throw through three frames with objects to destroy, and catch. Most samples
 * fall into the C++ run time's own unwinder, and the chain below it must still be
 * complete.
 */
#include "chain.h"

namespace truth
{

struct guard {
	struct job *j;
	explicit guard(struct job *arg) : j(arg)
	{
	}
	~guard()
	{
		j->spins = j->spins + 1;
	}
};

TRUTH_FN void thrower(struct job *j, int depth)
{
	guard g(j);

	if (depth == 0)
		throw depth;
	thrower(j, depth - 1);
	KEEP();
}

} /* namespace truth */

#undef TRUTH_SPIN
#define TRUTH_SPIN(j)                                                                    \
	do {                                                                             \
		try {                                                                    \
			truth::thrower(j, 3);                                            \
		} catch (int) {                                                          \
			(j)->spins = (j)->spins + 1;                                     \
		}                                                                        \
	} while (0)

#define TRUTH_SCOPE extern "C"
#include "links.h"

int main(int argc, char **argv)
{
	return truth_main(argc, argv, f24);
}
