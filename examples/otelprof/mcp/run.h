/* SPDX-License-Identifier: Apache-2.0 */
/* Run a program and keep what it prints. */
#ifndef OTELPROF_MCP_RUN_H
#define OTELPROF_MCP_RUN_H

#include <stdbool.h>

#include "base/strbuf.h"

/*
 * Run @argv for at most @seconds. What it prints is added to @ret, cut at a limit with a
 * sentence; where it fails, what it said on standard error too. Returns true where it ended
 * with 0.
 */
bool run_program(char **argv, double seconds, struct op_strbuf *ret);

#endif
