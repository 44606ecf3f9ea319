/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rates: that of the profiler, which is number 0, and those that rules give. The clock ticks at
 * the highest of them, or at less where a budget of CPU time asks for it: then all are lower
 * in proportion.
 */
#ifndef OP_PARTS_RULES_RATES_H
#define OP_PARTS_RULES_RATES_H

#include <stdint.h>

#include "op_user_types.h"

struct op_rule_rates {
	uint32_t hz[OP_RATES_MAX];
	uint32_t users[OP_RATES_MAX]; /* 0: free; number 0 always has one */
};

void op_rule_rates_init(struct op_rule_rates *rates, uint32_t hz);
/* One more rule of @hz. The number of that rate, or -ENOSPC. */
int op_rule_rates_take(struct op_rule_rates *rates, uint32_t hz);
void op_rule_rates_put(struct op_rule_rates *rates, uint32_t number);
/* The highest. */
uint32_t op_rule_rates_top(const struct op_rule_rates *rates);
/* The period of samples of rate @number, where the clock ticks at @clock_hz. */
uint32_t op_rule_rates_period_ns(const struct op_rule_rates *rates, uint32_t number,
				 uint32_t clock_hz);
/* The same of all of them, as op_control.rate has it. */
void op_rule_rates_words(const struct op_rule_rates *rates, uint32_t clock_hz,
			 uint64_t ret[OP_RATES_MAX]);

#endif
