/* SPDX-License-Identifier: Apache-2.0 */
/* Leaves that only call tiny functions with pushes and pops, so that most samples fall
 * into prologues, epilogues and first instructions. */
#include <stdint.h>

struct job;
void tiny(struct job *j);
#define TRUTH_SPIN(j)                                                                    \
	do {                                                                             \
		for (int _i = 0; _i < 2000; _i++)                                        \
			tiny(j);                                                         \
	} while (0)
#include "links.h"

TRUTH_FN void tiny_inner(struct job *j, uint64_t a)
{
	j->spins += a;
	KEEP();
}

TRUTH_FN void tiny(struct job *j)
{
	uint64_t a = j->spins, b = a ^ 5, c = a + 7, d = a * 3, e = b * 5, f = c * 7;

	__asm__ volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e), "+r"(f));
	tiny_inner(j, a);
	__asm__ volatile("" : "+r"(a), "+r"(b), "+r"(c), "+r"(d), "+r"(e), "+r"(f));
	j->spins += (a ^ b ^ c ^ d ^ e ^ f) & 1;
}

int main(int argc, char **argv)
{
	return truth_main(argc, argv, f24);
}
