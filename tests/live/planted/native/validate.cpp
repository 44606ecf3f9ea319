/* SPDX-License-Identifier: Apache-2.0 */
/* The regular expression of an address is compiled for each address. */
#include <cstdio>
#include <regex>
#include <string>
#include <vector>

static bool is_address(const std::string &text)
{
	const std::regex pattern(
		"([a-z0-9._%+-]+)@([a-z0-9-]+)(\\.[a-z]{2,})+"); // GUILTY

	return std::regex_match(text, pattern);
}

static std::vector<std::string> read_customers()
{
	std::vector<std::string> customers;

	for (int i = 0; i < 1000; i++)
		customers.push_back("customer" + std::to_string(i) + "@shop.example");
	return customers;
}

int main()
{
	const std::vector<std::string> customers = read_customers();
	unsigned long valid = 0;

	for (;;)
		for (const std::string &customer : customers)
			valid += is_address(customer);
}
