// SPDX-License-Identifier: Apache-2.0
// A C++ program that says which span each thread works on, for profilers to see. Scopes attach a
// context and put back what was there before, also when an exception ends them. Serves made-up
// requests in two threads for the seconds given as argument (3).
//
//     g++ -std=c++17 spans.cc $(pkg-config --cflags --libs otelprof-context) -pthread
#include <otelprof/context.h>

#include <array>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <iostream>
#include <stdexcept>
#include <string_view>
#include <thread>

namespace
{

// The number of a key is its place in the list that the process publishes.
const char *const keys[] = { "http.route" };
constexpr unsigned http_route = 0;

using TraceId = std::array<std::uint8_t, OTELPROF_TRACE_ID_BYTES>;
using SpanId = std::array<std::uint8_t, OTELPROF_SPAN_ID_BYTES>;

// What a thread works on. It stays where it is: readers have its address.
class Context
{
      public:
	Context(const TraceId &trace, const SpanId &span, std::string_view route)
	{
		otelprof_context_init(&context_, trace.data(), span.data());
		// One that does not fit is left out.
		(void)otelprof_context_add(&context_, http_route, route.data(),
					   route.size());
	}
	Context(const Context &) = delete;
	Context &operator=(const Context &) = delete;

	otelprof_context *get()
	{
		return &context_;
	}

      private:
	otelprof_context context_;
};

// The thread works on a context until the end of the scope, and then on what it did before.
class Scope
{
      public:
	explicit Scope(Context &context) : before_(otelprof_context_attach(context.get()))
	{
	}
	~Scope()
	{
		otelprof_context_attach(before_);
	}
	Scope(const Scope &) = delete;
	Scope &operator=(const Scope &) = delete;

      private:
	otelprof_context *before_;
};

using Clock = std::chrono::steady_clock;
volatile unsigned sink;

void work(std::chrono::microseconds time)
{
	const auto end = Clock::now() + time;

	while (Clock::now() < end)
		for (unsigned i = 0; i < 1000; i++)
			sink = sink * 3 + i;
}

// Not inlined, so that a profile shows them.
[[gnu::noinline]] void load_cart()
{
	work(std::chrono::microseconds(500));
	sink = 0;
}

[[gnu::noinline]] void price_cart(unsigned request)
{
	work(std::chrono::microseconds(300));
	if (request % 4 == 0)
		throw std::runtime_error("no price");
	sink = 0;
}

[[gnu::noinline]] void render_page()
{
	work(std::chrono::microseconds(200));
	sink = 0;
}

// In a real program the ids are those of the spans that its SDK makes.
SpanId span_id(std::uint8_t number)
{
	return { 0xcd, 0, 0, 0, 0, 0, 0, number };
}

void handle_request(std::uint8_t thread, unsigned request)
{
	TraceId trace{ 0xab, thread };
	std::memcpy(trace.data() + 12, &request, sizeof(request));

	Context root(trace, span_id(1), "/cart");
	Scope in_root(root);
	try {
		{
			Context load(trace, span_id(2), "/cart/load");
			Scope in_load(load);
			load_cart();
		}
		Context price(trace, span_id(3), "/cart/price");
		Scope in_price(price);
		price_cart(request);
	} catch (const std::runtime_error &) {
		// the thread is back in the root span
	}
	render_page();
}

void serve(std::uint8_t thread, Clock::time_point end)
{
	for (unsigned request = 0; Clock::now() < end; request++)
		handle_request(thread, request);
}

} // namespace

int main(int argc, char **argv)
{
	const auto end =
		Clock::now() + std::chrono::seconds(argc > 1 ? std::atoi(argv[1]) : 3);
	otelprof_process_context process = OTELPROF_PROCESS_CONTEXT_INIT;

	process.keys = keys;
	process.keys_len = std::size(keys);
	if (const int error = otelprof_context_publish(&process); error < 0) {
		std::cerr << "otelprof_context_publish: " << std::strerror(-error)
			  << "\n";
		return 1;
	}
	std::cout << "ready" << std::endl;
	std::thread other(serve, 2, end);
	serve(1, end);
	other.join();
	return 0;
}
