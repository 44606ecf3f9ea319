/* SPDX-License-Identifier: Apache-2.0 */
/* C++20 coroutines: a recursive generator, tasks that await tasks, exceptions through them. */
#include <coroutine>
#include <cstdint>
#include <exception>
#include <stdexcept>
#include <utility>

struct Task {
	struct promise_type {
		std::coroutine_handle<> waiter = std::noop_coroutine();
		std::exception_ptr error;
		uint64_t value = 0;

		Task get_return_object()
		{
			return Task(std::coroutine_handle<promise_type>::from_promise(*this));
		}
		std::suspend_always initial_suspend() noexcept { return {}; }
		struct Final {
			bool await_ready() noexcept { return false; }
			std::coroutine_handle<>
			await_suspend(std::coroutine_handle<promise_type> h) noexcept
			{
				return h.promise().waiter;
			}
			void await_resume() noexcept {}
		};
		Final final_suspend() noexcept { return {}; }
		void unhandled_exception() { error = std::current_exception(); }
		void return_value(uint64_t v) { value = v; }
	};

	explicit Task(std::coroutine_handle<promise_type> h) : handle(h) {}
	Task(Task &&other) : handle(std::exchange(other.handle, nullptr)) {}
	~Task()
	{
		if (handle)
			handle.destroy();
	}
	bool await_ready() { return false; }
	std::coroutine_handle<> await_suspend(std::coroutine_handle<> waiter)
	{
		handle.promise().waiter = waiter;
		return handle;
	}
	uint64_t await_resume()
	{
		if (handle.promise().error)
			std::rethrow_exception(handle.promise().error);
		return handle.promise().value;
	}
	uint64_t run()
	{
		handle.resume();
		return await_resume();
	}

	std::coroutine_handle<promise_type> handle;
};

static __attribute__((noinline)) uint64_t work(uint64_t x)
{
	for (int i = 0; i < 200; i++)
		x = x * 6364136223846793005u + 1442695040888963407u;
	return x;
}

static Task down(int depth, uint64_t x)
{
	if (!depth) {
		if (work(x) % 16 == 0)
			throw std::runtime_error("one in sixteen");
		co_return work(x);
	}
	uint64_t sum = co_await down(depth - 1, work(x));
	if (depth % 4 == 0)
		sum += co_await down(depth / 2, sum);
	co_return work(sum);
}

int main()
{
	volatile uint64_t sum = 1;

	for (;;) {
		try {
			sum = sum + down(12, sum).run();
		} catch (const std::exception &) {
			sum = sum + 1;
		}
	}
}
