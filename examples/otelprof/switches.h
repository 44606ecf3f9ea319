/* SPDX-License-Identifier: Apache-2.0 */
/* The options that are settings of the library, one for one. */
#ifndef OTELPROF_SWITCHES_H
#define OTELPROF_SWITCHES_H

#include "common.h"

/* Parse the option @c. Returns 0; STATUS_USAGE after a message; -1 if it is none of these. */
int switches_take(struct options *o, int c, const char *arg);
/* Set what was given in @config, which borrows from @o. */
void switches_apply(const struct options *o, struct otelprof_config *config);

#endif
