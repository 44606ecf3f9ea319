/* SPDX-License-Identifier: Apache-2.0 */
/* The parser of calls.c, in a file of its own for link-time optimization. */
#include "calls.h"

#include <stdlib.h>

static long sum(const char **at);

static long primary(const char **at)
{
	char *end;
	long value;

	if (**at == '(') {
		(*at)++;
		value = sum(at);
		if (**at == ')')
			(*at)++;
		return value;
	}
	value = strtol(*at, &end, 10);
	*at = end;
	return value;
}

static long product(const char **at)
{
	long value = primary(at);

	while (**at == '*') {
		(*at)++;
		value = (value * primary(at)) % 1000003;
	}
	return value;
}

static long sum(const char **at)
{
	long value = product(at);

	while (**at == '+' || **at == '-') {
		char sign = *(*at)++;
		long other = product(at);

		value = sign == '+' ? value + other : value - other;
	}
	return value;
}

long evaluate(const char *text)
{
	return sum(&text);
}

int argument_of_end(uint64_t value)
{
	static uint64_t rounds;
	const char *limit = getenv("ROUNDS");

	return (limit && ++rounds > strtoull(limit, NULL, 10)) || value == 1;
}
