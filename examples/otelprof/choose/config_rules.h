/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rules of a configuration, while it is read again and again: a rule that stays is left
 * alone, so that rules which came later by `otelprof ctl` keep deciding, and what `ctl` removed
 * stays away. A rule whose control group, container or pod is not there waits for it.
 */
#ifndef OTELPROF_CONFIG_RULES_H
#define OTELPROF_CONFIG_RULES_H

#include <otelprof/otelprof.h>
#include <stddef.h>
#include <stdint.h>

struct config_rule;

struct config_rules {
	struct otelprof *p; /* borrowed */
	struct config_rule *list;
	size_t len;
	size_t waiting;
	uint64_t stand_in; /* rule in place of those that include and wait; 0: none */
	size_t next;	   /* the first one that the next look is at */
	double next_look;
};

/* Bring the rules of @settings in force in place of those there are. Returns 0, or
 * STATUS_FAILED, said; then those of before are in force. */
int config_rules_change(struct config_rules *s, const struct otelprof_settings *settings);
/* Between polls: look now and then whether what rules wait for has come. */
void config_rules_look(struct config_rules *s);
void config_rules_end(struct config_rules *s);

#endif
