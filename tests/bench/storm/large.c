/* SPDX-License-Identifier: Apache-2.0 */
/* Runs functions of large.S, any of them at any time, eight deep, until it is killed. */
#include <stdlib.h>

enum {
	DEPTH = 8,
	BYTES = 1 << SHIFT, /* of a function */
	TURNS = 20000,
};

extern char large_functions[];

typedef void (*large_fn)(unsigned int turns, void *const *others, unsigned int left);

int main(void)
{
	for (;;) {
		void *fn[DEPTH];
		int i;

		for (i = 0; i < DEPTH; i++)
			fn[i] = large_functions + (size_t)(random() % FUNCTIONS) * BYTES;
		((large_fn)fn[0])(TURNS, fn + 1, DEPTH - 1);
	}
}
