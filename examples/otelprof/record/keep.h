/* SPDX-License-Identifier: Apache-2.0 */
/* The requests of a recording while it is made, in a file without a name: the output and the
 * summary are made of them at the end. */
#ifndef OTELPROF_KEEP_H
#define OTELPROF_KEEP_H

#include <otelprof/otelprof.h>
#include <stdbool.h>
#include <stdint.h>

#include "recording/tree/recording.h"

struct keep {
	int fd;
	bool only; /* no other exporter has the requests: this one decides what becomes of them */
	int error; /* of the first request that could not be kept */
	uint64_t bytes;
};

#define KEEP_NONE                                                                        \
	{                                                                                \
		.fd = -1                                                                 \
	}

/* Keep what @p exports. @k must live as long as @p. Returns 0, or STATUS_FAILED after a message. */
int keep_start(struct keep *k, struct otelprof *p);
/* Read what was kept. Returns 0, or STATUS_FAILED after a message. */
int keep_load(const struct keep *k, const struct recording_request *request,
	      struct recording *ret);
void keep_clear(struct keep *k);

#endif
