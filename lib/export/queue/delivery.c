/* SPDX-License-Identifier: Apache-2.0 */
/* The delivery thread: sends the first request of its queue, again and again. */
#include "export/queue/delivery.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/macros.h"
#include "export/queue/queue.h"
#include "export/queue/tries.h"
#include "export/sink/thread.h"
#include "export/transport/reply.h"

struct op_delivery {
	struct op_sink sink;
	const struct op_transport_ops *ops;
	void *transport;
	char *target;
	struct op_certs certs; /* used by the sending thread once it runs */
	bool certs_due;	       /* the transport had no memory for them */
	uint32_t timeout_ms;
	pthread_t thread;
	bool forked;
	/* used by the owner only */
	bool abandoned; /* the queue is closed, and the thread ends */
	bool finished;	/* it has ended, or was left behind */

	struct op_queue queue;
	/* Guarded by the queue's lock. */
	struct op_tries tries;
	bool stop;
};

/* Load replaced certificates, for future connections; before the next send again, if the
 * transport had no memory for them. */
static void refresh_certs(struct op_delivery *d)
{
	struct op_transport_tls tls;
	int r;

	if (op_certs_refresh(&d->certs, d->sink.notes))
		d->certs_due = true;
	if (!d->certs_due)
		return;
	tls = op_certs_get(&d->certs);
	r = d->ops->set_tls(d->transport, &tls);
	d->certs_due = r < 0;
	if (r < 0)
		op_notes_add(d->sink.notes, OP_LOG_WARNING,
			     "export: %s: the new certificates cannot be used yet: %s",
			     d->target, strerror(-r));
}

/* Send the first request of the queue. Called and returns with the lock held; it is
 * released during the call. */
static void send_first(struct op_delivery *d)
{
	struct op_queue_entry *e = TAILQ_FIRST(&d->queue.entries);
	struct op_transport_result result = { .retry_delay_ms = -1 };
	struct op_queue_bytes b = { 0 };
	uint64_t profiles = 0;
	int r;

	if (!e->first_try_ns)
		e->first_try_ns = op_clock_monotonic_ns();
	r = op_queue_send(&d->queue, e, &b);
	if (r < 0) {
		if (op_queue_sent(&d->queue, e, &b))
			op_tries_lost(&d->tries, &d->queue, e, r);
		return;
	}
	(void)pthread_mutex_unlock(&d->queue.lock);
	refresh_certs(d);
	r = d->ops->send(d->transport, b.bytes, b.len, d->timeout_ms, &result);
	if (result.rejected)
		profiles = op_reply_count_profiles(b.bytes, b.len);
	(void)pthread_mutex_lock(&d->queue.lock);
	if (!op_queue_sent(&d->queue, e, &b))
		return;
	if (r < 0) {
		/* Nothing was sent (no memory): treat it like a network failure. */
		result.grpc_status = OP_GRPC_UNAVAILABLE;
		(void)strlcpy(result.message, strerror(-r), sizeof(result.message));
	}
	op_tries_judge(&d->tries, &d->queue, e, &result, profiles, d->stop);
}

static void *delivery_main(void *arg)
{
	struct op_delivery *d = arg;
	struct op_queue *q = &d->queue;
	uint64_t counted_ns = 0;

	(void)pthread_mutex_lock(&q->lock);
	while (!d->stop) {
		if (TAILQ_EMPTY(&q->entries))
			(void)op_sink_thread_wait(&q->wake, &q->lock, UINT64_MAX);
		else if (op_clock_monotonic_ns() < d->tries.not_before_ns)
			(void)op_sink_thread_wait(&q->wake, &q->lock,
						  d->tries.not_before_ns);
		else {
			uint64_t used_ns;

			send_first(d);
			used_ns = op_clock_thread_ns();
			op_ledger_work(d->sink.ledger, used_ns - counted_ns);
			counted_ns = used_ns;
		}
	}
	(void)pthread_mutex_unlock(&q->lock);
	op_queue_unref(q);
	return NULL;
}

static void delivery_submit(struct op_sink *s, struct op_request *r)
{
	struct op_delivery *d = op_container_of(s, struct op_delivery, sink);

	if (d->abandoned)
		op_request_settle(&s->account, r, OP_DROP_GIVEN_UP);
	else
		op_queue_add(&d->queue, r);
}

static int delivery_flush(struct op_sink *s, uint64_t deadline_ns)
{
	struct op_delivery *d = op_container_of(s, struct op_delivery, sink);
	struct op_queue *q = &d->queue;
	int r = 0;

	(void)pthread_mutex_lock(&q->lock);
	while (!TAILQ_EMPTY(&q->entries) && r != ETIMEDOUT)
		r = op_sink_thread_wait(&q->idle, &q->lock, deadline_ns);
	r = TAILQ_EMPTY(&q->entries) ? 0 : -ETIMEDOUT;
	(void)pthread_mutex_unlock(&q->lock);
	return r;
}

static void delivery_hurry(struct op_sink *s)
{
	struct op_delivery *d = op_container_of(s, struct op_delivery, sink);

	(void)pthread_mutex_lock(&d->queue.lock);
	op_tries_hurry(&d->tries);
	(void)pthread_cond_signal(&d->queue.wake);
	(void)pthread_mutex_unlock(&d->queue.lock);
}

static void delivery_forked(struct op_sink *s)
{
	op_container_of(s, struct op_delivery, sink)->forked = true;
}

/* A request whose sending is interrupted may have arrived. Nobody knows, so it counts
 * as given up. If it has a file, the next run sends it again. */
static void delivery_abandon(struct op_sink *s)
{
	struct op_delivery *d = op_container_of(s, struct op_delivery, sink);

	if (d->abandoned)
		return;
	d->abandoned = true;
	(void)pthread_mutex_lock(&d->queue.lock);
	d->stop = true;
	(void)pthread_cond_signal(&d->queue.wake);
	(void)pthread_mutex_unlock(&d->queue.lock);
	d->ops->cancel(d->transport);
}

static void delivery_finish(struct op_sink *s)
{
	struct op_delivery *d = op_container_of(s, struct op_delivery, sink);

	if (!d->abandoned || d->finished)
		return;
	d->finished = true;
	if (op_sink_thread_end(d->thread) < 0)
		op_notes_add(d->sink.notes, OP_LOG_WARNING,
			     "export: %s: the sending thread is blocked in a file or its "
			     "transport, and is left behind",
			     d->target);
	op_queue_end(&d->queue);
}

static void delivery_free(struct op_sink *s)
{
	struct op_delivery *d = op_container_of(s, struct op_delivery, sink);

	/*
	 * In the child of a fork there is no thread to join, the lock may be held for
	 * ever, the queue may be half changed, and gRPC is unusable. Leave all of it
	 * alone.
	 */
	if (d->forked) {
		op_queue_forked(&d->queue);
		return;
	}
	delivery_abandon(s);
	delivery_finish(s);
	op_queue_unref(&d->queue);
}

/* Called by the last user: the owner, or a thread that it did not wait for. */
static void destroy(struct op_queue *q)
{
	struct op_delivery *d = op_container_of(q, struct op_delivery, queue);

	op_queue_deinit(q);
	op_certs_deinit(&d->certs);
	(void)op_shared_unref(d->sink.shared);
	free(d->target);
	if (d->transport)
		d->ops->close(d->transport);
	free(d);
}

static const struct op_sink_ops delivery_ops = {
	.submit = delivery_submit,
	.hurry = delivery_hurry,
	.flush = delivery_flush,
	.abandon = delivery_abandon,
	.finish = delivery_finish,
	.forked = delivery_forked,
	.free = delivery_free,
};

/* Files that a thread opens, because a disk may not answer. */
struct opening {
	char *dir;
	char *target;
	struct op_shared *shared; /* NULL: a test */
	struct op_notes *notes;
	struct op_log log; /* the handle's is the owner's */
	struct op_spill_list list;
	struct op_spill *spill;
	int err;
};

static void note_line(void *userdata, int level, const char *message)
{
	struct opening *o = userdata;

	op_notes_add(o->notes, (enum op_log_level)level, "%s", message);
}

static void open_directory(void *arg)
{
	struct opening *o = arg;

	o->err = op_spill_open(o->dir, o->target, &o->log, &o->list, &o->spill);
}

static void free_opening(void *arg)
{
	struct opening *o = arg;

	if (!o)
		return;
	op_spill_close(o->spill);
	op_vec_clear(&o->list.files);
	op_log_deinit(&o->log);
	(void)op_shared_unref(o->shared);
	free(o->target);
	free(o->dir);
	free(o);
}

static struct opening *new_opening(const struct op_sink *s,
				   const struct op_export_settings *settings)
{
	struct opening *o = calloc(1, sizeof(*o));

	if (!o)
		return NULL;
	o->dir = strdup(settings->spill_dir);
	o->target = strdup(settings->endpoint.id);
	o->shared = op_shared_ref(s->shared);
	o->notes = s->notes;
	o->log.fn = note_line;
	o->log.userdata = o;
	o->log.level = s->notes->level;
	if (o->dir && o->target)
		return o;
	free_opening(o);
	return NULL;
}

/* Open the spill directory and take over what an earlier run left in it. */
static int open_spill(struct op_delivery *d, const struct op_export_settings *settings,
		      struct op_log *log)
{
	struct opening *o;
	int r;

	if (!settings->spill_dir)
		return 0;
	o = new_opening(&d->sink, settings);
	r = o ? op_sink_thread_call(open_directory, free_opening, o) : -ENOMEM;
	if (r == -ETIMEDOUT)
		return op_fail(log, r, "spill_dir: the disk does not answer at %s",
			       settings->spill_dir);
	if (r == 0 && o->log.error)
		(void)op_fail(log, o->log.error, "%s", o->log.message);
	if (r == 0)
		r = o->err;
	if (r == 0)
		r = op_queue_use_spill(&d->queue, o->spill, &o->list);
	if (r == 0)
		o->spill = NULL;
	free_opening(o);
	return r;
}

static int start(struct op_delivery *d, const struct op_export_settings *settings,
		 struct op_log *log)
{
	int r;

	r = open_spill(d, settings, log);
	if (r < 0)
		return r;
	op_queue_ref(&d->queue);
	r = op_sink_thread_start(&d->thread, "otelprof-send", delivery_main, d);
	if (r < 0)
		op_queue_unref(&d->queue);
	if (r < 0)
		return op_fail(log, r, "exporter: cannot start its thread: %s",
			       strerror(-r));
	return 0;
}

int op_delivery_new(const struct op_sink *base, struct op_export_settings *settings,
		    const struct op_transport_ops *ops, void *transport,
		    struct op_sink **ret)
{
	const struct op_queue_limits limits = { settings->queue_bytes,
						settings->spill_bytes };
	_cleanup_free_ struct op_delivery *d = calloc(1, sizeof(*d));
	_cleanup_free_ char *target = strdup(settings->endpoint.target);
	int r;

	if (!d || !target)
		return -ENOMEM;
	d->sink = *base;
	d->sink.ops = &delivery_ops;
	d->sink.max_request = settings->max_request;
	d->ops = ops;
	d->transport = transport;
	d->timeout_ms = settings->timeout_ms;
	op_tries_init(&d->tries, settings);
	r = op_queue_init(&d->queue, &d->sink.account, base->notes, target, limits,
			  destroy);
	if (r < 0)
		return r;
	d->target = OP_TAKE_PTR(target);
	(void)op_shared_ref(base->shared);
	d->certs = settings->certs;
	r = start(d, settings, base->log);
	if (r < 0) {
		/* The caller keeps these. */
		d->transport = NULL;
		d->certs = (struct op_certs){ 0 };
		op_queue_end(&d->queue);
		op_queue_unref(&OP_TAKE_PTR(d)->queue);
		return r;
	}
	settings->certs = (struct op_certs){ 0 };
	*ret = &OP_TAKE_PTR(d)->sink;
	return 0;
}
