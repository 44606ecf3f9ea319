/* SPDX-License-Identifier: Apache-2.0 */
/* The queue of requests: its limits in memory and files, and what is dropped when it is
 * full. */
#include "export/queue/queue.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/macros.h"
#include "export/sink/thread.h"

static struct op_queue_entry *entry_of(struct op_spool_item *item)
{
	return op_container_of(item, struct op_queue_entry, item);
}

static bool has_file(const struct op_queue_entry *e)
{
	return e->item.state == OP_SPOOL_WAITING || e->item.state == OP_SPOOL_WRITING ||
	       e->item.state == OP_SPOOL_WRITTEN;
}

static uint64_t file_bytes(const struct op_request *r)
{
	return r->len + OP_SPILL_HEADER_BYTES;
}

static void leave_memory(struct op_queue *q, struct op_queue_entry *e)
{
	if (!e->in_memory)
		return;
	e->in_memory = false;
	q->memory_bytes -= e->item.request->len;
	op_request_read(q->ledger, e->item.request);
}

static void leave_disk(struct op_queue *q, const struct op_queue_entry *e)
{
	q->file_bytes -= file_bytes(e->item.request);
	q->files--;
}

static void free_item(struct op_spool_item *item)
{
	free(entry_of(item));
}

void op_queue_settle(struct op_queue *q, struct op_queue_entry *e, int fate)
{
	bool file = has_file(e);

	TAILQ_REMOVE(&q->entries, e, link);
	leave_memory(q, e);
	if (file)
		leave_disk(q, e);
	op_request_decide(q->account, e->item.request, fate);
	if (file && fate != OP_FATE_SPILLED)
		op_spool_forget(q->spool, &e->item);
	else
		free(e);
	if (TAILQ_EMPTY(&q->entries))
		(void)pthread_cond_broadcast(&q->idle);
}

struct op_request *op_queue_take(struct op_queue *q, struct op_queue_entry *e)
{
	struct op_request *r = e->item.request;

	assert(!has_file(e));
	TAILQ_REMOVE(&q->entries, e, link);
	leave_memory(q, e);
	free(e);
	if (TAILQ_EMPTY(&q->entries))
		(void)pthread_cond_broadcast(&q->idle);
	return r;
}

static void say_full(struct op_queue *q, const char *what, uint64_t limit)
{
	if (!q->full)
		op_notes_add(
			q->notes, OP_LOG_WARNING,
			"export: %s: the %s is full (%llu bytes): dropping the oldest "
			"requests",
			q->target, what, (unsigned long long)limit);
	q->full = true;
}

/* Drop the oldest requests until @len more bytes of memory fit. Returns false if they
 * never will. */
static bool make_memory(struct op_queue *q, uint64_t len)
{
	const uint64_t limit = q->limits.memory_bytes;
	struct op_queue_entry *e;
	struct op_queue_entry *next;

	/* If it can never fit, do not drop the others for it. */
	if (len > limit)
		return false;
	for (e = TAILQ_FIRST(&q->entries); e && q->memory_bytes + len > limit; e = next) {
		next = TAILQ_NEXT(e, link);
		if (e->sending || !e->in_memory)
			continue;
		if (e->item.state == OP_SPOOL_WRITTEN) {
			leave_memory(q, e);
			continue;
		}
		op_queue_settle(q, e, OP_DROP_QUEUE);
		say_full(q, "queue", limit);
	}
	return q->memory_bytes + len <= limit;
}

/* The same for the bytes of files. */
static bool make_files(struct op_queue *q, uint64_t len)
{
	const uint64_t limit = q->limits.file_bytes;
	struct op_queue_entry *e;
	struct op_queue_entry *next;

	if (len > limit)
		return false;
	for (e = TAILQ_FIRST(&q->entries);
	     e && (q->file_bytes + len > limit || q->files >= OP_SPILL_FILES_MAX);
	     e = next) {
		next = TAILQ_NEXT(e, link);
		if (e->sending || !has_file(e))
			continue;
		op_queue_settle(q, e, OP_DROP_QUEUE);
		say_full(q, "spill directory", limit);
	}
	return q->file_bytes + len <= limit && q->files < OP_SPILL_FILES_MAX;
}

static void note_disk(struct op_queue *q, int r)
{
	const char *path = op_spill_path(op_spool_spill(q->spool));

	if (r < 0) {
		op_ledger_spill_error(q->ledger, 1);
		op_notes_add(q->notes, q->disk_failing ? OP_LOG_DEBUG : OP_LOG_WARNING,
			     "export: %s: cannot write to %s: %s; what waits stays in "
			     "memory, up to queue_bytes",
			     q->target, path, strerror(-r));
	} else if (q->disk_failing) {
		op_notes_add(q->notes, OP_LOG_INFO, "export: %s: %s can be written again",
			     q->target, path);
	}
	q->disk_failing = r < 0;
}

/* Called in the spool's thread with the lock held. */
static void on_written(void *owner, struct op_spool_item *item, int r)
{
	struct op_queue *q = owner;
	struct op_queue_entry *e = entry_of(item);

	note_disk(q, r);
	if (r < 0)
		leave_disk(q, e);
	else if (e != TAILQ_FIRST(&q->entries) && !e->sending)
		leave_memory(q, e);
}

static void on_ended(void *owner)
{
	op_queue_unref(owner);
}

static const struct op_spool_ops spool_ops = {
	.written = on_written,
	.free = free_item,
	.ended = on_ended,
};

static struct op_queue_entry *new_entry(struct op_request *r)
{
	struct op_queue_entry *e = calloc(1, sizeof(*e));

	if (e)
		e->item.request = r;
	return e;
}

void op_queue_add(struct op_queue *q, struct op_request *r)
{
	struct op_queue_entry *e = new_entry(r);
	bool file;

	if (!e) {
		op_request_settle(q->account, r, OP_DROP_MEMORY);
		return;
	}
	(void)pthread_mutex_lock(&q->lock);
	file = q->spool && make_files(q, file_bytes(r));
	if (!make_memory(q, r->len)) {
		op_request_settle(q->account, r, OP_DROP_QUEUE);
		say_full(q, "queue", q->limits.memory_bytes);
		free(e);
	} else {
		TAILQ_INSERT_TAIL(&q->entries, e, link);
		e->in_memory = true;
		q->memory_bytes += r->len;
		(void)pthread_cond_signal(&q->wake);
		if (file) {
			q->file_bytes += file_bytes(r);
			q->files++;
			op_spool_put(q->spool, &e->item);
		}
	}
	(void)pthread_mutex_unlock(&q->lock);
}

int op_queue_send(struct op_queue *q, struct op_queue_entry *e,
		  struct op_queue_bytes *ret)
{
	struct op_spill *spill = q->spool ? op_spool_spill(q->spool) : NULL;
	struct op_queue_bytes b = { .len = e->item.request->len };
	char name[OP_SPILL_NAME_BYTES];
	size_t len = 0;
	int r;

	e->sending = true;
	if (e->in_memory) {
		op_request_hold(q->ledger, e->item.request);
		b.held = e->item.request;
		b.bytes = b.held->bytes;
		*ret = b;
		return 0;
	}
	memcpy(name, e->item.name, sizeof(name));
	(void)pthread_mutex_unlock(&q->lock);
	r = op_spill_get(spill, name, &b.loaded, &len);
	if (!r && len != b.len)
		r = -EBADMSG;
	if (r == -EBADMSG)
		op_spill_set_aside(spill, name);
	(void)pthread_mutex_lock(&q->lock);
	b.bytes = b.loaded;
	*ret = b;
	return q->ended ? -ECANCELED : r;
}

bool op_queue_sent(struct op_queue *q, struct op_queue_entry *e,
		   struct op_queue_bytes *bytes)
{
	if (bytes->held)
		op_request_read(q->ledger, bytes->held);
	free(bytes->loaded);
	*bytes = (struct op_queue_bytes){ 0 };
	if (q->ended)
		return false;
	e->sending = false;
	return true;
}

static int restore_one(struct op_queue *q, const struct op_spill_found *f)
{
	_cleanup_free_ struct op_queue_entry *e = new_entry(NULL);
	int r;

	if (!e)
		return -ENOMEM;
	r = op_request_restore(q->account, f->len, f->samples, &e->item.request);
	if (r < 0)
		return r;
	(void)make_files(q, file_bytes(e->item.request));
	(void)strlcpy(e->item.name, f->name, sizeof(e->item.name));
	e->item.state = OP_SPOOL_WRITTEN;
	q->file_bytes += file_bytes(e->item.request);
	q->files++;
	TAILQ_INSERT_TAIL(&q->entries, e, link);
	(void)OP_TAKE_PTR(e);
	return 0;
}

int op_queue_use_spill(struct op_queue *q, struct op_spill *spill,
		       const struct op_spill_list *list)
{
	const struct op_spill_found *f;
	uint64_t samples = 0;
	int r;

	op_queue_ref(q); /* of the thread */
	r = op_spool_new(spill, q->ledger, &q->lock, &spool_ops, q, &q->spool);
	if (r < 0) {
		op_queue_unref(q);
		return r;
	}
	op_ledger_spill_error(q->ledger, list->bad);
	(void)pthread_mutex_lock(&q->lock);
	op_vec_foreach(f, &list->files) {
		/* Without memory the rest stays there for the next run. */
		if (restore_one(q, f) < 0)
			break;
		samples += f->samples;
	}
	(void)pthread_mutex_unlock(&q->lock);
	if (list->files.len)
		op_notes_add(
			q->notes, OP_LOG_INFO,
			"export: %s: %zu requests with %llu samples were waiting in %s",
			q->target, list->files.len, (unsigned long long)samples,
			op_spill_path(spill));
	return 0;
}

/* Find a request that could not be written and fits. The lock is released during each
 * put, so a thread that was left behind may settle any entry meanwhile. So each search
 * starts again. */
static struct op_queue_entry *next_failed(struct op_queue *q)
{
	struct op_queue_entry *e;

	TAILQ_FOREACH(e, &q->entries, link) {
		if (e->in_memory && e->item.state == OP_SPOOL_FAILED && !e->again &&
		    q->file_bytes + file_bytes(e->item.request) <= q->limits.file_bytes)
			return e;
	}
	return NULL;
}

/* Write again the requests that could not be written: it is their last chance. */
static void write_again(struct op_queue *q)
{
	struct op_queue_entry *e;

	while ((e = next_failed(q))) {
		e->again = true;
		q->file_bytes += file_bytes(e->item.request);
		q->files++;
		op_spool_put(q->spool, &e->item);
	}
}

/* If the disk does not answer, requests that are not written yet are lost. */
static void say_stuck(struct op_queue *q, uint64_t requests, uint64_t samples)
{
	op_ledger_spill_error(q->ledger, requests);
	op_notes_add(q->notes, OP_LOG_WARNING,
		     "export: %s: the disk does not answer at %s: %llu samples in %llu "
		     "requests are dropped, and the next run may send again what was "
		     "delivered",
		     q->target, op_spill_path(op_spool_spill(q->spool)),
		     (unsigned long long)samples, (unsigned long long)requests);
}

void op_queue_end(struct op_queue *q)
{
	struct op_queue_entry *e;
	uint64_t requests = 0;
	uint64_t samples = 0;
	int r = 0;

	if (q->spool) {
		(void)pthread_mutex_lock(&q->lock);
		write_again(q);
		(void)pthread_mutex_unlock(&q->lock);
		r = op_spool_finish(q->spool);
	}
	(void)pthread_mutex_lock(&q->lock);
	while ((e = TAILQ_FIRST(&q->entries))) {
		bool written = e->item.state == OP_SPOOL_WRITTEN;

		requests += !written;
		samples += written ? 0 : e->item.request->samples;
		op_queue_settle(q, e, written ? OP_FATE_SPILLED : OP_DROP_GIVEN_UP);
	}
	q->ended = true;
	if (r < 0)
		say_stuck(q, requests, samples);
	(void)pthread_mutex_unlock(&q->lock);
}

void op_queue_forked(struct op_queue *q)
{
	if (q->spool)
		op_spool_forked(q->spool);
}

int op_queue_init(struct op_queue *q, struct op_account *account, struct op_notes *notes,
		  const char *target, struct op_queue_limits limits,
		  void (*destroy)(struct op_queue *q))
{
	int r;

	*q = (struct op_queue){
		.account = account,
		.ledger = account->ledger,
		.notes = notes,
		.target = target,
		.limits = limits,
		.users = 1,
		.destroy = destroy,
	};
	TAILQ_INIT(&q->entries);
	r = -pthread_mutex_init(&q->lock, NULL);
	r = r ?: op_sink_thread_cond_init(&q->wake);
	return r ?: op_sink_thread_cond_init(&q->idle);
}

void op_queue_ref(struct op_queue *q)
{
	(void)__atomic_add_fetch(&q->users, 1, __ATOMIC_RELAXED);
}

void op_queue_unref(struct op_queue *q)
{
	if (!__atomic_sub_fetch(&q->users, 1, __ATOMIC_ACQ_REL))
		q->destroy(q);
}

void op_queue_deinit(struct op_queue *q)
{
	q->spool = op_spool_free(q->spool);
	(void)pthread_cond_destroy(&q->idle);
	(void)pthread_cond_destroy(&q->wake);
	(void)pthread_mutex_destroy(&q->lock);
}
