/* SPDX-License-Identifier: Apache-2.0 */
/* Messages of the commands, and the time. The program that links this library defines
 * them. */
#ifndef OP_RECORDING_READ_SAY_H
#define OP_RECORDING_READ_SAY_H

#include <stdio.h>

enum {
	STATUS_FAILED = 1, /* exit status after one sentence on stderr */
};

/* Print "otelprof: sentence" on stderr, red on a terminal. Returns STATUS_FAILED. */
int fail(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
void note(const char *fmt, ...) __attribute__((format(printf, 1, 2)));
double now_seconds(void);

#endif
