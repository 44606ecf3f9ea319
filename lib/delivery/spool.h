/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The thread that does a spill directory's writing and removing, so that neither the
 * owner's thread nor the one that sends waits for a slow disk. It works in the order it was
 * asked.
 */
#ifndef OP_DELIVERY_SPOOL_H
#define OP_DELIVERY_SPOOL_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "delivery/spill.h"
#include "export/request.h"

enum op_spool_state {
	OP_SPOOL_NONE,	  /* has no file and shall have none */
	OP_SPOOL_WAITING, /* to be written */
	OP_SPOOL_WRITING,
	OP_SPOOL_WRITTEN,
	OP_SPOOL_FAILED, /* could not be written */
};

/* One request, embedded by whoever queues it. Guarded by the lock given to the spool. */
struct op_spool_item {
	TAILQ_ENTRY(op_spool_item) link;
	struct op_request *request;
	enum op_spool_state state;
	bool forgotten; /* the file goes, then the item */
	char name[OP_SPILL_NAME_BYTES];
};

/* Called in the spool's thread with the lock held. */
struct op_spool_ops {
	/* @err: of writing @item, or 0. */
	void (*written)(void *owner, struct op_spool_item *item, int err);
	void (*free)(struct op_spool_item *item);
};

struct op_spool;

/*
 * Takes ownership of @spill, on success only. @lock outlives the spool. Returns 0, -ENOMEM
 * or -EAGAIN where there can be no thread.
 */
int op_spool_new(struct op_spill *spill, struct op_ledger *ledger, pthread_mutex_t *lock,
		 const struct op_spool_ops *ops, void *owner, struct op_spool **ret);
/* Do what was asked for, end the thread. Not with the lock held. Nothing may follow. */
void op_spool_finish(struct op_spool *s);
/* Finish and free. */
struct op_spool *op_spool_free(struct op_spool *s);
/* In the child of a fork: let go of the files, leave all else as it is. */
void op_spool_forked(struct op_spool *s);

struct op_spill *op_spool_spill(struct op_spool *s);

/*
 * Have @item written; its request is held meanwhile. With the lock held, which is given up
 * while this waits for the disk, but not long: where the disk is slower the request is still
 * in memory alone when this returns.
 */
void op_spool_put(struct op_spool *s, struct op_spool_item *item);
/* @item is no more wanted: remove its file, if any, and free it. With the lock held. */
void op_spool_forget(struct op_spool *s, struct op_spool_item *item);

#endif
