/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The control socket of `otelprof export`, which `otelprof ctl` uses. A client connects, sends
 * one line, and gets lines, of which the last is "ok" or "error SENTENCE":
 *
 *   status                        what it does and did: "NAME VALUE" a line
 *   rules                         "NUMBER SECONDS RULE" a line, SECONDS that are left
 *   pause, resume
 *   rate HZ                       of what no rule gives one
 *   rule SECONDS RULE             "number N"; SECONDS 0: until it is removed
 *   remove NUMBER
 *
 * RULE is one of the key "rules" of otelprof_settings_new(3), to the end of the line.
 */
#ifndef OTELPROF_CONTROL_H
#define OTELPROF_CONTROL_H

#include <pthread.h>
#include <stddef.h>
#include <sys/types.h>

struct otelprof;

#define CONTROL_DIRECTORY "/run/otelprof"
#define CONTROL_PATH	  CONTROL_DIRECTORY "/control"

enum {
	CONTROL_LINE_BYTES = 4096,     /* of a request, with its newline */
	CONTROL_REPLY_BYTES = 4 << 20, /* enough for 65,536 rules by pid */
	/* for a client to send its line, and to receive the answer */
	CONTROL_TIMEOUT_S = 2,
};

struct control {
	struct otelprof *p; /* borrowed */
	const char *path;   /* borrowed */
	/* group of users who may use it, besides root and the daemon's user */
	gid_t group;
	int fd; /* listening socket, or -1 */
	int quit_fd;
	pthread_t thread;
};

/* Serve @p at @path in a thread, to root, this user and @group (NULL: this process's).
 * Returns 0, or STATUS_FAILED after a message. */
int control_open(struct control *c, struct otelprof *p, const char *path,
		 const char *group);
/* End the thread and remove the socket. Does nothing if its fd is -1. */
void control_close(struct control *c);
/* Write the answer to the line @request into @ret, of @size bytes. */
void control_answer(struct otelprof *p, char *request, char *ret, size_t size);

#endif
