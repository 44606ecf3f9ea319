/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The rules of a configuration, while it is read again and again: a rule that stays is left
 * alone, so that rules which came later by `otelprof ctl` keep deciding, and what `ctl` removed
 * stays away. A rule whose control group, container or pod is not there waits for it.
 */
#ifndef OTELPROF_STANDING_H
#define OTELPROF_STANDING_H

#include <otelprof/otelprof.h>
#include <stddef.h>
#include <stdint.h>

struct standing_rule;

struct standing {
	struct otelprof *p; /* borrowed */
	struct standing_rule *list;
	size_t len;
	size_t waiting;
	uint64_t stand_in; /* rule in place of those that include and wait; 0: none */
	size_t next;	   /* the first one that the next look is at */
	double next_look;
};

/* Bring the rules of @settings in force in place of those there are. Returns 0, or
 * STATUS_FAILED, said; then those of before are in force. */
int standing_change(struct standing *s, const struct otelprof_settings *settings);
/* Between polls: look now and then whether what rules wait for has come. */
void standing_look(struct standing *s);
void standing_end(struct standing *s);

#endif
