/* SPDX-License-Identifier: Apache-2.0 */
/* The workers of a pool look for work again and again in place of waiting for it. */
#include <chrono>
#include <deque>
#include <functional>
#include <mutex>
#include <thread>
#include <vector>

class Pool
{
      public:
	explicit Pool(int size)
	{
		for (int i = 0; i < size; i++)
			workers_.emplace_back(&Pool::work, this);
	}
	void submit(std::function<void()> task)
	{
		std::lock_guard<std::mutex> guard(lock_);

		tasks_.push_back(std::move(task));
	}

      private:
	bool take(std::function<void()> &task)
	{
		std::lock_guard<std::mutex> guard(lock_);

		if (tasks_.empty())
			return false;
		task = std::move(tasks_.front());
		tasks_.pop_front();
		return true;
	}
	void work()
	{
		std::function<void()> task;

		for (;;)
			if (take(task)) // GUILTY
				task();
	}
	std::mutex lock_;
	std::deque<std::function<void()>> tasks_;
	std::vector<std::thread> workers_;
};

static unsigned long mails;

static void send_mail()
{
	for (int i = 0; i < 1000; i++)
		mails += i;
}

int main()
{
	Pool pool(3);

	for (;;) {
		pool.submit(send_mail);
		std::this_thread::sleep_for(std::chrono::milliseconds(20));
	}
}
