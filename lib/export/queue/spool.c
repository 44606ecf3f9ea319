/* SPDX-License-Identifier: Apache-2.0 */
/* The thread that works through the queue of files to write and to remove. */
#include "export/queue/queue.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/macros.h"
#include "export/sink/thread.h"

enum {
	/* A healthy disk is never this slow, and the owner can afford to wait
	 * this long. */
	PUT_WAIT_MS = 200,
};

struct op_spool {
	struct op_spill *spill;
	struct op_ledger *ledger;
	const struct op_spool_ops *ops;
	void *owner;
	pthread_t thread;

	pthread_mutex_t *lock;
	pthread_cond_t work; /* there is work, or `stop` */
	pthread_cond_t done; /* one more was written or failed */
	TAILQ_HEAD(, op_spool_item) items;
	uint64_t asked; /* puts so far */
	uint64_t put;	/* puts that are finished */
	bool late;	/* a wait timed out: do not wait until the disk has caught up */
	bool stop;
};

/* Called and returns with the lock held. */
static int write_item(struct op_spool *s, struct op_spool_item *item)
{
	char name[OP_SPILL_NAME_BYTES] = "";
	struct op_request *request = item->request;
	int r;

	item->state = OP_SPOOL_WRITING;
	(void)pthread_mutex_unlock(s->lock);
	r = op_spill_put(s->spill, request->bytes, request->len, request->samples, name);
	(void)pthread_mutex_lock(s->lock);
	memcpy(item->name, name, sizeof(name));
	item->state = r < 0 ? OP_SPOOL_FAILED : OP_SPOOL_WRITTEN;
	return r;
}

/* Called with the lock held, which is released while the disk works. */
static void finish_item(struct op_spool *s, struct op_spool_item *item)
{
	bool remove = item->state == OP_SPOOL_WRITTEN;

	if (remove) {
		(void)pthread_mutex_unlock(s->lock);
		op_spill_remove(s->spill, item->name);
		(void)pthread_mutex_lock(s->lock);
	}
	s->ops->free(item);
}

static void do_item(struct op_spool *s, struct op_spool_item *item)
{
	struct op_request *held = NULL;
	int r = 0;

	if (item->state == OP_SPOOL_WAITING) {
		held = item->request;
		if (!item->forgotten)
			r = write_item(s, item);
		s->put++;
		(void)pthread_cond_broadcast(&s->done);
	}
	if (item->forgotten)
		finish_item(s, item);
	else
		s->ops->written(s->owner, item, r);
	if (held)
		op_request_read(s->ledger, held);
}

static void *spool_main(void *arg)
{
	struct op_spool *s = arg;
	struct op_spool_item *item;

	(void)pthread_mutex_lock(s->lock);
	for (;;) {
		item = TAILQ_FIRST(&s->items);
		if (item) {
			TAILQ_REMOVE(&s->items, item, link);
			do_item(s, item);
			continue;
		}
		s->late = false;
		if (s->stop)
			break;
		(void)pthread_cond_wait(&s->work, s->lock);
	}
	(void)pthread_mutex_unlock(s->lock);
	s->ops->ended(s->owner);
	return NULL;
}

int op_spool_new(struct op_spill *spill, struct op_ledger *ledger, pthread_mutex_t *lock,
		 const struct op_spool_ops *ops, void *owner, struct op_spool **ret)
{
	_cleanup_free_ struct op_spool *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return -ENOMEM;
	s->spill = spill;
	s->ledger = ledger;
	s->lock = lock;
	s->ops = ops;
	s->owner = owner;
	TAILQ_INIT(&s->items);
	r = op_sink_thread_cond_init(&s->work) ?: op_sink_thread_cond_init(&s->done);
	r = r ?: op_sink_thread_start(&s->thread, "otelprof-spill", spool_main, s);
	if (r < 0)
		return r;
	*ret = OP_TAKE_PTR(s);
	return 0;
}

int op_spool_finish(struct op_spool *s)
{
	(void)pthread_mutex_lock(s->lock);
	s->stop = true;
	(void)pthread_cond_signal(&s->work);
	(void)pthread_mutex_unlock(s->lock);
	return op_sink_thread_end(s->thread);
}

struct op_spool *op_spool_free(struct op_spool *s)
{
	if (!s)
		return NULL;
	(void)pthread_cond_destroy(&s->work);
	(void)pthread_cond_destroy(&s->done);
	op_spill_close(s->spill);
	free(s);
	return NULL;
}

void op_spool_forked(struct op_spool *s)
{
	/* Otherwise the child would keep the directory locked as long as it lives. */
	s->spill = op_spill_close(s->spill);
}

struct op_spill *op_spool_spill(struct op_spool *s)
{
	return s->spill;
}

void op_spool_put(struct op_spool *s, struct op_spool_item *item)
{
	uint64_t deadline =
		op_clock_monotonic_ns() + (uint64_t)PUT_WAIT_MS * OP_NS_PER_MS;
	uint64_t mine = ++s->asked;

	op_request_hold(s->ledger, item->request);
	item->state = OP_SPOOL_WAITING;
	TAILQ_INSERT_TAIL(&s->items, item, link);
	(void)pthread_cond_signal(&s->work);
	/* @item may be freed before the wait is over. */
	while (s->put < mine && !s->late) {
		if (op_sink_thread_wait(&s->done, s->lock, deadline) == ETIMEDOUT)
			s->late = s->put < mine;
	}
}

void op_spool_forget(struct op_spool *s, struct op_spool_item *item)
{
	bool queued = item->state == OP_SPOOL_WAITING || item->state == OP_SPOOL_WRITING;

	item->forgotten = true;
	if (queued)
		return; /* the thread has the item and will see the flag */
	TAILQ_INSERT_TAIL(&s->items, item, link);
	(void)pthread_cond_signal(&s->work);
}
