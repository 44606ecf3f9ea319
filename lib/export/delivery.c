/* SPDX-License-Identifier: Apache-2.0 */
#include "export/delivery.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/queue.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "base/io.h"
#include "base/macros.h"
#include "export/reply.h"
#include "export/retry.h"

enum {
	NS_PER_MS = 1000000,
	NS_PER_S = 1000000000,
	WORDS_BYTES = 512,
};

struct entry {
	TAILQ_ENTRY(entry) link;
	struct op_request *request;
	uint64_t first_try_ns; /* 0: not tried yet */
	bool sending;	       /* on the wire: not to be dropped */
};

struct op_delivery {
	struct op_sink sink;
	const struct op_transport_ops *ops;
	void *transport;
	char *target;
	uint32_t timeout_ms;
	uint64_t retry_elapsed_ns;
	uint64_t queue_bytes;
	pthread_t thread;
	bool forked;
	bool abandoned; /* the thread is gone; the owner's thread only */

	pthread_mutex_t lock; /* of all below; taken before the ledger's and the notes' */
	pthread_cond_t wake;  /* something to send, or stop */
	pthread_cond_t idle;  /* the queue became empty */
	TAILQ_HEAD(, entry) queue;
	uint64_t bytes; /* of the requests in the queue */
	struct op_backoff backoff;
	uint64_t not_before_ns; /* no try before this time */
	bool stop;
	bool failing;		 /* said so, and not delivered since */
	bool queue_full;	 /* the same */
	char words[WORDS_BYTES]; /* last complaint of the server, not to be repeated */
};

static void settle_entry(struct op_delivery *d, struct entry *e, int fate)
{
	TAILQ_REMOVE(&d->queue, e, link);
	d->bytes -= e->request->len;
	op_request_settle(d->sink.ledger, e->request, fate);
	free(e);
	if (TAILQ_EMPTY(&d->queue))
		(void)pthread_cond_broadcast(&d->idle);
}

/* Say it once: the same words again only at debug level. */
static void complain(struct op_delivery *d, const char *what, int status,
		     const struct op_transport_result *result, const char *hint)
{
	bool known = !strcmp(d->words, result->message) && d->words[0];

	op_notes_add(d->sink.notes, known ? OP_LOG_DEBUG : OP_LOG_WARNING,
		     "export: %s: %s: %s: %s%s%s", d->target, what,
		     op_retry_status_name(status), result->message, hint ? "; " : "",
		     hint ? hint : "");
	(void)strlcpy(d->words, result->message, sizeof(d->words));
}

/* It answered: the next request needs no patience. */
static void note_answer(struct op_delivery *d)
{
	if (d->failing)
		op_notes_add(d->sink.notes, OP_LOG_INFO, "export: %s: answers again",
			     d->target);
	d->failing = false;
	d->queue_full = false;
	d->not_before_ns = 0;
	op_backoff_reset(&d->backoff);
}

static void delivered(struct op_delivery *d, struct entry *e,
		      const struct op_transport_result *result)
{
	int fate = OP_FATE_EXPORTED;
	uint64_t profiles;

	note_answer(d);
	if (result->rejected || result->message[0]) {
		op_notes_add(
			d->sink.notes,
			strcmp(d->words, result->message) ? OP_LOG_WARNING : OP_LOG_DEBUG,
			"export: %s: took the request without %llu of its profiles: %s",
			d->target, (unsigned long long)result->rejected, result->message);
		(void)strlcpy(d->words, result->message, sizeof(d->words));
	} else {
		d->words[0] = 0;
	}
	if (result->rejected) {
		op_ledger_rejected(d->sink.ledger, result->rejected);
		profiles = op_reply_count_profiles(e->request->bytes, e->request->len);
		if (profiles && result->rejected >= profiles)
			fate = OTELPROF_DROP_REFUSED;
	}
	settle_entry(d, e, fate);
}

static void refused(struct op_delivery *d, struct entry *e,
		    const struct op_transport_result *result)
{
	note_answer(d);
	complain(d, "refused a request for good", result->grpc_status, result,
		 op_retry_hint(result->grpc_status, result->message));
	settle_entry(d, e, OTELPROF_DROP_REFUSED);
}

static void try_later(struct op_delivery *d, struct entry *e,
		      const struct op_transport_result *result)
{
	uint64_t now = op_clock_monotonic_ns();
	uint64_t give_up = e->first_try_ns + d->retry_elapsed_ns;
	uint64_t wait = op_backoff_next(&d->backoff, result->retry_delay_ms) * NS_PER_MS;

	op_notes_add(d->sink.notes, d->failing ? OP_LOG_DEBUG : OP_LOG_WARNING,
		     "export: %s: %s: %s; trying again", d->target,
		     op_retry_status_name(result->grpc_status), result->message);
	d->failing = true;
	d->not_before_ns = now + wait;
	/* One last try at the end, unless the server wants more time than there is. */
	if (now < give_up && d->not_before_ns > give_up && result->retry_delay_ms < 0)
		d->not_before_ns = give_up;
	else if (d->not_before_ns > give_up) {
		op_notes_add(d->sink.notes, OP_LOG_WARNING,
			     "export: %s: gave a request up after %llu ms", d->target,
			     (unsigned long long)((now - e->first_try_ns) / NS_PER_MS));
		settle_entry(d, e, OTELPROF_DROP_GIVEN_UP);
	}
}

/* Send the first of the queue. Called and returns with the lock held; not while sending. */
static void send_first(struct op_delivery *d)
{
	struct entry *e = TAILQ_FIRST(&d->queue);
	struct op_transport_result result = { .retry_delay_ms = -1 };
	int err;

	e->sending = true;
	if (!e->first_try_ns)
		e->first_try_ns = op_clock_monotonic_ns();
	(void)pthread_mutex_unlock(&d->lock);
	err = d->ops->send(d->transport, e->request->bytes, e->request->len,
			   d->timeout_ms, &result);
	(void)pthread_mutex_lock(&d->lock);
	e->sending = false;
	if (err < 0) {
		/* Nothing was sent (no memory): as if the network had failed. */
		result.grpc_status = OP_GRPC_UNAVAILABLE;
		(void)strlcpy(result.message, strerror(-err), sizeof(result.message));
	}
	if (result.grpc_status == OP_GRPC_OK)
		delivered(d, e, &result);
	else if (d->stop)
		return; /* cut short by us: says nothing of the server */
	else if (op_retry_allowed(result.grpc_status, result.retry_delay_ms))
		try_later(d, e, &result);
	else
		refused(d, e, &result);
}

static int wait_until(pthread_cond_t *cond, pthread_mutex_t *lock, uint64_t deadline_ns)
{
	struct timespec ts = {
		.tv_sec = (time_t)(deadline_ns / NS_PER_S),
		.tv_nsec = (long)(deadline_ns % NS_PER_S),
	};

	if (deadline_ns == UINT64_MAX)
		return pthread_cond_wait(cond, lock);
	return pthread_cond_timedwait(cond, lock, &ts);
}

static void *delivery_main(void *arg)
{
	struct op_delivery *d = arg;

	(void)pthread_mutex_lock(&d->lock);
	while (!d->stop) {
		if (TAILQ_EMPTY(&d->queue))
			(void)wait_until(&d->wake, &d->lock, UINT64_MAX);
		else if (op_clock_monotonic_ns() < d->not_before_ns)
			(void)wait_until(&d->wake, &d->lock, d->not_before_ns);
		else
			send_first(d);
	}
	(void)pthread_mutex_unlock(&d->lock);
	return NULL;
}

/* Drop the oldest until @len more bytes fit. False where they never will. */
static bool make_room(struct op_delivery *d, uint64_t len)
{
	struct entry *e = TAILQ_FIRST(&d->queue);
	struct entry *next;

	for (; e && d->bytes + len > d->queue_bytes; e = next) {
		next = TAILQ_NEXT(e, link);
		if (e->sending)
			continue;
		settle_entry(d, e, OTELPROF_DROP_QUEUE);
		if (!d->queue_full)
			op_notes_add(
				d->sink.notes, OP_LOG_WARNING,
				"export: %s: the queue is full (%llu bytes): dropping "
				"the oldest requests",
				d->target, (unsigned long long)d->queue_bytes);
		d->queue_full = true;
	}
	return d->bytes + len <= d->queue_bytes;
}

static void delivery_submit(struct op_sink *s, struct op_request *r)
{
	struct op_delivery *d = op_container_of(s, struct op_delivery, sink);
	struct entry *e;

	if (d->abandoned) {
		op_request_settle(s->ledger, r, OTELPROF_DROP_GIVEN_UP);
		return;
	}
	e = calloc(1, sizeof(*e));
	if (!e) {
		op_request_settle(s->ledger, r, OTELPROF_DROP_MEMORY);
		return;
	}
	(void)pthread_mutex_lock(&d->lock);
	/* Where it can never fit, the others are not sacrificed for it. */
	if (r->len > d->queue_bytes || !make_room(d, r->len)) {
		op_request_settle(s->ledger, r, OTELPROF_DROP_QUEUE);
		free(e);
	} else {
		e->request = r;
		TAILQ_INSERT_TAIL(&d->queue, e, link);
		d->bytes += r->len;
		(void)pthread_cond_signal(&d->wake);
	}
	(void)pthread_mutex_unlock(&d->lock);
}

static int delivery_flush(struct op_sink *s, uint64_t deadline_ns)
{
	struct op_delivery *d = op_container_of(s, struct op_delivery, sink);
	int err = 0;

	(void)pthread_mutex_lock(&d->lock);
	while (!TAILQ_EMPTY(&d->queue) && err != ETIMEDOUT)
		err = wait_until(&d->idle, &d->lock, deadline_ns);
	err = TAILQ_EMPTY(&d->queue) ? 0 : -ETIMEDOUT;
	(void)pthread_mutex_unlock(&d->lock);
	return err;
}

static void delivery_forked(struct op_sink *s)
{
	op_container_of(s, struct op_delivery, sink)->forked = true;
}

/* A send that is cut short may have arrived; nobody knows, so it counts as given up. */
static void delivery_abandon(struct op_sink *s)
{
	struct op_delivery *d = op_container_of(s, struct op_delivery, sink);
	struct entry *e;

	if (d->abandoned)
		return;
	d->abandoned = true;
	(void)pthread_mutex_lock(&d->lock);
	d->stop = true;
	(void)pthread_cond_signal(&d->wake);
	(void)pthread_mutex_unlock(&d->lock);
	d->ops->cancel(d->transport);
	(void)pthread_join(d->thread, NULL);
	while ((e = TAILQ_FIRST(&d->queue)))
		settle_entry(d, e, OTELPROF_DROP_GIVEN_UP);
}

static void delivery_free(struct op_sink *s)
{
	struct op_delivery *d = op_container_of(s, struct op_delivery, sink);

	/*
	 * In the child of a fork there is no thread to join, the lock may be held for ever,
	 * the queue half changed and grpc unusable: all of it is left where it is.
	 */
	if (d->forked)
		return;
	delivery_abandon(s);
	d->ops->close(d->transport);
	(void)pthread_cond_destroy(&d->idle);
	(void)pthread_cond_destroy(&d->wake);
	(void)pthread_mutex_destroy(&d->lock);
	free(d->target);
	free(d);
}

static const struct op_sink_ops delivery_ops = {
	.submit = delivery_submit,
	.flush = delivery_flush,
	.abandon = delivery_abandon,
	.forked = delivery_forked,
	.free = delivery_free,
};

static int init_locks(struct op_delivery *d)
{
	pthread_condattr_t attr;
	int err;

	err = pthread_condattr_init(&attr);
	if (err)
		return -err;
	(void)pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
	/* On Linux none of these takes a resource, so none fails and none is undone. */
	err = pthread_mutex_init(&d->lock, NULL) ?: pthread_cond_init(&d->wake, &attr);
	err = err ?: pthread_cond_init(&d->idle, &attr);
	(void)pthread_condattr_destroy(&attr);
	return -err;
}

/* The host's signals are the host's: the thread blocks all of them. */
static int start_thread(struct op_delivery *d)
{
	sigset_t all;
	sigset_t old;
	int err;

	(void)sigfillset(&all);
	(void)pthread_sigmask(SIG_SETMASK, &all, &old);
	err = pthread_create(&d->thread, NULL, delivery_main, d);
	(void)pthread_sigmask(SIG_SETMASK, &old, NULL);
	if (err)
		return -err;
	(void)pthread_setname_np(d->thread, "otelprof-send");
	return 0;
}

int op_delivery_new(const struct op_sink *base, const struct op_settings *settings,
		    const struct op_transport_ops *ops, void *transport,
		    struct op_sink **ret)
{
	_cleanup_free_ struct op_delivery *d = calloc(1, sizeof(*d));
	_cleanup_free_ char *target = strdup(settings->endpoint.target);
	int err;

	if (!d || !target)
		return -ENOMEM;
	d->sink = *base;
	d->sink.ops = &delivery_ops;
	d->sink.max_request = settings->max_request;
	d->ops = ops;
	d->transport = transport;
	d->target = target;
	d->timeout_ms = settings->timeout_ms;
	d->retry_elapsed_ns = (uint64_t)settings->retry_elapsed_ms * NS_PER_MS;
	d->queue_bytes = settings->queue_bytes;
	d->backoff.initial_ms = settings->retry_initial_ms;
	d->backoff.max_ms = settings->retry_max_ms;
	d->backoff.random = op_hash_seed() ^ op_clock_monotonic_ns();
	TAILQ_INIT(&d->queue);
	err = init_locks(d);
	if (err < 0)
		return err;
	err = start_thread(d);
	if (err < 0)
		return op_fail(base->log, err,
			       "gRPC exporter: cannot start its thread: %s",
			       strerror(-err));
	(void)OP_TAKE_PTR(target);
	*ret = &OP_TAKE_PTR(d)->sink;
	return 0;
}
