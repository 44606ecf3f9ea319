/* SPDX-License-Identifier: Apache-2.0 */
/* The other half of plt.c: small functions behind the PLT, and half of the chain. */
#include "chain.h"

void plt_tiny(struct job *j);
void plt_chain(struct job *j);
extern void f12(struct job *j);

TRUTH_FN void plt_tiny(struct job *j)
{
	j->spins++;
}

/* f13 … f24 are in the library and call f12 of the program through the library's PLT. */
TRUTH_LINK(f13, f12)
TRUTH_LINK_FAT(f14, f13)
TRUTH_LINK(f15, f14)
TRUTH_LINK_FAT(f16, f15)
TRUTH_LINK(f17, f16)
TRUTH_LINK_FAT(f18, f17)
TRUTH_LINK(f19, f18)
TRUTH_LINK_FAT(f20, f19)
TRUTH_LINK(f21, f20)
TRUTH_LINK_FAT(f22, f21)
TRUTH_LINK(f23, f22)
TRUTH_LINK_FAT(f24, f23)

void plt_chain(struct job *j)
{
	f24(j);
	KEEP();
}
