/* SPDX-License-Identifier: Apache-2.0 */
/* Each picture gets memory of its own from the kernel and gives it back, so that each touches new
 * pages. */
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>

enum {
	WIDTH = 1920,
	HEIGHT = 1080,
	STRIDE = WIDTH * 4
};

static void clear(unsigned char *pixels)
{
	int y;

	for (y = 0; y < HEIGHT; y++)
		pixels[y * STRIDE] = 0xff; /* GUILTY: the first touch */
}

static unsigned long draw(unsigned int number)
{
	unsigned char *pixels = mmap(NULL, STRIDE * HEIGHT, PROT_READ | PROT_WRITE,
				     MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned long sum;

	if (pixels == MAP_FAILED)
		abort();
	clear(pixels);
	pixels[number % WIDTH] = 1;
	sum = pixels[STRIDE * (number % HEIGHT)];
	munmap(pixels, STRIDE * HEIGHT);
	return sum;
}

int main(void)
{
	unsigned long sum = 0;
	unsigned int number;

	for (number = 0; sum < 1UL << 60; number++)
		sum += draw(number);
	printf("%lu\n", sum);
	return 0;
}
