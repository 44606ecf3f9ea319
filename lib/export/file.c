/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The file exporter: a thread writes the requests of a queue (export/queue/queue.h), so
 * that neither a disk nor the reader of a pipe blocks the calls of the host. A sample
 * counts as exported when its file has the final name, or in a stream when it was
 * written.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/cleanup.h"
#include "base/io.h"
#include "base/macros.h"
#include "base/vec.h"
#include "export/queue/queue.h"
#include "export/recording.h"
#include "export/sink/thread.h"
#include "export/sinks.h"

enum {
	/* Requests that wait to be written. */
	QUEUE_BYTES = 16 << 20,
	/* The wait for space in the queue, and for a file in a flush without a timeout. A
	 * healthy disk is never this slow, and the owner can afford to wait this long. */
	WAIT_MS = 200,
};

struct op_file {
	struct op_sink sink;
	char *target; /* for messages */
	/* used by the thread alone while it runs */
	struct op_recording rec;
	pthread_t thread;
	bool forked;
	/* used by the owner only */
	bool ended;    /* the queue is closed, and the thread ends */
	bool finished; /* it has ended, or was left behind */

	struct op_queue queue;
	/* Guarded by the queue's lock. */
	OP_VEC(struct op_request *)
	waiting;	 /* taken, but in no file with its final name */
	bool completing; /* a flush is requested or in progress */
	int error;	 /* of the last flush, until it is returned */
	/* This flush failed. A format still has all of @waiting, for the next one. */
	bool unwritten;
	bool given_up; /* nothing more is written */
	bool late;     /* a wait timed out: do not wait until the thread has caught up */
	bool stop;
	bool busy; /* the thread is changing something */
};

static struct op_file *file_of(struct op_sink *s)
{
	return op_container_of(s, struct op_file, sink);
}

/* Returns the number of samples. */
static uint64_t decide_waiting(struct op_file *f, int fate)
{
	struct op_request **r;
	uint64_t samples = 0;

	op_vec_foreach(r, &f->waiting) {
		samples += (*r)->samples;
		op_request_decide(&f->sink.account, *r, fate);
	}
	f->waiting.len = 0;
	return samples;
}

/* Write the first request of the queue. Called and returns with the lock held; it is
 * released meanwhile. */
static void write_first(struct op_file *f)
{
	struct op_queue *q = &f->queue;
	struct op_queue_entry *e = TAILQ_FIRST(&q->entries);
	struct op_queue_bytes b = { 0 };
	bool lost = false;
	int r;

	if (f->given_up || op_vec_reserve(&f->waiting, 1)) {
		op_queue_settle(q, e, f->given_up ? OP_DROP_EXPORTER : OP_DROP_MEMORY);
		return;
	}
	(void)op_queue_send(q, e, &b); /* the bytes are in memory */
	(void)pthread_mutex_unlock(&q->lock);
	r = op_recording_take(&f->rec, b.bytes, b.len, &lost);
	(void)pthread_mutex_lock(&q->lock);
	if (!op_queue_sent(q, e, &b))
		return;
	if (lost)
		(void)decide_waiting(f, OP_DROP_EXPORTER);
	if (r < 0) {
		op_notes_add(f->sink.notes, OP_LOG_WARNING,
			     "export: %s: cannot write a request: %s; dropping it",
			     f->target, strerror(-r));
		op_queue_settle(q, e, OP_DROP_EXPORTER);
	} else if (op_recording_is_direct(&f->rec)) {
		op_queue_settle(q, e, OP_FATE_EXPORTED);
	} else {
		f->waiting.data[f->waiting.len++] = op_queue_take(q, e);
	}
}

/* The same for a requested flush. */
static void complete(struct op_file *f)
{
	int r;

	if (!f->waiting.len || f->unwritten) {
		f->completing = false;
		return;
	}
	(void)pthread_mutex_unlock(&f->queue.lock);
	r = op_recording_complete(&f->rec);
	(void)pthread_mutex_lock(&f->queue.lock);
	if (f->queue.ended)
		return;
	f->completing = false;
	f->unwritten = r < 0 && op_recording_keeps(&f->rec);
	f->given_up = r < 0 && f->rec.out.stream;
	if (r < 0) {
		f->error = r;
		op_notes_add(f->sink.notes, OP_LOG_ERROR,
			     "export: %s: cannot complete it: %s; its new samples %s "
			     "and what was there before stays",
			     f->target, strerror(-r),
			     f->unwritten ? "wait for the next flush" : "are dropped");
	}
	if (!f->unwritten)
		(void)decide_waiting(f, r < 0 ? OP_DROP_EXPORTER : OP_FATE_EXPORTED);
}

/* The child of a fork sees whether the thread was changing something. */
static void set_busy(struct op_file *f, bool busy)
{
	__atomic_store_n(&f->busy, busy, __ATOMIC_SEQ_CST);
}

/* Wait for a request, a flush or the end. */
static void rest(struct op_file *f)
{
	f->late = false;
	f->queue.full = false;
	set_busy(f, false);
	(void)op_sink_thread_wait(&f->queue.wake, &f->queue.lock, UINT64_MAX);
	set_busy(f, true);
}

static void *file_main(void *arg)
{
	struct op_file *f = arg;
	struct op_queue *q = &f->queue;
	uint64_t counted_ns = 0;

	(void)pthread_mutex_lock(&q->lock);
	set_busy(f, true);
	while (!q->ended) {
		uint64_t used_ns;

		if (!TAILQ_EMPTY(&q->entries)) {
			write_first(f);
		} else if (f->completing) {
			complete(f);
		} else if (f->stop) {
			break;
		} else {
			rest(f);
			continue;
		}
		(void)pthread_cond_broadcast(&q->idle);
		used_ns = op_clock_thread_ns();
		op_ledger_work(f->sink.ledger, used_ns - counted_ns);
		counted_ns = used_ns;
	}
	(void)pthread_mutex_unlock(&q->lock);
	op_queue_unref(q);
	return NULL;
}

static uint64_t soon_ns(void)
{
	return op_clock_monotonic_ns() + (uint64_t)WAIT_MS * OP_NS_PER_MS;
}

/* A burst may exceed the queue, so wait for a disk that works. */
static void wait_for_room(struct op_file *f, uint64_t len)
{
	struct op_queue *q = &f->queue;
	uint64_t until = soon_ns();

	while (!f->late && q->memory_bytes + len > QUEUE_BYTES)
		f->late = op_sink_thread_wait(&q->idle, &q->lock, until) == ETIMEDOUT &&
			  q->memory_bytes + len > QUEUE_BYTES;
}

static void file_submit(struct op_sink *s, struct op_request *r)
{
	struct op_file *f = file_of(s);
	bool given_up;

	if (f->ended) {
		op_request_settle(&s->account, r, OP_DROP_GIVEN_UP);
		return;
	}
	(void)pthread_mutex_lock(&f->queue.lock);
	wait_for_room(f, r->len);
	given_up = f->given_up;
	(void)pthread_mutex_unlock(&f->queue.lock);
	if (given_up)
		op_request_settle(&s->account, r, OP_DROP_EXPORTER);
	else
		op_queue_add(&f->queue, r);
}

static bool has_work(const struct op_file *f)
{
	return !TAILQ_EMPTY(&f->queue.entries) || f->completing ||
	       (f->waiting.len && !f->unwritten);
}

/* A flush calls this again and again while other exporters have something queued. Then
 * this one is done. */
static int file_flush(struct op_sink *s, uint64_t deadline_ns)
{
	struct op_file *f = file_of(s);
	struct op_queue *q = &f->queue;
	int r = 0;

	if (f->ended)
		return 0;
	(void)pthread_mutex_lock(&q->lock);
	if (!f->late)
		deadline_ns = OP_MAX(deadline_ns, soon_ns());
	while (has_work(f) && r != ETIMEDOUT) {
		f->completing = true;
		(void)pthread_cond_signal(&q->wake);
		r = op_sink_thread_wait(&q->idle, &q->lock, deadline_ns);
	}
	f->late |= has_work(f);
	r = has_work(f) ? -ETIMEDOUT : 0;
	r = f->error ?: r;
	f->error = 0;
	(void)pthread_mutex_unlock(&q->lock);
	return r;
}

static void file_hurry(struct op_sink *s)
{
	struct op_file *f = file_of(s);

	(void)pthread_mutex_lock(&f->queue.lock);
	f->unwritten = false;
	(void)pthread_mutex_unlock(&f->queue.lock);
}

/* Nobody waits any longer for the thread, which is stuck. If it returns, it ends. */
static void leave_behind(struct op_file *f)
{
	struct op_queue_entry *e;
	uint64_t samples;

	(void)pthread_mutex_lock(&f->queue.lock);
	samples = decide_waiting(f, OP_DROP_GIVEN_UP);
	TAILQ_FOREACH(e, &f->queue.entries, link)
		samples += e->item.request->samples;
	f->queue.ended = true;
	(void)pthread_mutex_unlock(&f->queue.lock);
	op_notes_add(
		f->sink.notes, OP_LOG_WARNING,
		"export: %s: its disk or its reader did not take the data in time, %llu "
		"samples are dropped, and the writing thread is left behind",
		f->target, (unsigned long long)samples);
}

/* Let the thread write what is queued, and end. */
static void end(struct op_file *f)
{
	struct op_queue *q = &f->queue;

	if (f->ended)
		return;
	f->ended = true;
	(void)pthread_mutex_lock(&q->lock);
	f->unwritten = false;
	f->completing = true;
	f->stop = true;
	(void)pthread_cond_signal(&q->wake);
	(void)pthread_mutex_unlock(&q->lock);
}

static void file_finish(struct op_sink *s)
{
	struct op_file *f = file_of(s);

	if (!f->ended || f->finished)
		return;
	f->finished = true;
	if (op_sink_thread_end(f->thread) < 0)
		leave_behind(f);
	else
		(void)decide_waiting(f, OP_DROP_EXPORTER);
	op_queue_end(&f->queue);
}

/* A flush failed or timed out, and it was the last one. */
static void file_abandon(struct op_sink *s)
{
	struct op_file *f = file_of(s);
	bool under_way;

	if (f->ended)
		return;
	(void)pthread_mutex_lock(&f->queue.lock);
	under_way = f->completing;
	if (f->unwritten) {
		f->given_up = true;
		(void)decide_waiting(f, OP_DROP_EXPORTER);
	}
	(void)pthread_mutex_unlock(&f->queue.lock);
	if (under_way)
		end(f);
}

static void file_forked(struct op_sink *s)
{
	file_of(s)->forked = true;
}

/*
 * In the child of a fork there is no thread, and the lock may be held for ever.
 * Everything that the thread may have been changing is left alone, and so are the
 * requests, which belong to the ledger. A stream is closed, so that its reader sees the
 * end of file without the child.
 */
static void forget(struct op_file *f)
{
	bool busy = __atomic_load_n(&f->busy, __ATOMIC_SEQ_CST);

	if (!busy) {
		op_recording_forget(&f->rec);
		op_vec_clear(&f->waiting);
	} else if (f->rec.out.stream) {
		op_output_forget(&f->rec.out);
	}
	free(f->target);
	free(f);
}

static void file_free(struct op_sink *s)
{
	struct op_file *f = file_of(s);

	if (f->forked) {
		forget(f);
		return;
	}
	end(f);
	file_finish(s);
	op_queue_unref(&f->queue);
}

/* Called by the last user: the owner, or a thread that it did not wait for. */
static void destroy(struct op_queue *q)
{
	struct op_file *f = op_container_of(q, struct op_file, queue);

	op_queue_deinit(q);
	op_recording_deinit(&f->rec);
	(void)op_shared_unref(f->sink.shared);
	op_vec_clear(&f->waiting);
	free(f->target);
	free(f);
}

static const struct op_sink_ops file_ops = {
	.submit = file_submit,
	.hurry = file_hurry,
	.flush = file_flush,
	.abandon = file_abandon,
	.finish = file_finish,
	.forked = file_forked,
	.free = file_free,
};

/* Make the exporter for @rec, which it owns on success. */
static int start(const struct op_sink *base, const struct op_recording *rec,
		 struct op_sink **ret)
{
	static const struct op_queue_limits limits = { .memory_bytes = QUEUE_BYTES };
	_cleanup_free_ struct op_file *f = calloc(1, sizeof(*f));
	_cleanup_free_ char *target = NULL;
	int r;

	if (!f || asprintf(&target, "file %s", rec->out.path) < 0)
		return -ENOMEM;
	f->sink = *base;
	f->sink.ops = &file_ops;
	/* Each request of the file can be sent to a Collector as it is. */
	f->sink.max_request = OP_REQUEST_BYTES_DEFAULT;
	f->rec = *rec;
	f->target = target;
	r = op_queue_init(&f->queue, &f->sink.account, base->notes, target, limits,
			  destroy);
	if (r < 0)
		return r;
	op_queue_ref(&f->queue); /* of the thread */
	r = op_sink_thread_start(&f->thread, "otelprof-file", file_main, f);
	if (r < 0) {
		op_queue_deinit(&f->queue);
		return op_fail(base->log, r, "exporter: cannot start its thread: %s",
			       strerror(-r));
	}
	(void)op_shared_ref(base->shared);
	(void)OP_TAKE_PTR(target);
	*ret = &OP_TAKE_PTR(f)->sink;
	return 0;
}

int op_sink_new_file(const struct op_sink *base,
		     const struct otelprof_file_config *config, struct op_sink **ret)
{
	const struct op_format *format = op_format_get(config->format);
	struct op_recording rec;
	int r;

	if (!config->path || !*config->path)
		return op_fail(base->log, -EINVAL, "file exporter: path is empty");
	if (!format && config->format != OTELPROF_FORMAT_OTLP)
		return op_fail(base->log, -EINVAL, "file exporter: there is no format %u",
			       config->format);
	r = op_recording_open(&rec, config->path, format, base->notes, base->log);
	if (r < 0)
		return r;
	r = start(base, &rec, ret);
	if (r < 0)
		op_recording_deinit(&rec);
	return r;
}
