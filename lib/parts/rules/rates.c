/* SPDX-License-Identifier: Apache-2.0 */
#include "parts/rules/rates.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "base/macros.h"

#define PERIOD_MAX_NS UINT64_C(4000000000) /* fits 32 bits */

void op_rule_rates_init(struct op_rule_rates *rates, uint32_t hz)
{
	memset(rates, 0, sizeof(*rates));
	rates->hz[0] = hz;
	rates->users[0] = 1;
}

int op_rule_rates_take(struct op_rule_rates *rates, uint32_t hz)
{
	uint32_t found = 0;
	uint32_t i;

	for (i = 1; i < OP_RATES_MAX; i++) {
		if (rates->users[i] && rates->hz[i] == hz) {
			rates->users[i]++;
			return (int)i;
		}
		if (!rates->users[i] && !found)
			found = i;
	}
	if (!found)
		return -ENOSPC;
	rates->hz[found] = hz;
	rates->users[found] = 1;
	return (int)found;
}

void op_rule_rates_put(struct op_rule_rates *rates, uint32_t number)
{
	assert(number && number < OP_RATES_MAX && rates->users[number]);
	rates->users[number]--;
}

uint32_t op_rule_rates_top(const struct op_rule_rates *rates)
{
	uint32_t top = 0;
	uint32_t i;

	for (i = 0; i < OP_RATES_MAX; i++)
		if (rates->users[i])
			top = OP_MAX(top, rates->hz[i]);
	return top;
}

uint32_t op_rule_rates_period_ns(const struct op_rule_rates *rates, uint32_t number,
				 uint32_t clock_hz)
{
	uint64_t top = op_rule_rates_top(rates);
	uint64_t ns =
		(uint64_t)OP_NS_PER_S * top / ((uint64_t)clock_hz * rates->hz[number]);

	return (uint32_t)OP_MIN(ns, PERIOD_MAX_NS);
}

/* The clock's period divided by the rate's period, in parts of 2^32. 0: all ticks. */
static uint32_t share(uint64_t period_ns, uint32_t clock_hz)
{
	uint64_t clock_ns = OP_NS_PER_S / clock_hz;

	return period_ns <= clock_ns ? 0 : (uint32_t)((clock_ns << 32) / period_ns);
}

void op_rule_rates_words(const struct op_rule_rates *rates, uint32_t clock_hz,
			 uint64_t ret[OP_RATES_MAX])
{
	uint32_t i;

	for (i = 0; i < OP_RATES_MAX; i++) {
		uint32_t of = rates->users[i] ? i : 0;
		uint64_t period_ns = op_rule_rates_period_ns(rates, of, clock_hz);

		ret[i] = period_ns << 32 | share(period_ns, clock_hz);
	}
}
