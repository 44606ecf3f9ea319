/* SPDX-License-Identifier: Apache-2.0 */
/* The leaves keep calling a tiny function of a library through a lazily bound PLT, so
 * that samples fall into PLT stubs; every link of the chain crosses a PLT, too. */
#include <stdint.h>

struct job;
void plt_tiny(struct job *j);
void plt_chain(struct job *j);
#define TRUTH_SPIN(j)                                                                    \
	do {                                                                             \
		for (int _i = 0; _i < 4000; _i++)                                        \
			plt_tiny(j);                                                     \
	} while (0)
#include "lower.h"

int main(int argc, char **argv)
{
	return truth_main(argc, argv, plt_chain);
}
