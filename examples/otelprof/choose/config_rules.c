/* SPDX-License-Identifier: Apache-2.0 */
#include "choose/config_rules.h"

#include "common.h"

#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

enum {
	LOOKED_UP_MAX = 16, /* in one look: finding a container reads many directories */
};
#define LOOK_S 5.0

struct config_rule {
	struct otelprof_rule of;    /* its text is ours */
	uint64_t number;	    /* 0: it waits */
	struct config_rule *before; /* the same in the list that this one's replaces */
	bool stays;		    /* there is the same in the new list */
	bool fresh;		    /* added by this pass */
	bool warned;
};

static void list_free(struct config_rule *list, size_t len)
{
	while (len)
		free((char *)list[--len].of.text);
	free(list);
}

static int list_make(const struct otelprof_settings *settings, struct config_rule **ret,
		     size_t *ret_len)
{
	const struct otelprof_rule *rule;
	struct config_rule *list;
	size_t len = 0;
	size_t i;

	while (otelprof_settings_get_rule(settings, len))
		len++;
	list = calloc(len + 1, sizeof(*list));
	if (!list)
		return -ENOMEM;
	for (i = 0; i < len; i++) {
		rule = otelprof_settings_get_rule(settings, i);
		list[i].of = *rule;
		list[i].of.text = rule->text ? strdup(rule->text) : NULL;
		if (rule->text && !list[i].of.text) {
			list_free(list, i);
			return -ENOMEM;
		}
	}
	*ret = list;
	*ret_len = len;
	return 0;
}

static bool same_target(const struct otelprof_rule *a, const struct otelprof_rule *b)
{
	return a->kind == b->kind && a->number == b->number && !a->text == !b->text &&
	       (!a->text || strcmp(a->text, b->text) == 0);
}

static bool same_rule(const struct otelprof_rule *a, const struct otelprof_rule *b)
{
	return a->action == b->action && a->sample_rate_hz == b->sample_rate_hz &&
	       a->duration_ns == b->duration_ns && same_target(a, b);
}

/* Can it matter to a sample which of them was added last? */
static bool order_matters(const struct otelprof_rule *a, const struct otelprof_rule *b)
{
	bool decide = a->action != b->action && a->action != OTELPROF_RULE_RATE &&
		      b->action != OTELPROF_RULE_RATE;
	bool rates = a->sample_rate_hz && b->sample_rate_hz &&
		     a->sample_rate_hz != b->sample_rate_hz;

	if (!decide && !rates)
		return false;
	/* a process has one of these alone */
	if (a->kind == b->kind &&
	    (a->kind == OTELPROF_FILTER_PID || a->kind == OTELPROF_FILTER_UID))
		return same_target(a, b);
	return true;
}

/* Find the rules of @list that are in force already. */
static void match(const struct config_rules *s, struct config_rule *list, size_t len)
{
	size_t at = 0; /* mostly the same ones follow each other */
	size_t i;
	size_t n;

	for (n = 0; n < s->len; n++)
		s->list[n].stays = false;
	for (i = 0; i < len; i++) {
		for (n = 0; n < s->len; n++, at++) {
			struct config_rule *old = &s->list[at % s->len];

			if (old->stays || !same_rule(&old->of, &list[i].of))
				continue;
			old->stays = true;
			list[i].before = old;
			list[i].number = old->number;
			list[i].warned = old->warned;
			at++;
			break;
		}
	}
}

/* Does rule @i stand behind one of the list that was added after it and may say another
 * thing? */
static bool is_overtaken(const struct config_rule *list, size_t i)
{
	size_t n;

	for (n = 0; n < i; n++)
		if (list[n].number > list[i].number &&
		    order_matters(&list[n].of, &list[i].of))
			return true;
	return false;
}

/* Add rule @i, or let it wait. Returns 0 or the library's error. */
static int add(struct config_rules *s, struct config_rule *rule)
{
	struct otelprof_error_info why = { .size = sizeof(why) };
	int r = otelprof_add_rule(s->p, &rule->of, &rule->number);

	if (r == 0) {
		rule->fresh = true;
		return 0;
	}
	rule->number = 0;
	if (r != -ENOENT)
		return r;
	if (!rule->warned)
		note("warning: a rule waits until there is what it names: %s",
		     otelprof_last_error(s->p, &why) == 0 ? why.message : rule->of.text);
	rule->warned = true;
	return 0;
}

/* Rule @i of those in the order of a file. @look: is it time to see whether its target came? */
static int settle(struct config_rules *s, struct config_rule *list, size_t i, bool look)
{
	struct config_rule *rule = &list[i];

	if (!rule->number)
		return look ? add(s, rule) : 0;
	if (!is_overtaken(list, i))
		return 0;
	/* what is not there any more was removed by ctl */
	if (otelprof_remove_rule(s->p, rule->number) < 0)
		return 0;
	if (rule->before)
		rule->before->number = 0;
	return add(s, rule);
}

/* While a rule that includes waits, what it does not mean is left out, too: a rule that
 * includes no process stands in for it. */
static void stand_in(struct config_rules *s, bool wanted)
{
	struct otelprof_rule rule;

	if (wanted == (s->stand_in != 0))
		return;
	if (!wanted) {
		(void)otelprof_remove_rule(s->p, s->stand_in);
		s->stand_in = 0;
		return;
	}
	otelprof_rule_init(&rule, sizeof(rule));
	rule.kind = OTELPROF_FILTER_PID;
	rule.number = INT32_MAX; /* above what a process can have */
	if (otelprof_add_rule(s->p, &rule, &s->stand_in) < 0)
		note("warning: until then what no rule includes is sampled, too");
}

static void see_what_waits(struct config_rules *s)
{
	bool include = false;
	size_t i;

	s->waiting = 0;
	for (i = 0; i < s->len; i++) {
		if (s->list[i].number)
			continue;
		s->waiting++;
		include |= s->list[i].of.action == OTELPROF_FILTER_INCLUDE;
	}
	stand_in(s, include);
}

/* Those of before again, without what was added of @list. */
static void go_back(struct config_rules *s, const struct config_rule *list, size_t len)
{
	size_t i;

	while (len)
		if (list[--len].fresh)
			(void)otelprof_remove_rule(s->p, list[len].number);
	for (i = 0; i < s->len; i++)
		(void)settle(s, s->list, i, true);
	see_what_waits(s);
}

int config_rules_change(struct config_rules *s, const struct otelprof_settings *settings)
{
	struct config_rule *list = NULL;
	size_t len = 0;
	size_t i;
	int r = list_make(settings, &list, &len);

	if (r < 0)
		return fail("out of memory");
	match(s, list, len);
	/* first, as there is room for few different rates */
	for (i = s->len; i; i--)
		if (!s->list[i - 1].stays && s->list[i - 1].number &&
		    otelprof_remove_rule(s->p, s->list[i - 1].number) == 0)
			s->list[i - 1].number = 0;
	for (i = 0; r == 0 && i < len; i++)
		r = settle(s, list, i, true);
	if (r < 0) {
		(void)fail_library(s->p, "cannot add a rule", r);
		go_back(s, list, len);
		list_free(list, len);
		return STATUS_FAILED;
	}
	list_free(s->list, s->len);
	s->list = list;
	s->len = len;
	for (i = 0; i < len; i++)
		list[i].before = NULL;
	see_what_waits(s);
	s->next = 0;
	s->next_look = now_seconds() + LOOK_S;
	return 0;
}

void config_rules_look(struct config_rules *s)
{
	size_t left = LOOKED_UP_MAX;
	size_t i;

	if (!s->waiting || now_seconds() < s->next_look)
		return;
	for (i = 0; i < s->len; i++) {
		bool look = left && i >= s->next && !s->list[i].number;

		if (settle(s, s->list, i, look) == 0 && look && s->list[i].number)
			note("a rule is in force that waited for %s",
			     s->list[i].of.text ? s->list[i].of.text : "its target");
		if (look && !--left)
			s->next = i + 1;
	}
	if (left)
		s->next = 0;
	see_what_waits(s);
	s->next_look = now_seconds() + LOOK_S;
}

void config_rules_end(struct config_rules *s)
{
	list_free(s->list, s->len);
	s->list = NULL;
	s->len = 0;
}
