// SPDX-License-Identifier: Apache-2.0
// The same in C++: templates, a namespace, a lambda and the library's own inline functions.
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <vector>

namespace known {
template <typename T> struct mixer {
	std::vector<T> values;
	T mix(T x) const
	{
		T sum = x;
		for (const T &v : values)
			sum = sum * T(3) + v;
		return sum;
	}
};

__attribute__((noinline)) long work(long n)
{
	mixer<long> m{ { 1, 2, 3, 4, 5 } };
	std::string text;
	long sum = 0;
	for (long i = 0; i < n; i++) {
		sum += m.mix(i);
		std::sort(m.values.begin(), m.values.end(),
			  [i](long a, long b) { return (a ^ i) < (b ^ i); });
		text += char('a' + sum % 26);
	}
	return sum + long(text.size());
}
} // namespace known

int main(int argc, char **argv)
{
	std::printf("%ld\n", known::work(argc > 1 ? std::atol(argv[1]) : 1));
	return 0;
}
