/* SPDX-License-Identifier: Apache-2.0 */
/* The options that choose processes: -p, --cgroup and so on, and --exclude. */
#ifndef OTELPROF_CHOOSE_RULES_H
#define OTELPROF_CHOOSE_RULES_H

#include "common.h"

/* Parse the option @c, or what --exclude takes. Both return 0, or an exit status after a
 * message. */
int rules_take(struct options *o, int c, const char *arg);
int rules_exclude(struct options *o, const char *arg);

#endif
