/* SPDX-License-Identifier: Apache-2.0 */
/* A line of the control socket to calls of the library, and what they return to lines. */
#include "base/macros.h"
#include "control.h"

#include "common.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum {
	NUMBER_BYTES = 24,
	LAST_BYTES = 512, /* kept for the last line */
};

static const struct target_kind {
	const char *name;
	uint32_t kind;
	bool text;
} kinds[] = {
	{ "pid:", OTELPROF_FILTER_PID, false },
	{ "uid:", OTELPROF_FILTER_UID, false },
	{ "comm:", OTELPROF_FILTER_COMM, true },
	{ "cgroup:", OTELPROF_FILTER_CGROUP, true },
	{ "container:", OTELPROF_FILTER_CONTAINER, true },
	{ "pod:", OTELPROF_FILTER_POD, true },
	{ "exe:", OTELPROF_FILTER_EXECUTABLE, true },
	{ "env:", OTELPROF_FILTER_ENVIRONMENT, true },
};
static const char *const actions[] = { "include", "exclude", "rate" };

/* What was answered until now. */
struct reply {
	char *text;
	size_t size;
	size_t len;
	bool cut;
};

static void __attribute__((format(printf, 2, 3)))
say(struct reply *r, const char *fmt, ...)
{
	size_t room = r->size - r->len - LAST_BYTES;
	va_list args;
	int n;

	va_start(args, fmt);
	n = vsnprintf(r->text + r->len, room, fmt, args);
	va_end(args);
	if (n < 0 || (size_t)n >= room)
		r->cut = true;
	else if (!r->cut)
		r->len += (size_t)n;
	r->text[r->len] = '\0';
}

static void end(struct reply *r, const char *last, const char *why)
{
	const char *c;

	(void)snprintf(r->text + r->len, r->size - r->len, "%s%s\n", last, why);
	/* one line, whatever stands in it */
	for (c = r->text + r->len; *c; c++)
		if (*c == '\n' && c[1])
			r->text[c - r->text] = ' ';
}

static void end_call(struct reply *reply, struct otelprof *p, int r)
{
	struct otelprof_error_info why = { .size = sizeof(why) };

	if (r >= 0)
		end(reply, reply->cut ? "error there is more than fits" : "ok", "");
	else if (otelprof_last_error(p, &why) == 0 && why.code == r)
		end(reply, "error ", why.message);
	else
		end(reply, "error ", otelprof_strerror(r));
}

/* ---- reading ---- */

static bool number(const char *text, uint64_t most, uint64_t *ret)
{
	char *last;

	if (*text < '0' || *text > '9')
		return false;
	*ret = strtoull(text, &last, 10);
	return !*last && *ret <= most;
}

static bool read_target(const char *text, struct otelprof_rule *rule)
{
	size_t i;

	for (i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		size_t len = strlen(kinds[i].name);

		if (strncmp(text, kinds[i].name, len) != 0)
			continue;
		rule->kind = kinds[i].kind;
		rule->text = kinds[i].text ? text + len : NULL;
		return kinds[i].text || number(text + len, UINT32_MAX, &rule->number);
	}
	return false;
}

/* Rules are shown at terminals, to others than who added them. */
static bool has_control_character(const char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < ' ' || *text == 0x7f)
			return true;
	return false;
}

static bool read_action(const char *text, uint32_t *ret)
{
	for (*ret = 0; *ret < sizeof(actions) / sizeof(actions[0]); ++*ret)
		if (strcmp(text, actions[*ret]) == 0)
			return true;
	return false;
}

/* ---- requests ---- */

/* What budgets have decided. */
static void say_budgets(struct reply *reply, const struct otelprof_stats *s)
{
	const struct {
		const char *name;
		uint64_t value;
	} rows[] = {
		{ "cpu_ns", s->cpu_ns },
		{ "rate_changes", s->rate_changes },
		{ "names_postponed", s->names_postponed },
		{ "tables_postponed", s->tables_postponed },
		{ "memory_bytes", s->memory_bytes },
		{ "memory_limit_bytes", s->memory_limit_bytes },
		{ "memory_over", s->memory_over },
		{ "names_evicted", s->names_evicted },
		{ "tables_evicted", s->tables_evicted },
		{ "processes_evicted", s->processes_evicted },
	};
	size_t i;

	for (i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		say(reply, "%s %" PRIu64 "\n", rows[i].name, rows[i].value);
}

static void do_status(struct otelprof *p, struct reply *reply)
{
	struct otelprof_stats s;
	int r;

	otelprof_stats_init(&s, sizeof(s));
	r = otelprof_get_stats(p, &s);
	if (r == 0) {
		say(reply, "version %s\n", otelprof_version());
		say(reply, "paused %s\n", s.paused ? "yes" : "no");
		say(reply, "rate_hz %.2f\n", 1e9 / (double)s.sample_period_ns);
		say(reply, "rules %" PRIu64 "\n", s.rules);
		say(reply, "rule_processes %" PRIu64 "\n", s.rule_processes);
		say(reply, "rule_processes_unread %" PRIu64 "\n",
		    s.rule_processes_unread);
		say(reply, "rule_processes_refused %" PRIu64 "\n",
		    s.rule_processes_refused);
		say(reply, "processes %" PRIu64 "\n", s.processes);
		say(reply, "samples_taken %" PRIu64 "\n", s.samples_taken);
		say(reply, "samples_exported %" PRIu64 "\n", s.samples_exported);
		say(reply, "samples_filtered %" PRIu64 "\n", s.samples_filtered);
		say(reply, "samples_thinned %" PRIu64 "\n", s.samples_thinned);
		say(reply, "samples_pending %" PRIu64 "\n", s.samples_pending);
		say(reply, "samples_dropped %" PRIu64 "\n", s.samples_dropped);
		say_budgets(reply, &s);
	}
	end_call(reply, p, r);
}

static void say_rule(void *userdata, uint64_t n, const struct otelprof_rule *rule)
{
	struct reply *reply = userdata;
	char digits[NUMBER_BYTES];
	size_t i;

	for (i = 0; kinds[i].kind != rule->kind; i++)
		if (i + 1 == sizeof(kinds) / sizeof(kinds[0]))
			return;
	(void)snprintf(digits, sizeof(digits), "%" PRIu64, rule->number);
	say(reply, "%" PRIu64 " %s %u %" PRIu64 " %s%s\n", n, actions[rule->action],
	    rule->sample_rate_hz, (rule->duration_ns + OP_NS_PER_S - 1) / OP_NS_PER_S,
	    kinds[i].name, kinds[i].text ? rule->text : digits);
}

static void do_rule(struct otelprof *p, char *arg, struct reply *reply)
{
	const char *action = strsep(&arg, " ");
	const char *hz = arg ? strsep(&arg, " ") : NULL;
	const char *seconds = arg ? strsep(&arg, " ") : NULL;
	struct otelprof_rule rule;
	uint64_t rate;
	uint64_t given = 0;
	uint64_t s;
	int r;

	otelprof_rule_init(&rule, sizeof(rule));
	if (!arg || !read_action(action, &rule.action) ||
	    !number(hz, UINT32_MAX, &rate) || !number(seconds, UINT32_MAX, &s) ||
	    !read_target(arg, &rule)) {
		end(reply, "error ",
		    "a rule is: include, exclude or rate, HZ, SECONDS, and pid:N, uid:N, "
		    "comm:NAME, cgroup:PATH, container:ID, pod:UID, exe:PATH or "
		    "env:NAME[=VALUE]");
		return;
	}
	if (has_control_character(arg)) {
		end(reply, "error ", "the rule's name or path has a control character");
		return;
	}
	rule.sample_rate_hz = (uint32_t)rate;
	rule.duration_ns = s * (uint64_t)OP_NS_PER_S;
	r = otelprof_add_rule(p, &rule, &given);
	if (r == 0)
		say(reply, "number %" PRIu64 "\n", given);
	end_call(reply, p, r);
}

static void do_number(struct otelprof *p, const char *verb, const char *arg,
		      struct reply *reply)
{
	uint64_t n;

	if (!arg || !number(arg, UINT64_MAX, &n))
		end(reply, "error ", "that takes one number");
	else if (strcmp(verb, "remove") == 0)
		end_call(reply, p, otelprof_remove_rule(p, n));
	else
		end_call(reply, p,
			 otelprof_set_rate(p, n > UINT32_MAX ? 0 : (uint32_t)n));
}

void control_answer(struct otelprof *p, char *request, char *ret, size_t size)
{
	struct reply reply = { .text = ret, .size = size };
	char *arg = request;
	const char *verb = strsep(&arg, " ");

	*ret = '\0';
	if (strcmp(verb, "status") == 0 && !arg)
		do_status(p, &reply);
	else if (strcmp(verb, "rules") == 0 && !arg)
		end_call(&reply, p, otelprof_rules(p, say_rule, &reply));
	else if (strcmp(verb, "pause") == 0 && !arg)
		end_call(&reply, p, otelprof_pause(p));
	else if (strcmp(verb, "resume") == 0 && !arg)
		end_call(&reply, p, otelprof_resume(p));
	else if (strcmp(verb, "rule") == 0 && arg)
		do_rule(p, arg, &reply);
	else if (strcmp(verb, "rate") == 0 || strcmp(verb, "remove") == 0)
		do_number(p, verb, arg, &reply);
	else
		end(&reply, "error ", "there is no such request");
}
