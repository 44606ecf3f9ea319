/* SPDX-License-Identifier: Apache-2.0 */
/* All workers format their metrics while they hold the one lock of the registry. */
#include <map>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

class Registry
{
      public:
	void observe(const std::string &route, int status, double seconds)
	{
		std::lock_guard<std::mutex> guard(lock_); // GUILTY
		std::string key = route + "{status=\"" + std::to_string(status) +
				  "\",le=\"" + std::to_string(seconds) + "\"}";

		sums_[key] += seconds;
	}

      private:
	std::mutex lock_;
	std::map<std::string, double> sums_;
};

static Registry registry;

static void serve(int worker)
{
	const std::string route = "/orders/" + std::to_string(worker);

	for (unsigned request = 0;; request++)
		registry.observe(route, request % 7 ? 200 : 500, request % 50 / 1000.0);
}

int main()
{
	std::vector<std::thread> workers;

	for (int i = 0; i < 8; i++)
		workers.emplace_back(serve, i);
	for (std::thread &t : workers)
		t.join();
}
