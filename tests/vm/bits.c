/* SPDX-License-Identifier: Apache-2.0 */
/* Prints how many bits the addresses of a process have: where the kernel maps memory when it
 * is asked for a high place. */
#include <stdint.h>
#include <stdio.h>
#include <sys/mman.h>

int main(void)
{
	static const int sizes[] = { 52, 48, 47, 42, 39, 36 };
	unsigned int i;

	for (i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		uintptr_t half = (uintptr_t)1 << (sizes[i] - 1);
		void *at = mmap((void *)(half + half / 2), 4096, PROT_NONE,
				MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

		if (at != MAP_FAILED && (uintptr_t)at >= half) {
			(void)printf("%d\n", sizes[i]);
			return 0;
		}
	}
	return 1;
}
