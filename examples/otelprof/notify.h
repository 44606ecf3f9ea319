/* SPDX-License-Identifier: Apache-2.0 */
/* Tells the service manager our state by the protocol of sd_notify(3): a datagram to
 * $NOTIFY_SOCKET. */
#ifndef OTELPROF_NOTIFY_H
#define OTELPROF_NOTIFY_H

#include <stdbool.h>

struct notify {
	/* seconds between two watchdog messages; 0: the manager expects none */
	double watchdog_s;
	double next_s;
};

/* Read the environment variables of the manager. Without a manager all calls
 * do nothing. */
void notify_open(struct notify *n);
/* Send assignments such as "READY=1", one a line. Errors are ignored. */
void notify_send(const char *state);
/* Send a watchdog message if it is due. A session_fn: @data is the struct notify; returns
 * false. */
bool notify_alive(void *data);

#endif
