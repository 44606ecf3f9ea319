/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What waits for one destination, oldest first: in memory, and with a spill directory in
 * files. Bounded in bytes, of memory and of files; the oldest request that is not on the wire
 * at the moment makes room.
 *
 * With a spill directory each request is written when it comes in. From then on only the
 * one to be sent next is in memory. One that cannot be written stays in memory.
 */
#ifndef OP_DELIVERY_QUEUE_H
#define OP_DELIVERY_QUEUE_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/queue.h>

#include "delivery/spool.h"
#include "export/notes.h"
#include "export/request.h"

struct op_queue_entry {
	TAILQ_ENTRY(op_queue_entry) link;
	struct op_spool_item item; /* the request, and its file */
	bool in_memory;		   /* its bytes are the request's */
	bool sending;		   /* on the wire: not to be dropped */
	void *loaded;		   /* its bytes from the file; owned; while sending */
	uint64_t first_try_ns;	   /* 0: not tried yet */
};

struct op_queue_limits {
	uint64_t memory_bytes;
	uint64_t file_bytes;
};

/* All below is guarded by the lock, which is taken before the ledger's and the notes'. */
struct op_queue {
	struct op_account *account; /* of the exporter */
	struct op_ledger *ledger;   /* the account's */
	struct op_notes *notes;
	const char *target; /* for messages; borrowed */
	struct op_queue_limits limits;
	struct op_spool *spool; /* NULL: memory alone */

	pthread_mutex_t lock;
	pthread_cond_t wake; /* something to send, or whatever its user makes of it */
	pthread_cond_t idle; /* it became empty */
	TAILQ_HEAD(, op_queue_entry) entries;
	uint64_t memory_bytes; /* of the requests that are in memory */
	uint64_t file_bytes;   /* of files, also of those to be written */
	uint64_t files;
	bool full;	   /* said so, and not delivered since */
	bool disk_failing; /* said so, and not written since */
};

/* @account, @notes and @target are borrowed until op_queue_deinit(). 0 or -errno. */
int op_queue_init(struct op_queue *q, struct op_account *account, struct op_notes *notes,
		  const char *target, struct op_queue_limits limits);
/* It is empty: op_queue_end() came before. */
void op_queue_deinit(struct op_queue *q);

/*
 * Take the requests of @list and write to @spill from now on. Takes ownership of @spill, on
 * success only. Before anything is added. 0 or -errno.
 */
int op_queue_use_spill(struct op_queue *q, struct op_spill *spill,
		       const struct op_spill_list *list);
/* Take one request, or drop it. Not with the lock held. May wait for the disk a little. */
void op_queue_add(struct op_queue *q, struct op_request *r);
/*
 * The end of delivery: what is in a file stays there, the rest is given up. Not with the lock
 * held; no other thread works on the queue any more.
 */
void op_queue_end(struct op_queue *q);
/* In the child of a fork. */
void op_queue_forked(struct op_queue *q);

/* These are called with the lock held. */

/*
 * The bytes of @e, which is marked as on the wire, until op_queue_sent(). The lock is given
 * up while a file is read. Returns 0; -EBADMSG or the errno of a file that is lost.
 */
int op_queue_send(struct op_queue *q, struct op_queue_entry *e, const void **ret);
void op_queue_sent(struct op_queue_entry *e);
/* Its fate is known: it leaves the queue, its file is removed; it is freed. */
void op_queue_settle(struct op_queue *q, struct op_queue_entry *e, int fate);

#endif
