/* SPDX-License-Identifier: Apache-2.0 */
/* What a service tells its manager: sd_notify(3)'s protocol, a datagram to $NOTIFY_SOCKET. */
#ifndef OTELPROF_NOTIFY_H
#define OTELPROF_NOTIFY_H

#include <stdbool.h>

struct notify {
	double watchdog_s; /* between two signs of life; 0: nobody waits for them */
	double next_s;
};

/* Read the environment that the manager made. Without a manager all calls do nothing. */
void notify_open(struct notify *n);
/* Send assignments, such as "READY=1", one a line. One that does not arrive is forgotten. */
void notify_send(const char *state);
/* A sign of life, where one is due. A session_fn: @data is the struct notify; returns false. */
bool notify_alive(void *data);

#endif
