/* SPDX-License-Identifier: Apache-2.0 */
/* The children of chosen processes. */
#ifndef OTELPROF_CHOOSE_CHILDREN_H
#define OTELPROF_CHOOSE_CHILDREN_H

#include "common.h"

/* Print a hint for each process of -p that has children: -p takes a process alone, and
 * a server's work may be in its children. */
void children_tell(const struct options *o);

#endif
