/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The thread that writes and removes the files of a spill directory, so that neither the
 * owner's thread nor the sending thread waits for a slow disk. It works in the order of
 * the requests.
 */
#ifndef OP_EXPORT_QUEUE_SPOOL_H
#define OP_EXPORT_QUEUE_SPOOL_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "export/sink/request.h"
#include "export/spill/spill.h"

enum op_spool_state {
	OP_SPOOL_NONE,	  /* it has no file, and is not to get one */
	OP_SPOOL_WAITING, /* it is to be written */
	OP_SPOOL_WRITING,
	OP_SPOOL_WRITTEN,
	OP_SPOOL_FAILED, /* could not be written */
};

/* One request, embedded by whoever queues it. Guarded by the lock given to the spool. */
struct op_spool_item {
	TAILQ_ENTRY(op_spool_item) link;
	struct op_request *request;
	enum op_spool_state state;
	bool forgotten; /* remove the file, then free the item */
	char name[OP_SPILL_NAME_BYTES];
};

/* Called in the spool's thread with the lock held. */
struct op_spool_ops {
	/* @err: 0, or the -errno of writing @item */
	void (*written)(void *owner, struct op_spool_item *item, int r);
	void (*free)(struct op_spool_item *item);
	/* The thread ends, and uses neither @owner nor the spool after this. Without the
	 * lock; @owner may free the spool. */
	void (*ended)(void *owner);
};

struct op_spool;

/* On success it takes ownership of @spill. @lock outlives the spool. Returns 0, -ENOMEM,
 * or -EAGAIN if no thread can be started. */
int op_spool_new(struct op_spill *spill, struct op_ledger *ledger, pthread_mutex_t *lock,
		 const struct op_spool_ops *ops, void *owner, struct op_spool **ret);
/*
 * Complete all work and end the thread. Call without the lock; only forget() and free() may
 * follow. Returns 0, or -ETIMEDOUT if the disk does not answer: then the thread goes on with
 * what is left, and @owner has to be there until it has ended.
 */
int op_spool_finish(struct op_spool *s);
/* Free it, when its thread has ended. */
struct op_spool *op_spool_free(struct op_spool *s);
/* Call this in the child of a fork: closes the files and leaves all else as it is. */
void op_spool_forked(struct op_spool *s);

struct op_spill *op_spool_spill(struct op_spool *s);

/*
 * Have @item written; its request is held meanwhile. Called with the lock held, which is
 * released while this waits for the disk. The wait is short: if the disk is slower, the
 * request is still only in memory when this returns.
 */
void op_spool_put(struct op_spool *s, struct op_spool_item *item);
/* @item is not needed any more: remove its file, if any, and free it. Called with the
 * lock held. */
void op_spool_forget(struct op_spool *s, struct op_spool_item *item);

#endif
