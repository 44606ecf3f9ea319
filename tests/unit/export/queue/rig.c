/* SPDX-License-Identifier: Apache-2.0 */
#include "rig.h"

static int fake_send(void *transport, const void *request, size_t len,
		     uint32_t timeout_ms, struct op_transport_result *ret)
{
	struct fake *f = transport;
	size_t i;
	int fail;

	CHECK(!pthread_mutex_lock(&f->lock));
	i = OP_MIN(f->sends, (size_t)SENDS_MAX - 1);
	f->sends++;
	memcpy(f->bodies[i], request, OP_MIN(len, sizeof(f->bodies[i]) - 1));
	f->times_ns[i] = op_clock_monotonic_ns();
	CHECK(!pthread_sigmask(SIG_SETMASK, NULL, &f->mask));
	f->waiting = true;
	CHECK(!pthread_cond_broadcast(&f->changed));
	while (f->held && !f->cancelled)
		CHECK(!pthread_cond_wait(&f->changed, &f->lock));
	f->waiting = false;
	*ret = f->script[OP_MIN(i, f->script_len - 1)];
	if (f->cancelled)
		ret->grpc_status = OP_GRPC_CANCELLED;
	fail = f->fail;
	CHECK(!pthread_mutex_unlock(&f->lock));
	return fail;
}

static void fake_cancel(void *transport)
{
	struct fake *f = transport;

	CHECK(!pthread_mutex_lock(&f->lock));
	f->cancelled = true;
	CHECK(!pthread_cond_broadcast(&f->changed));
	CHECK(!pthread_mutex_unlock(&f->lock));
}

static void fake_close(void *transport)
{
	struct fake *f = transport;

	/* A thread that was left behind says so to one that waits for it. */
	__atomic_store_n(&f->closed, true, __ATOMIC_RELEASE);
}

static int fake_set_tls(void *transport, const struct op_transport_tls *tls)
{
	struct fake *f = transport;
	int r;

	CHECK(tls->ca_pem);
	CHECK(!pthread_mutex_lock(&f->lock));
	r = f->tls_sets++ < f->tls_fails ? -ENOMEM : 0;
	CHECK(!pthread_mutex_unlock(&f->lock));
	return r;
}

const struct op_transport_ops fake_ops = {
	.abi = OP_TRANSPORT_ABI,
	.set_tls = fake_set_tls,
	.send = fake_send,
	.cancel = fake_cancel,
	.close = fake_close,
};

void hold(struct fake *f, bool held)
{
	CHECK(!pthread_mutex_lock(&f->lock));
	f->held = held;
	CHECK(!pthread_cond_broadcast(&f->changed));
	CHECK(!pthread_mutex_unlock(&f->lock));
}

void wait_for_send(struct fake *f)
{
	CHECK(!pthread_mutex_lock(&f->lock));
	while (!f->waiting)
		CHECK(!pthread_cond_wait(&f->changed, &f->lock));
	CHECK(!pthread_mutex_unlock(&f->lock));
}

struct op_transport_result answer(int status, int64_t delay_ms)
{
	struct op_transport_result r = {
		.grpc_status = status,
		.retry_delay_ms = delay_ms,
	};

	if (status)
		(void)strcpy(r.message, "because");
	return r;
}

struct op_export_settings quick(void)
{
	return (struct op_export_settings){
		.endpoint = { .target = (char *)(uintptr_t) "host:1" },
		.timeout_ms = 1000,
		.retry_initial_ms = 5,
		.retry_max_ms = 10,
		.retry_elapsed_ms = 10000,
		.queue_bytes = 10,
		.max_request = 100,
	};
}

void rig_up(struct rig *g, const struct op_export_settings *wanted,
	    const struct op_transport_result *script, size_t len)
{
	struct op_export_settings settings = *wanted;

	memset(g, 0, sizeof(*g));
	CHECK(!pthread_mutex_init(&g->fake.lock, NULL));
	CHECK(!pthread_cond_init(&g->fake.changed, NULL));
	memcpy(g->fake.script, script, len * sizeof(*script));
	g->fake.script_len = len;
	CHECK_OK(op_ledger_init(&g->ledger));
	CHECK_OK(op_notes_init(&g->notes, OP_LOG_INFO));
	g->base.ledger = &g->ledger;
	g->base.account.ledger = &g->ledger;
	g->base.notes = &g->notes;
	CHECK_OK(op_delivery_new(&g->base, &settings, &fake_ops, &g->fake, &g->sink));
}

void rig_down(struct rig *g)
{
	g->sink->ops->free(g->sink);
	CHECK(g->fake.closed);
	op_ledger_get_stats(&g->ledger, &g->stats);
	CHECK_INT(g->stats.samples_pending, 0);
	rig_clear(g);
}

void rig_clear(struct rig *g)
{
	op_notes_deinit(&g->notes);
	op_ledger_deinit(&g->ledger);
	CHECK(!pthread_cond_destroy(&g->fake.changed));
	CHECK(!pthread_mutex_destroy(&g->fake.lock));
}

void submit(struct rig *g, const char *text, uint64_t samples)
{
	struct op_request *r = NULL;

	CHECK_OK(op_request_new(&g->ledger, strdup(text), strlen(text), samples, 1, &r));
	g->sink->ops->submit(g->sink, r);
}

int flush(struct rig *g, uint64_t ms)
{
	int err = g->sink->ops->flush(g->sink, op_clock_monotonic_ns() + ms * 1000000);

	op_ledger_get_stats(&g->ledger, &g->stats);
	return err;
}

bool said(struct rig *g, const char *word)
{
	bool found = false;
	size_t i;

	CHECK(!pthread_mutex_lock(&g->notes.lock));
	for (i = 0; i < g->notes.len; i++)
		found |= strstr(g->notes.lines[i].text, word) != NULL;
	CHECK(!pthread_mutex_unlock(&g->notes.lock));
	return found;
}
