/* SPDX-License-Identifier: Apache-2.0 */
/* Changes while the profiler runs: rules, rates, pauses. Samplers are attached while it
 * runs and is not paused. */
#include <errno.h>
#include <stdlib.h>

#include "api/handle.h"
#include "api/settings/config.h"
#include "base/io.h"
#include "base/macros.h"

enum {
	WARM_MAX = 32, /* processes whose tables one call makes */
};

struct warm {
	struct op_processes *processes;
	size_t left;
};

int op_handle_set_clock(struct otelprof *p, uint32_t hz)
{
	uint64_t words[OP_RATES_MAX];
	int r;

	op_rule_rates_words(op_rule_set_rates(p->targets), hz, words);
	op_capture_set_rates(p->capture, hz, words);
	if (hz == p->rate_hz)
		return 0;
	r = op_capture_set_rate(p->capture, hz);
	if (r < 0)
		return r;
	p->rate_hz = hz;
	return 0;
}

int op_handle_apply_rates(struct otelprof *p)
{
	uint32_t top = op_rule_rates_top(op_rule_set_rates(p->targets));
	uint32_t hz = p->rate_hz;

	if (top != p->budget.asked_hz) {
		hz = op_budget_scaled(p->rate_hz, p->budget.asked_hz, top);
		p->budget.asked_hz = top;
		p->budget.wanted_hz = 0;
	}
	return op_handle_set_clock(p, hz);
}

void op_handle_expire_rules(struct otelprof *p)
{
	uint64_t next_ns = op_rule_set_next_ns(p->targets);
	uint64_t now_ns;

	if (!next_ns)
		return;
	now_ns = op_clock_monotonic_ns();
	if (now_ns < next_ns)
		return;
	if (op_rule_set_expire(p->targets, now_ns) && op_handle_apply_rates(p) < 0)
		op_log(&p->log, OP_LOG_WARNING, "%s", p->log.message);
	op_session_wake(p->session);
}

/* Make the tables of processes that rules include by number, if they are known. */
static void warm(void *ctx, uint64_t number, const struct otelprof_rule *rule)
{
	struct warm *w = ctx;

	(void)number;
	if (rule->action != OTELPROF_RULE_INCLUDE || !w->left ||
	    (rule->kind != OTELPROF_MATCH_PID && rule->kind != OTELPROF_MATCH_TREE))
		return;
	w->left--;
	(void)op_processes_warm(w->processes, (uint32_t)rule->number);
}

void op_handle_warm_rules(struct otelprof *p)
{
	struct warm w = { p->processes, WARM_MAX };

	if (p->scanned)
		(void)op_rule_set_each(p->targets, 0, warm, &w);
}

int otelprof_set_rules(struct otelprof *p, const struct otelprof_rule *rules, size_t len)
{
	_cleanup_leave_ struct otelprof *held = NULL;
	_cleanup_free_ struct otelprof_rule *copy = NULL;
	int r = op_handle_enter(p, &held);

	if (r < 0)
		return r;
	if (len && !rules)
		return op_fail(&p->log, -EINVAL, "otelprof_set_rules: rules is NULL");
	if (len > OTELPROF_RULES_MAX)
		return op_fail(&p->log, -ENOSPC, "a list has at most %d rules",
			       OTELPROF_RULES_MAX);
	copy = calloc(len + 1, sizeof(*copy));
	if (!copy)
		return -ENOMEM;
	r = op_config_rules(rules, len, &p->log, copy);
	if (r == 0)
		r = op_rule_set_replace(p->targets, copy, len, op_clock_monotonic_ns(),
					p->rate_hz);
	if (r < 0)
		return r;
	op_handle_warm_rules(p);
	op_session_wake(p->session);
	return op_handle_apply_rates(p);
}

int otelprof_add_rule(struct otelprof *p, const struct otelprof_rule *rule,
		      uint64_t *ret_number)
{
	_cleanup_leave_ struct otelprof *held = NULL;
	struct otelprof_rule copy;
	uint64_t number;
	int r = op_handle_enter(p, &held);

	if (r < 0)
		return r;
	if (!rule || !ret_number)
		return op_fail(&p->log, -EINVAL,
			       "otelprof_add_rule: an argument is NULL");
	r = op_config_rule(rule, "the rule", &p->log, &copy);
	if (r == 0)
		r = op_rule_set_add(p->targets, &copy, op_clock_monotonic_ns(), &number);
	if (r < 0)
		return r;
	op_session_wake(p->session);
	r = copy.sample_rate_hz ? op_handle_apply_rates(p) : 0;
	if (r < 0) {
		(void)op_rule_set_remove(p->targets, number);
		(void)op_handle_apply_rates(p);
		return r;
	}
	*ret_number = number;
	return 0;
}

int otelprof_remove_rule(struct otelprof *p, uint64_t number)
{
	_cleanup_leave_ struct otelprof *held = NULL;
	int r = op_handle_enter(p, &held);

	if (r < 0)
		return r;
	r = op_rule_set_remove(p->targets, number);
	if (r == -ENOENT)
		return op_fail(&p->log, r, "there is no rule with the number %llu",
			       (unsigned long long)number);
	return r < 0 ? r : op_handle_apply_rates(p);
}

int otelprof_rules(struct otelprof *p, otelprof_rule_fn fn, void *userdata)
{
	_cleanup_leave_ struct otelprof *held = NULL;
	int r = op_handle_enter(p, &held);

	if (r < 0)
		return r;
	if (!fn)
		return op_fail(&p->log, -EINVAL, "otelprof_rules: fn is NULL");
	return op_rule_set_each(p->targets, op_clock_monotonic_ns(), fn, userdata);
}

int op_handle_start_sampling(struct otelprof *p)
{
	int r = op_capture_start(p->capture);

	if (r == 0)
		r = op_parts_set_kinds(p->parts, p->kinds);
	if (r < 0)
		op_handle_stop_sampling(p);
	return r;
}

int op_handle_resume_sampling(struct otelprof *p)
{
	int r = op_capture_start(p->capture);

	if (r < 0) {
		op_handle_stop_sampling(p);
		return r;
	}
	if (op_parts_set_kinds(p->parts, p->kinds) < 0)
		op_log(&p->log, OP_LOG_WARNING, "%s; sampling goes on without it",
		       p->log.message);
	return 0;
}

void op_handle_stop_sampling(struct otelprof *p)
{
	(void)op_parts_set_kinds(p->parts, 0);
	op_capture_stop(p->capture);
}

int otelprof_pause(struct otelprof *p)
{
	_cleanup_leave_ struct otelprof *held = NULL;
	int r = op_handle_enter(p, &held);

	if (r < 0 || p->paused)
		return r;
	p->paused = true;
	if (p->running)
		op_handle_stop_sampling(p);
	return 0;
}

int otelprof_resume(struct otelprof *p)
{
	_cleanup_leave_ struct otelprof *held = NULL;
	int r = op_handle_enter(p, &held);

	if (r < 0 || !p->paused)
		return r;
	r = p->running ? op_handle_resume_sampling(p) : 0;
	if (r == 0)
		p->paused = false;
	return r;
}
