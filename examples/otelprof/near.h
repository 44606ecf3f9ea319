/* SPDX-License-Identifier: Apache-2.0 */
/* Words that are similar to a mistyped one. */
#ifndef OTELPROF_NEAR_H
#define OTELPROF_NEAR_H

#include <getopt.h>
#include <stddef.h>

/* The name of number @i, or NULL behind the last one. */
typedef const char *(*near_fn)(const void *names, size_t i);

/* The word most similar to @wanted, or NULL. */
const char *near_name(const char *wanted, near_fn fn, const void *names);
/* After getopt's message: print a similar option to @arg. Returns the usage status. */
int near_option(const char *command, const char *arg, const struct option *longs);

#endif
