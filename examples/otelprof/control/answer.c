/* SPDX-License-Identifier: Apache-2.0 */
/* Turns a line of the control socket into calls of the library, and their results into
 * lines. */
#include "base/macros.h"
#include "control.h"

#include "common.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

enum {
	LAST_BYTES = 512, /* bytes that are kept for the last line */
};

/* The targets of rules, by kind. */
static const char *const names[] = {
	[OTELPROF_MATCH_ALL] = "all",	       [OTELPROF_MATCH_PID] = "pid:",
	[OTELPROF_MATCH_TREE] = "tree:",       [OTELPROF_MATCH_COMM] = "comm:",
	[OTELPROF_MATCH_UID] = "uid:",	       [OTELPROF_MATCH_CGROUP] = "cgroup:",
	[OTELPROF_MATCH_AGE] = "age:",	       [OTELPROF_MATCH_CONTAINER] = "container:",
	[OTELPROF_MATCH_POD] = "pod:",	       [OTELPROF_MATCH_EXECUTABLE] = "exe:",
	[OTELPROF_MATCH_ENVIRONMENT] = "env:",
};
static const char *const actions[] = { "include", "exclude", "rate" };

/* The answer so far. */
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
	/* one line, whatever it contains */
	for (c = r->text + r->len; *c; c++)
		if (*c == '\n' && c[1])
			r->text[c - r->text] = ' ';
}

static void end_call(struct reply *reply, struct otelprof *p, int r)
{
	struct otelprof_error_info why = { .size = sizeof(why) };

	if (r >= 0)
		end(reply, reply->cut ? "error the answer is too long" : "ok", "");
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
	errno = 0;
	*ret = strtoull(text, &last, 10);
	return !errno && !*last && *ret <= most;
}

/* Terminals of users other than the rule's author show it. */
static bool has_control_character(const char *text)
{
	for (; *text; text++)
		if ((unsigned char)*text < ' ' || *text == 0x7f)
			return true;
	return false;
}

/* ---- requests ---- */

/* Results of budgets. */
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

	say(reply, "%" PRIu64 " %" PRIu64 " %s ", n,
	    (rule->duration_ns + OP_NS_PER_S - 1) / OP_NS_PER_S, actions[rule->action]);
	if (rule->sample_rate_hz)
		say(reply, "%u ", rule->sample_rate_hz);
	if (rule->keep_one_in > 1)
		say(reply, "1/%u ", rule->keep_one_in);
	say(reply, "%s", names[rule->kind]);
	if (rule->kind == OTELPROF_MATCH_AGE)
		say(reply, "%" PRIu64 "ms\n", rule->number / OP_NS_PER_MS);
	else if (rule->text)
		say(reply, "%s\n", rule->text);
	else if (rule->kind == OTELPROF_MATCH_ALL)
		say(reply, "\n");
	else
		say(reply, "%" PRIu64 "\n", rule->number);
}

static void do_rule(struct otelprof *p, char *arg, struct reply *reply)
{
	struct otelprof_error_info why = { .size = sizeof(why) };
	struct otelprof_settings *settings = NULL;
	const char *seconds = strsep(&arg, " ");
	struct otelprof_rule rule = { 0 };
	uint64_t given = 0;
	size_t len = 0;
	uint64_t s;
	int r;

	if (!arg || !number(seconds, UINT32_MAX, &s)) {
		end(reply, "error ", "a rule is SECONDS and the rule");
		return;
	}
	if (has_control_character(arg)) {
		end(reply, "error ", "the rule's name or path has a control character");
		return;
	}
	r = otelprof_settings_new(&settings);
	if (r == 0)
		r = otelprof_settings_set(settings, "rules", arg, &why);
	if (r == 0 && otelprof_settings_get_rules(settings, &len) && len) {
		rule = *otelprof_settings_get_rules(settings, &len);
		rule.duration_ns = s * (uint64_t)OP_NS_PER_S;
		r = otelprof_add_rule(p, &rule, &given);
		if (r == 0)
			say(reply, "number %" PRIu64 "\n", given);
		end_call(reply, p, r);
	} else {
		end(reply, "error ", r < 0 ? why.message : "there is no rule");
	}
	(void)otelprof_settings_free(settings);
}

static void do_number(struct otelprof *p, const char *verb, const char *arg,
		      struct reply *reply)
{
	bool removes = strcmp(verb, "remove") == 0;
	uint64_t n;

	if (!arg || !number(arg, removes ? UINT64_MAX : UINT32_MAX, &n))
		end(reply, "error ", "that takes one number, in its range");
	else if (removes)
		end_call(reply, p, otelprof_remove_rule(p, n));
	else
		end_call(reply, p, otelprof_set_rate(p, (uint32_t)n));
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
