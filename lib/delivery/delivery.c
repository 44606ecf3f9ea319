/* SPDX-License-Identifier: Apache-2.0 */
/* The delivery thread: sends the first request of its queue, and retries it with back-
 * off. */
#include "delivery/delivery.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/hash.h"
#include "base/io.h"
#include "base/macros.h"
#include "delivery/queue.h"
#include "export/thread.h"
#include "transport/reply.h"
#include "transport/retry.h"

enum {
	WORDS_BYTES = 512,
	/* Different complaints logged in a row; further ones are logged at
	 * debug level. */
	COMPLAINTS_MAX = 5,
};

struct op_delivery {
	struct op_sink sink;
	const struct op_transport_ops *ops;
	void *transport;
	char *target;
	struct op_certs certs; /* used by the sending thread once it runs */
	bool certs_due;	       /* the transport could not take them */
	uint32_t timeout_ms;
	uint64_t retry_elapsed_ns; /* 0: no limit */
	pthread_t thread;
	bool forked;
	bool abandoned; /* the thread has ended; used by the owner's thread only */

	struct op_queue queue;
	/* Guarded by the queue's lock. */
	struct op_backoff backoff;
	uint64_t not_before_ns; /* no try before this time */
	/* the server asked for the wait, so a flush does not shorten it */
	bool asked;
	bool stop;
	bool failing;		 /* failure was logged, and nothing delivered since */
	unsigned int complaints; /* complaints logged since the failure began */
	char words[WORDS_BYTES]; /* the server's last complaint, which is not repeated */
};

/* Log a complaint; the same words again only at debug level. */
static void complain(struct op_delivery *d, const char *what,
		     const struct op_transport_result *result, const char *hint)
{
	bool known = !strcmp(d->words, result->message) && d->words[0];

	op_notes_add(d->sink.notes, known ? OP_LOG_DEBUG : OP_LOG_WARNING,
		     "export: %s: %s: %s: %s%s%s", d->target, what,
		     op_retry_result_name(result), result->message, hint ? "; " : "",
		     hint ? hint : "");
	(void)strlcpy(d->words, result->message, sizeof(d->words));
}

/* The server answered: forget the back-off. */
static void note_answer(struct op_delivery *d)
{
	if (d->failing)
		op_notes_add(d->sink.notes, OP_LOG_INFO,
			     "export: %s: the server answers again", d->target);
	d->failing = false;
	d->complaints = 0;
	d->queue.full = false;
	d->not_before_ns = 0;
	op_backoff_reset(&d->backoff);
}

/* The request was delivered; @profiles: how many it has. */
static void delivered(struct op_delivery *d, struct op_queue_entry *e,
		      const struct op_transport_result *result, uint64_t profiles)
{
	int fate = OP_FATE_EXPORTED;

	note_answer(d);
	if (result->rejected || result->message[0]) {
		op_notes_add(
			d->sink.notes,
			strcmp(d->words, result->message) ? OP_LOG_WARNING : OP_LOG_DEBUG,
			"export: %s: the server accepted a request, but not %llu of its profiles: %s",
			d->target, (unsigned long long)result->rejected, result->message);
		(void)strlcpy(d->words, result->message, sizeof(d->words));
	} else {
		d->words[0] = 0;
	}
	if (result->rejected) {
		op_ledger_rejected(d->sink.ledger, result->rejected);
		if (profiles && result->rejected >= profiles)
			fate = OP_DROP_REFUSED;
	}
	op_queue_settle(&d->queue, e, fate);
}

static void refused(struct op_delivery *d, struct op_queue_entry *e,
		    const struct op_transport_result *result)
{
	note_answer(d);
	complain(d, "refused a request for good", result, op_retry_hint(result));
	op_queue_settle(&d->queue, e, OP_DROP_REFUSED);
}

/* Log the reason of a failed try once, and again when the reason changes. */
static void complain_of_try(struct op_delivery *d,
			    const struct op_transport_result *result)
{
	const char *hint = op_retry_hint(result);
	bool fresh = !d->failing || (strcmp(d->words, result->message) != 0 &&
				     d->complaints < COMPLAINTS_MAX);

	op_notes_add(d->sink.notes, fresh ? OP_LOG_WARNING : OP_LOG_DEBUG,
		     "export: %s: %s: %s; %s%strying again", d->target,
		     op_retry_result_name(result), result->message, hint ? hint : "",
		     hint ? "; " : "");
	d->complaints += fresh;
	(void)strlcpy(d->words, result->message, sizeof(d->words));
}

static void try_later(struct op_delivery *d, struct op_queue_entry *e,
		      const struct op_transport_result *result)
{
	uint64_t now = op_clock_monotonic_ns();
	uint64_t wait = op_backoff_next(&d->backoff, result->retry_delay_ms) *
			OP_THREAD_NS_PER_MS;
	uint64_t give_up = UINT64_MAX;

	if (d->retry_elapsed_ns)
		give_up = e->first_try_ns + d->retry_elapsed_ns;
	complain_of_try(d, result);
	d->failing = true;
	d->not_before_ns = now + wait;
	d->asked = result->retry_delay_ms >= 0;
	/* Make one last try at the end, unless the server asked for more time than is
	 * left. */
	if (now < give_up && d->not_before_ns > give_up && result->retry_delay_ms < 0)
		d->not_before_ns = give_up;
	else if (d->not_before_ns > give_up) {
		op_notes_add(d->sink.notes, OP_LOG_WARNING,
			     "export: %s: a request was given up after %llu ms",
			     d->target,
			     (unsigned long long)((now - e->first_try_ns) /
						  OP_THREAD_NS_PER_MS));
		op_queue_settle(&d->queue, e, OP_DROP_GIVEN_UP);
	}
}

/* The server does not take the compression. It is sent another one from now on, if it took
 * that: so this is said once. */
static void note_recompressed(struct op_delivery *d,
			      const struct op_transport_result *result)
{
	static const char *const words[] = {
		[OP_COMPRESSION_NONE] = "without compression",
		[OP_COMPRESSION_GZIP] = "with gzip",
	};

	if (!result->recompressed)
		return;
	op_ledger_recompressed(d->sink.ledger, result->recompressed);
	if (result->grpc_status == OP_GRPC_OK)
		op_notes_add(d->sink.notes, OP_LOG_WARNING,
			     "export: %s: the server does not take the compression: "
			     "requests are sent %s from now on",
			     d->target, words[result->compression]);
}

static void judge(struct op_delivery *d, struct op_queue_entry *e,
		  const struct op_transport_result *result, uint64_t profiles)
{
	if (result->grpc_status == OP_GRPC_OK)
		delivered(d, e, result, profiles);
	else if (d->stop)
		return; /* we interrupted the call, which says nothing about the server */
	else if (op_retry_allowed(result->grpc_status, result->retry_delay_ms))
		try_later(d, e, result);
	else
		refused(d, e, result);
}

/* The file of a request cannot be read back: the request is lost. */
static void lost(struct op_delivery *d, struct op_queue_entry *e, int err)
{
	struct op_transport_result result = {
		.grpc_status = OP_GRPC_UNAVAILABLE,
		.retry_delay_ms = -1,
	};
	struct op_spill *spill = op_spool_spill(d->queue.spool);

	if (err == -ENOMEM || err == -EMFILE || err == -ENFILE) {
		(void)strlcpy(result.message, strerror(-err), sizeof(result.message));
		try_later(d, e, &result);
		return;
	}
	op_ledger_spill_error(d->sink.ledger, 1);
	op_notes_add(d->sink.notes, OP_LOG_WARNING,
		     "export: %s: %s/%s: %s; the %llu samples in it are lost", d->target,
		     op_spill_path(spill), e->item.name,
		     err == -EBADMSG ? "is damaged, its name now ends with .bad"
				     : strerror(-err),
		     (unsigned long long)e->item.request->samples);
	op_queue_settle(&d->queue, e, OP_DROP_SPILL);
}

/* Load replaced certificates, for future connections; before the next send again, if the
 * transport had no memory for them. */
static void refresh_certs(struct op_delivery *d)
{
	struct op_transport_tls tls;
	int err;

	if (op_certs_refresh(&d->certs, d->sink.notes))
		d->certs_due = true;
	if (!d->certs_due)
		return;
	tls = op_certs_get(&d->certs);
	err = d->ops->set_tls(d->transport, &tls);
	d->certs_due = err < 0;
	if (err < 0)
		op_notes_add(d->sink.notes, OP_LOG_WARNING,
			     "export: %s: the new certificates cannot be used yet: %s",
			     d->target, strerror(-err));
}

/* Send the first request of the queue. Called and returns with the lock held; it is
 * released during the call. */
static void send_first(struct op_delivery *d)
{
	struct op_queue_entry *e = TAILQ_FIRST(&d->queue.entries);
	struct op_transport_result result = { .retry_delay_ms = -1 };
	struct op_queue_bytes b = { 0 };
	uint64_t profiles = 0;
	int err;

	if (!e->first_try_ns)
		e->first_try_ns = op_clock_monotonic_ns();
	err = op_queue_send(&d->queue, e, &b);
	if (err < 0) {
		if (op_queue_sent(&d->queue, e, &b))
			lost(d, e, err);
		return;
	}
	(void)pthread_mutex_unlock(&d->queue.lock);
	refresh_certs(d);
	err = d->ops->send(d->transport, b.bytes, b.len, d->timeout_ms, &result);
	if (result.rejected)
		profiles = op_reply_count_profiles(b.bytes, b.len);
	(void)pthread_mutex_lock(&d->queue.lock);
	if (!op_queue_sent(&d->queue, e, &b))
		return;
	if (err < 0) {
		/* Nothing was sent (no memory): treat it like a network failure. */
		result.grpc_status = OP_GRPC_UNAVAILABLE;
		(void)strlcpy(result.message, strerror(-err), sizeof(result.message));
	}
	note_recompressed(d, &result);
	judge(d, e, &result, profiles);
}

static void *delivery_main(void *arg)
{
	struct op_delivery *d = arg;
	struct op_queue *q = &d->queue;
	uint64_t counted_ns = 0;

	(void)pthread_mutex_lock(&q->lock);
	while (!d->stop) {
		if (TAILQ_EMPTY(&q->entries))
			(void)op_thread_wait(&q->wake, &q->lock, UINT64_MAX);
		else if (op_clock_monotonic_ns() < d->not_before_ns)
			(void)op_thread_wait(&q->wake, &q->lock, d->not_before_ns);
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
	int err = 0;

	(void)pthread_mutex_lock(&q->lock);
	while (!TAILQ_EMPTY(&q->entries) && err != ETIMEDOUT)
		err = op_thread_wait(&q->idle, &q->lock, deadline_ns);
	err = TAILQ_EMPTY(&q->entries) ? 0 : -ETIMEDOUT;
	(void)pthread_mutex_unlock(&q->lock);
	return err;
}

static void delivery_hurry(struct op_sink *s)
{
	struct op_delivery *d = op_container_of(s, struct op_delivery, sink);

	(void)pthread_mutex_lock(&d->queue.lock);
	if (!d->asked)
		d->not_before_ns = 0;
	(void)pthread_cond_signal(&d->queue.wake);
	(void)pthread_mutex_unlock(&d->queue.lock);
}

static void delivery_forked(struct op_sink *s)
{
	op_container_of(s, struct op_delivery, sink)->forked = true;
}

/* A request whose sending is interrupted may have arrived. Nobody knows, so it counts as
 * given up, or, if it has a file, it is sent again by the next run. */
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
	if (op_thread_end(d->thread) < 0)
		op_notes_add(d->sink.notes, OP_LOG_WARNING,
			     "export: %s: the sending thread does not come back from a "
			     "file or from its transport, and is left behind",
			     d->target);
	op_queue_end(&d->queue);
}

static void delivery_free(struct op_sink *s)
{
	struct op_delivery *d = op_container_of(s, struct op_delivery, sink);

	/*
	 * In the child of a fork there is no thread to join, the lock may be held for
	 * ever, the queue may be half changed and grpc is unusable: all of it is left as
	 * it is.
	 */
	if (d->forked) {
		op_queue_forked(&d->queue);
		return;
	}
	delivery_abandon(s);
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
	.forked = delivery_forked,
	.free = delivery_free,
};

/* Open the spill directory and take over what an earlier run left in it. */
static int open_spill(struct op_delivery *d, const struct op_settings *settings,
		      struct op_log *log)
{
	_cleanup_(op_spill_closep) struct op_spill *spill = NULL;
	struct op_spill_list list = { 0 };
	int err;

	if (!settings->spill_dir)
		return 0;
	err = op_spill_open(settings->spill_dir, settings->endpoint.id, log, &list,
			    &spill);
	if (!err)
		err = op_queue_use_spill(&d->queue, spill, &list);
	op_vec_clear(&list.files);
	if (err < 0)
		return err;
	(void)OP_TAKE_PTR(spill);
	return 0;
}

static int start(struct op_delivery *d, const struct op_settings *settings,
		 struct op_log *log)
{
	int err;

	err = open_spill(d, settings, log);
	if (err < 0)
		return err;
	op_queue_ref(&d->queue);
	err = op_thread_start(&d->thread, "otelprof-send", delivery_main, d);
	if (err < 0)
		op_queue_unref(&d->queue);
	if (err < 0)
		return op_fail(log, err, "exporter: cannot start its thread: %s",
			       strerror(-err));
	return 0;
}

int op_delivery_new(const struct op_sink *base, struct op_settings *settings,
		    const struct op_transport_ops *ops, void *transport,
		    struct op_sink **ret)
{
	const struct op_queue_limits limits = { settings->queue_bytes,
						settings->spill_bytes };
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
	d->timeout_ms = settings->timeout_ms;
	d->retry_elapsed_ns = (uint64_t)settings->retry_elapsed_ms * OP_THREAD_NS_PER_MS;
	d->backoff.initial_ms = settings->retry_initial_ms;
	d->backoff.max_ms = settings->retry_max_ms;
	d->backoff.random = op_hash_seed() ^ op_clock_monotonic_ns();
	err = op_queue_init(&d->queue, &d->sink.account, base->notes, target, limits,
			    destroy);
	if (err < 0)
		return err;
	d->target = OP_TAKE_PTR(target);
	(void)op_shared_ref(base->shared);
	d->certs = settings->certs;
	err = start(d, settings, base->log);
	if (err < 0) {
		/* These stay the caller's. */
		d->transport = NULL;
		d->certs = (struct op_certs){ 0 };
		op_queue_end(&d->queue);
		op_queue_unref(&OP_TAKE_PTR(d)->queue);
		return err;
	}
	settings->certs = (struct op_certs){ 0 };
	*ret = &OP_TAKE_PTR(d)->sink;
	return 0;
}
