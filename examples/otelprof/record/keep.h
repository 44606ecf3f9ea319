/* SPDX-License-Identifier: Apache-2.0 */
/* Keeps the requests of a recording while it is made, in a file without a name. At the
 * end the output and the summary are made from them. */
#ifndef OTELPROF_KEEP_H
#define OTELPROF_KEEP_H

#include <otelprof/otelprof.h>
#include <stdbool.h>
#include <stdint.h>

#include "recording/tree/recording.h"

struct keep {
	int fd;
	bool only; /* no other exporter has the requests, so this one accounts for them */
	int error; /* errno of the first request that could not be kept */
	uint64_t bytes;
};

#define KEEP_NONE                                                                        \
	{                                                                                \
		.fd = -1                                                                 \
	}

/* Keep the requests that @p exports. @k must live as long as @p. Returns 0, or
 * STATUS_FAILED after a message. */
int keep_start(struct keep *k, struct otelprof *p);
/* Read the requests back. Returns 0, or STATUS_FAILED after a message. */
int keep_load(const struct keep *k, const struct recording_request *request,
	      struct recording *ret);
void keep_clear(struct keep *k);

#endif
