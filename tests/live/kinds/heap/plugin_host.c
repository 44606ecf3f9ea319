/* SPDX-License-Identifier: Apache-2.0 */
/* A program that is not linked with the library of C++ and loads a library that is. It is
 * run with the sampler preloaded. */
#include <dlfcn.h>
#include <stdio.h>

int main(int argc, char **argv)
{
	void *library = argc > 1 ? dlopen(argv[1], RTLD_NOW | RTLD_LOCAL) : NULL;
	int (*broken)(void) =
		library ? (int (*)(void))dlsym(library, "plugin_broken") : NULL;
	int bits;

	if (!broken) {
		printf("cannot load: %s\n", dlerror());
		return 1;
	}
	if (!dlsym(RTLD_DEFAULT, "_Znwm")) {
		printf("the sampler is not preloaded\n");
		return 1;
	}
	bits = broken();
	printf("broken promises: %#x\n", (unsigned int)bits);
	return bits != 0;
}
