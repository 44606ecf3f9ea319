/* SPDX-License-Identifier: Apache-2.0 */
/* A library of C++ that a program of C loads: its memory has to be what C++ promises. */
#include <cstddef>
#include <cstdint>
#include <new>

struct alignas(256) wide {
	char bytes[256];
};

/* Is it where it has to be? The compiler must not leave out the allocation. */
template <class T> static bool is_aligned(T *p)
{
	__asm__ volatile("" : "+r"(p)::"memory");
	return p && reinterpret_cast<uintptr_t>(p) % alignof(T) == 0;
}

static bool throws()
{
	volatile std::size_t much = SIZE_MAX / 4;

	try {
		char *p = new char[much];

		__asm__ volatile("" : "+r"(p)::"memory");
		delete[] p;
	} catch (const std::bad_alloc &) {
		return true;
	}
	return false;
}

/* Returns a bit for each promise that is broken. */
extern "C" int plugin_broken(void)
{
	int broken = 0;

	for (int i = 0; i < 100; i++) {
		wide *one = new wide;
		wide *some = new wide[3];
		wide *maybe = new (std::nothrow) wide;
		char *plain = new char[i];

		broken |= (is_aligned(one) ? 0 : 1) | (is_aligned(some) ? 0 : 2) |
			  (is_aligned(maybe) ? 0 : 4) | (is_aligned(plain) ? 0 : 8);
		delete one;
		delete[] some;
		delete maybe;
		delete[] plain;
	}
	return broken | (throws() ? 0 : 1 << 4);
}
