/* SPDX-License-Identifier: Apache-2.0 */
/* Counts the contents of a request, and checks it against the rules of the profiles
 * signal. */
#ifndef OP_RECORDING_READ_CHECK_H
#define OP_RECORDING_READ_CHECK_H

#include <stddef.h>
#include <stdint.h>

struct request_counts {
	uint64_t samples;
	uint64_t events;
	uint64_t frames;
	size_t processes;
	size_t functions;
	size_t stacks;
};

struct request_checks {
	void (*counted)(void *data, const struct request_counts *c);
	/* Called for each broken rule, with its first case in words. */
	void (*broken)(void *data, const char *sentence, uint64_t cases);
	void *data;
};

/* Call counted() and then broken(). Returns the number of rules broken, or a negative errno:
 * -EBADMSG and others with *@ret_reason if it cannot be read, else -ENOMEM. */
int request_check(const void *request, size_t len, const struct request_checks *checks,
		  const char **ret_reason);

#endif
