/* SPDX-License-Identifier: Apache-2.0 */
/* The options that choose processes: -p, --cgroup and so on, --exclude and --rule. */
#ifndef OTELPROF_CHOOSE_RULES_H
#define OTELPROF_CHOOSE_RULES_H

#include "common.h"

#include <sys/types.h>

/* Parse the option @c. Returns 0, or an exit status after a message. */
int rules_take(struct options *o, int c, const char *arg);
/* Include a process with its descendants, before the rules of options that do not include. */
int rules_include_tree(struct options *o, pid_t pid);
/* Free the rules of the options. */
void rules_clear(struct options *o);
/* Set the rules of the options or, without any, those of the settings. Returns 0, or
 * STATUS_FAILED after a message. */
int rules_apply(const struct options *o, struct otelprof *p);
/* The same with those of @settings. */
int rules_set(struct otelprof *p, const struct otelprof_settings *settings);

#endif
