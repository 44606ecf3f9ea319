/* SPDX-License-Identifier: Apache-2.0 */
/* Changes while the profiler runs: rules, rates, pauses. All that takes samples is attached while
 * it runs and is not paused. */
#include <errno.h>
#include <string.h>

#include "api/handle.h"
#include "api/settings/config.h"
#include "base/io.h"
#include "base/macros.h"

enum {
	RULE_TEXT_MAX = 4095, /* as long as a path may be */
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
	op_handle_wake(p);
}

/* A path or a variable, which filters do not have. */
static int check_program(struct otelprof *p, const struct otelprof_rule *rule)
{
	bool path = rule->kind == OTELPROF_FILTER_EXECUTABLE;

	if (!rule->text || !*rule->text)
		return op_fail(&p->log, -EINVAL, "the rule needs a text");
	if (strnlen(rule->text, RULE_TEXT_MAX + 1) > RULE_TEXT_MAX)
		return op_fail(&p->log, -EINVAL, "the rule's text has more than %d bytes",
			       RULE_TEXT_MAX);
	if (path && *rule->text != '/' && *rule->text != '*')
		return op_fail(&p->log, -EINVAL,
			       "an executable's path begins with / or *, as in "
			       "\"*/%.64s\"",
			       rule->text);
	if (!path && *rule->text == '=')
		return op_fail(&p->log, -EINVAL,
			       "a variable of the environment has no name before \"=\"");
	return 0;
}

/* Check the kind, number and text as those of a filter's rule are checked. */
static int check_target(struct otelprof *p, const struct otelprof_rule *rule)
{
	struct otelprof_filter_rule as = { .size = sizeof(as),
					   .kind = rule->kind,
					   .number = rule->number,
					   .text = rule->text };
	struct otelprof_filter_rule checked;

	if (rule->kind == OTELPROF_FILTER_ALL || rule->kind == OTELPROF_FILTER_PID_TREE ||
	    rule->kind == OTELPROF_FILTER_MIN_AGE)
		return op_fail(&p->log, -E2BIG, "a rule cannot have the kind %u",
			       rule->kind);
	if (rule->kind == OTELPROF_FILTER_EXECUTABLE ||
	    rule->kind == OTELPROF_FILTER_ENVIRONMENT)
		return check_program(p, rule);
	return op_config_rule(&as, 0, &p->log, &checked);
}

static int check_rule(struct otelprof *p, const struct otelprof_rule *rule)
{
	if (rule->action > OTELPROF_RULE_RATE)
		return op_fail(&p->log, -E2BIG, "a rule's action %u is not known",
			       rule->action);
	if (rule->reserved0)
		return op_fail(&p->log, -E2BIG, "a rule's reserved0 must be 0");
	if (rule->sample_rate_hz > OP_CONFIG_RATE_HZ_MAX)
		return op_fail(&p->log, -EINVAL,
			       "a rule's rate is %u and must be 1 to %d",
			       rule->sample_rate_hz, OP_CONFIG_RATE_HZ_MAX);
	if (rule->action == OTELPROF_RULE_RATE && !rule->sample_rate_hz)
		return op_fail(&p->log, -EINVAL,
			       "a rule whose action is a rate needs a sample_rate_hz");
	if (rule->action == OTELPROF_FILTER_EXCLUDE && rule->sample_rate_hz)
		return op_fail(&p->log, -EINVAL,
			       "a rule that excludes must have no sample_rate_hz");
	return check_target(p, rule);
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
	r = op_config_copy(&copy, sizeof(copy), rule,
			   OP_CONFIG_THROUGH(struct otelprof_rule, reserved0), &p->log,
			   "struct otelprof_rule");
	if (r == 0)
		r = check_rule(p, &copy);
	if (r == 0)
		r = op_rule_set_add(p->targets, &copy, op_clock_monotonic_ns(), &number);
	if (r < 0)
		return r;
	op_handle_wake(p);
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
