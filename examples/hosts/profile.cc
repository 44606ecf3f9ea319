// SPDX-License-Identifier: Apache-2.0
// The profiler in a C++ program: a handle that frees itself, errors as exceptions, requests to
// any callable. Profiles this host for the seconds given as argument (3).
#include <otelprof/otelprof.h>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <exception>
#include <functional>
#include <iostream>
#include <memory>
#include <stdexcept>
#include <string>
#include <utility>

namespace
{

class Profiler {
public:
	// Returns whether it took the request, which is valid during the call.
	using OnRequest = std::function<bool(const void *request, std::size_t len,
					     std::uint64_t samples)>;

	Profiler(std::uint32_t rate_hz, OnRequest on_request)
		: on_request_(std::move(on_request))
	{
		otelprof_error_info why{};
		otelprof_config config;
		otelprof *made = nullptr;

		why.size = sizeof(why);
		otelprof_config_init(&config, sizeof(config));
		config.sample_rate_hz = rate_hz;
		if (otelprof_init(&config, &why, &made) < 0)
			throw std::runtime_error(why.message);
		handle_.reset(made);

		otelprof_callback_config callback;
		otelprof_callback_config_init(&callback, sizeof(callback));
		callback.fn = take;
		callback.userdata = this;
		check(otelprof_exporter_callback(handle_.get(), &callback));
	}

	// The library holds a pointer to this object.
	Profiler(const Profiler &) = delete;
	Profiler &operator=(const Profiler &) = delete;

	void start()
	{
		check(otelprof_start(handle_.get()));
	}

	void poll(std::chrono::milliseconds timeout)
	{
		const int r = otelprof_poll(handle_.get(),
					    static_cast<int>(timeout.count()));

		if (r != -EINTR)
			check(r);
	}

	int finish()
	{
		check(otelprof_stop(handle_.get()));
		const int samples = check(otelprof_export(handle_.get()));

		if (failed_)
			std::rethrow_exception(std::exchange(failed_, nullptr));
		return samples;
	}

private:
	struct Free {
		void operator()(otelprof *p) const
		{
			otelprof_free(p);
		}
	};

	// No exception may go through the library, which is written in C: it is kept for later.
	static int take(void *self, const void *request, std::size_t len,
			std::uint64_t samples) noexcept
	{
		auto *p = static_cast<Profiler *>(self);

		try {
			return p->on_request_(request, len, samples) ? 0 : -EIO;
		} catch (...) {
			p->failed_ = std::current_exception();
			return -EIO;
		}
	}

	int check(int r)
	{
		otelprof_error_info why{};

		if (r >= 0)
			return r;
		why.size = sizeof(why);
		if (otelprof_last_error(handle_.get(), &why) < 0 || why.code != r)
			throw std::runtime_error(otelprof_strerror(r));
		throw std::runtime_error(why.message);
	}

	OnRequest on_request_;
	std::exception_ptr failed_;
	std::unique_ptr<otelprof, Free> handle_;
};

} // namespace

int main(int argc, char **argv)
try {
	using std::chrono::steady_clock;
	const std::chrono::seconds time(argc > 1 ? std::stoi(argv[1]) : 3);
	const auto end = steady_clock::now() + time;

	Profiler profiler(99, [](const void *, std::size_t len, std::uint64_t samples) {
		std::cout << "request of " << len << " bytes with " << samples
			  << " samples\n";
		return true;
	});
	profiler.start();
	while (steady_clock::now() < end)
		profiler.poll(std::chrono::milliseconds(100));
	const int samples = profiler.finish();
	std::cout << samples << " samples\n";
	return samples ? 0 : 1;
} catch (const std::exception &e) {
	std::cerr << e.what() << '\n';
	return 1;
}
