/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sampling rates: number 0 is that of the profiler, the others come from rules. The
 * clock ticks at the highest rate. If a budget of CPU time lowers the clock, all rates
 * drop in proportion.
 */
#ifndef OP_PARTS_RULES_RATES_H
#define OP_PARTS_RULES_RATES_H

#include <stdint.h>

#include "op_user_types.h"

struct op_rule_rates {
	uint32_t hz[OP_RATES_MAX];
	uint32_t users[OP_RATES_MAX]; /* 0: a free slot. Number 0 is always used. */
};

void op_rule_rates_init(struct op_rule_rates *rates, uint32_t hz);
/* Count one more rule of @hz. Returns the number of its rate, or -ENOSPC. */
int op_rule_rates_take(struct op_rule_rates *rates, uint32_t hz);
void op_rule_rates_put(struct op_rule_rates *rates, uint32_t number);
/* The highest rate. */
uint32_t op_rule_rates_top(const struct op_rule_rates *rates);
/* The period of samples at rate @number if the clock ticks at @clock_hz. */
uint32_t op_rule_rates_period_ns(const struct op_rule_rates *rates, uint32_t number,
				 uint32_t clock_hz);
/* The words of all rates, for op_control.rate. */
void op_rule_rates_words(const struct op_rule_rates *rates, uint32_t clock_hz,
			 uint64_t ret[OP_RATES_MAX]);

#endif
