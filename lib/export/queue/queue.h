/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The requests that wait for one destination, oldest first: in memory, and with a spill
 * directory in files. The bytes of memory and of files are limited. At a limit the
 * oldest request that is not being sent is dropped.
 *
 * With a spill directory each request is written when it comes in. After that only the
 * next one to send is in memory. A request that cannot be written stays in memory.
 */
#ifndef OP_EXPORT_QUEUE_QUEUE_H
#define OP_EXPORT_QUEUE_QUEUE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "export/sink/notes.h"
#include "export/sink/request.h"
#include "export/spill/spill.h"

/*
 * The thread that writes and removes the files of a spill directory, so that neither the
 * owner's thread nor the sending thread waits for a slow disk. It works in the order of
 * the requests.
 */
enum op_spool_state {
	OP_SPOOL_NONE,	  /* it has no file, and will have none */
	OP_SPOOL_WAITING, /* it waits for its file */
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
 * follow. Returns 0, or -ETIMEDOUT if the disk does not answer: then the thread
 * delivers the rest, and @owner must stay until it ends.
 */
int op_spool_finish(struct op_spool *s);
/* Free it, when its thread has ended. */
struct op_spool *op_spool_free(struct op_spool *s);
/* Call this in the child of a fork: closes the files and leaves all else as it is. */
void op_spool_forked(struct op_spool *s);

struct op_spill *op_spool_spill(struct op_spool *s);

/*
 * Write @item. Its request is kept meanwhile. Called with the lock held, which is
 * released while this waits for the disk. The wait is short: if the disk is slower, the
 * request is still only in memory when this returns.
 */
void op_spool_put(struct op_spool *s, struct op_spool_item *item);
/* @item is no longer needed: remove its file, if any, and free it. Called with the lock
 * held. */
void op_spool_forget(struct op_spool *s, struct op_spool_item *item);

struct op_queue_entry {
	TAILQ_ENTRY(op_queue_entry) link;
	struct op_spool_item item; /* the request, and its file */
	bool in_memory;		   /* its bytes are in the request */
	bool sending;		   /* it is being sent and must not be dropped */
	bool again;		   /* written again at the end */
	uint64_t first_try_ns;	   /* 0: not tried yet */
};

struct op_queue_limits {
	uint64_t memory_bytes;
	uint64_t file_bytes;
};

/* All members below are guarded by the lock, which is taken before the ledger's and the
 * notes'. */
struct op_queue {
	struct op_account *account; /* of the exporter */
	struct op_ledger *ledger;   /* the account's */
	struct op_notes *notes;
	const char *target; /* for messages; borrowed */
	struct op_queue_limits limits;
	struct op_spool *spool; /* NULL: no files */

	/* who may use it: the owner, the threads; the last one destroys it */
	uint32_t users;
	void (*destroy)(struct op_queue *q);

	pthread_mutex_t lock;
	/* a request is ready to be sent, or another signal of the user */
	pthread_cond_t wake;
	pthread_cond_t idle; /* the queue became empty */
	TAILQ_HEAD(, op_queue_entry) entries;
	uint64_t memory_bytes; /* bytes of the requests in memory */
	uint64_t file_bytes;   /* bytes of files, including those yet to be written */
	uint64_t files;
	bool ended;	   /* the queue is closed; entries of others are gone */
	bool full;	   /* logged, and nothing delivered since */
	bool disk_failing; /* logged, and nothing written since */
};

/* The caller becomes a user. The last op_queue_unref() calls @destroy, which must call
 * op_queue_deinit(). @account, @notes and @target are borrowed until then. Returns 0 or
 * -errno. */
int op_queue_init(struct op_queue *q, struct op_account *account, struct op_notes *notes,
		  const char *target, struct op_queue_limits limits,
		  void (*destroy)(struct op_queue *q));
void op_queue_ref(struct op_queue *q);
void op_queue_unref(struct op_queue *q);
/* Call this after op_queue_end(), when the queue is empty and has no other user. */
void op_queue_deinit(struct op_queue *q);

/* Take over the requests of @list, and write to @spill from now on. On success it takes
 * ownership of @spill. Call this before anything is added. Returns 0 or -errno. */
int op_queue_use_spill(struct op_queue *q, struct op_spill *spill,
		       const struct op_spill_list *list);
/* Add one request, or drop it. Call without the lock. May wait for the disk briefly. */
void op_queue_add(struct op_queue *q, struct op_request *r);
/* Delivery ends: requests in files stay there, the others are given up. Call without the
 * lock, when other threads have stopped sending or are stuck. */
void op_queue_end(struct op_queue *q);
/* In the child of a fork. */
void op_queue_forked(struct op_queue *q);

/* The following are called with the lock held. */

/* The bytes of an entry that is being sent, held by the thread that sends it. */
struct op_queue_bytes {
	const void *bytes;
	size_t len;
	struct op_request *held; /* whose bytes these are, or NULL */
	void *loaded;		 /* read from its file */
};

/*
 * Get the bytes of @e and mark it as being sent, until op_queue_sent(). The lock is
 * released while a file is read. Returns 0; -EBADMSG, after which the file has another name,
 * or the errno of reading if the file is lost; -ECANCELED if the queue has ended meanwhile,
 * and @e is gone.
 */
int op_queue_send(struct op_queue *q, struct op_queue_entry *e,
		  struct op_queue_bytes *ret);
/* Call this also after an error. Returns false if the queue has ended, and @e is gone. */
bool op_queue_sent(struct op_queue *q, struct op_queue_entry *e,
		   struct op_queue_bytes *bytes);
/* @e, which has no file, leaves the queue undecided and is freed; its bytes are no longer
 * needed. Returns its request. */
struct op_request *op_queue_take(struct op_queue *q, struct op_queue_entry *e);
/* The outcome of @e is known. It leaves the queue, its file is removed, and it is
 * freed. */
void op_queue_settle(struct op_queue *q, struct op_queue_entry *e, int fate);

#endif
