/* SPDX-License-Identifier: Apache-2.0 */
/* The scripted server as a child process, and things to know of this process. */
#ifndef TESTS_EXPORT_PROCESS_H
#define TESTS_EXPORT_PROCESS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>

struct server {
	pid_t pid;
	int port;
	FILE *out;
};

struct tls_files {
	const char *cert;
	const char *key;
	const char *client_ca;
};

enum {
	STEPS_MAX = 8
};

/* @port 0: any. @tls may be NULL. @steps ends with NULL. */
struct server server_start(int port, const struct tls_files *tls,
			   const char *const *steps);
/* The next line of the server, in a static buffer; NULL where there is none left. */
const char *server_line(struct server *s);
void server_stop(struct server *s);

/* A listening TCP socket of 127.0.0.1. */
int listen_tcp(int *ret_port);

/* Does this process map a file whose name has @word in it? */
bool process_maps(const char *word);
/* Threads of this process. */
size_t count_threads(void);
/* Are all threads but this one gone in that time? */
bool threads_end(unsigned int within_ms);
/* Threads but this one that do not block signal @signal. */
size_t count_threads_taking(int signal);

#endif
