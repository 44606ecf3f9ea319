/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Loads and drops four shared objects in turn, so that other code comes to the same address.
 * Each stays for a tenth of a second of work.
 */
#include <dlfcn.h>
#include <stdint.h>
#include <stdio.h>

typedef uint64_t (*callback)(uint64_t);

static __attribute__((noinline)) uint64_t work(uint64_t x)
{
	for (volatile int i = 0; i < 200; i++)
		x = x * 6364136223846793005u + 1442695040888963407u;
	return x;
}

int main(void)
{
	volatile uint64_t sum = 0;
	char path[32];
	int round;

	for (round = 0;; round++) {
		uint64_t (*plugin)(uint64_t, callback);
		void *object;
		int i;

		(void)snprintf(path, sizeof(path), "./plugin%d.so", 1 + round % 4);
		object = dlopen(path, RTLD_NOW);
		if (!object)
			return 1;
		*(void **)&plugin = dlsym(object, "plugin");
		if (!plugin)
			return 1;
		for (i = 0; i < 1000; i++)
			sum = sum + plugin(sum, work);
		(void)dlclose(object);
	}
}
