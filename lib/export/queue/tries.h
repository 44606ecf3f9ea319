/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The attempts to deliver to one destination: the meaning of an answer for a request,
 * the time of the next attempt, and the complaints that were logged. The queue's lock
 * guards everything.
 */
#ifndef OP_EXPORT_QUEUE_TRIES_H
#define OP_EXPORT_QUEUE_TRIES_H

#include <stdbool.h>
#include <stdint.h>

#include "export/queue/export_settings.h"
#include "export/queue/queue.h"
#include "export/transport/retry.h"

enum {
	OP_TRIES_WORDS_BYTES = 512,
};

struct op_tries {
	uint64_t retry_elapsed_ns; /* 0: no limit */
	struct op_backoff backoff;
	uint64_t not_before_ns; /* no try before this time */
	/* the server asked for this wait, so a flush does not shorten it */
	bool asked;
	bool failing;		 /* failure was logged, and nothing delivered since */
	unsigned int complaints; /* complaints logged since the failure began */
	/* the server's last complaint, which is not repeated */
	char words[OP_TRIES_WORDS_BYTES];
};

void op_tries_init(struct op_tries *t, const struct op_export_settings *settings);
/* A flush begins: do not wait for the next try. */
void op_tries_hurry(struct op_tries *t);
/*
 * @e was sent, and this is the answer. It leaves the queue, or waits for another try.
 * @profiles: the number in it, if some were rejected. @interrupted: the call was cut
 * short.
 */
void op_tries_judge(struct op_tries *t, struct op_queue *q, struct op_queue_entry *e,
		    const struct op_transport_result *result, uint64_t profiles,
		    bool interrupted);
/* The file of @e cannot be read back: the request is lost, unless @err will pass. */
void op_tries_lost(struct op_tries *t, struct op_queue *q, struct op_queue_entry *e,
		   int r);

#endif
