/* SPDX-License-Identifier: Apache-2.0 */
/* Runs a program and keeps its output. */
#ifndef OTELPROF_MCP_RUN_H
#define OTELPROF_MCP_RUN_H

#include <stdbool.h>

#include "base/strbuf.h"

/*
 * Run @argv for at most @seconds. Its output is added to @ret, cut at a limit with a
 * sentence; after a failure its standard error is added, too. Returns true if it exited
 * with 0.
 */
bool run_program(char **argv, double seconds, struct op_strbuf *ret);

#endif
