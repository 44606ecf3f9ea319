// SPDX-License-Identifier: Apache-2.0
// examples/hosts/profile.cc as a host whose own code throws: out of the callback, where the
// exception has to wait until the library has returned, and while the profiler samples. The
// handle is freed by its destructor in both cases.
#define main main_of_the_example
#include "../../../examples/hosts/profile.cc"
#undef main

#include <cstdlib>
#include <dirent.h>

namespace
{

struct Refused : std::exception {
	explicit Refused(std::uint64_t n)
		: samples(n)
	{
	}
	const char *what() const noexcept override
	{
		return "refused";
	}
	std::uint64_t samples;
};

unsigned int guards;

// A frame between the throw and the catch.
struct Guard {
	~Guard()
	{
		guards++;
	}
};

std::size_t descriptors()
{
	std::size_t n = 0;
	DIR *d = opendir("/proc/self/fd");

	if (!d)
		throw std::runtime_error("/proc/self/fd");
	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

void check(bool ok, const char *what)
{
	if (!ok) {
		std::cerr << "not so: " << what << '\n';
		std::exit(2);
	}
}

void sample(Profiler &profiler)
{
	for (int i = 0; i < 20; i++)
		profiler.poll(std::chrono::milliseconds(20));
}

std::uint64_t throw_out_of_the_callback()
{
	std::uint64_t refused = 0;

	try {
		Guard outer;
		Profiler profiler(99, [&](const void *, std::size_t len, std::uint64_t n) {
			Guard inner;

			std::cout << "request of " << len << " bytes with " << n
				  << " samples\n";
			refused = n;
			throw Refused(n);
			return true;
		});
		profiler.start();
		sample(profiler);
		profiler.finish();
		check(false, "the exception comes out of finish()");
	} catch (const Refused &e) {
		check(e.samples == refused && refused, "it is the one that was thrown");
	}
	check(guards == 2, "both guards were destroyed");
	return refused;
}

void throw_while_it_samples()
{
	try {
		Guard outer;
		Profiler profiler(99, [](const void *, std::size_t, std::uint64_t) {
			return true;
		});
		profiler.start();
		sample(profiler);
		throw Refused(1);
	} catch (const Refused &) {
		guards++;
	}
	check(guards == 4, "the guard of the second was destroyed");
}

} // namespace

int main()
try {
	const std::size_t before = descriptors();
	const std::uint64_t samples = throw_out_of_the_callback();

	check(descriptors() == before, "the handle of the first is freed");
	throw_while_it_samples();
	check(descriptors() == before, "the handle of the second is freed");
	std::cout << samples << " samples\n";
	return 0;
} catch (const std::exception &e) {
	std::cerr << e.what() << '\n';
	return 1;
}
