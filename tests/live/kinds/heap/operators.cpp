/* SPDX-License-Identifier: Apache-2.0 */
/* As places.c, by the operators of C++. */
#include <cstdint>
#include <new>
#include <unistd.h>
#include <vector>

#include "places.h"

#define PLACE	    __attribute__((noinline, noclone))
#define STAYS(name) __asm__ volatile("/* " name " */" ::: "memory")

struct alignas(256) wide {
	char bytes[256];
};

extern "C" {
PLACE char *place_new(size_t size)
{
	char *p = static_cast<char *>(::operator new(size));

	STAYS("new");
	return p;
}

PLACE char *place_array(size_t size)
{
	char *p = new char[size];

	STAYS("array");
	return p;
}

PLACE wide *place_wide(size_t size)
{
	wide *p = new wide[size / sizeof(wide)];

	STAYS("wide");
	return p;
}

PLACE char *place_nothrow(size_t size)
{
	char *p = new (std::nothrow) char[size];

	STAYS("nothrow");
	return p;
}
}

/* One that is too large throws, through the library that stands before the allocator. The exception
 * is allocated, too: in no place whose allocations are counted. */
PLACE static bool throws()
{
	volatile size_t much = SIZE_MAX / 4;

	try {
		char *p = new char[much];

		__asm__ volatile("" ::"r"(p) : "memory"); /* else there is no call */
		delete[] p;
	} catch (const std::bad_alloc &) {
		return true;
	}
	return false;
}

int main()
{
	std::vector<char *> made;
	request q;

	while (read(0, &q, sizeof(q)) == sizeof(q)) {
		if (q.what == 'k' && !throws())
			return 5;
		for (uint32_t i = 0; q.what == 'k' && i < q.n; i++) {
			::operator delete(place_new(q.size), q.size);
			made.push_back(place_array(q.size));
			delete[] place_wide(q.size);
			delete[] place_nothrow(q.size);
		}
		for (; q.what == 'f' && !made.empty(); made.pop_back())
			delete[] made.back();
		(void)!write(1, &q, sizeof(q));
	}
	return 0;
}
