/* SPDX-License-Identifier: Apache-2.0 */
/* Counts readers and decisions of a request, and accounts for its samples. */
#include "export/sink/request.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>

#include "base/cleanup.h"

int op_ledger_init(struct op_ledger *l)
{
	*l = (struct op_ledger){ 0 };
	return -pthread_mutex_init(&l->lock, NULL);
}

void op_ledger_deinit(struct op_ledger *l)
{
	(void)pthread_mutex_destroy(&l->lock);
}

void op_ledger_drop(struct op_ledger *l, uint64_t samples, int reason)
{
	(void)pthread_mutex_lock(&l->lock);
	l->stats.samples_dropped[reason] += samples;
	(void)pthread_mutex_unlock(&l->lock);
}

void op_ledger_rejected(struct op_ledger *l, uint64_t profiles)
{
	(void)pthread_mutex_lock(&l->lock);
	l->stats.profiles_rejected += profiles;
	(void)pthread_mutex_unlock(&l->lock);
}

void op_ledger_spill_error(struct op_ledger *l, uint64_t files)
{
	(void)pthread_mutex_lock(&l->lock);
	l->stats.spill_errors += files;
	(void)pthread_mutex_unlock(&l->lock);
}

void op_ledger_recompressed(struct op_ledger *l, uint64_t times)
{
	(void)pthread_mutex_lock(&l->lock);
	l->stats.requests_recompressed += times;
	(void)pthread_mutex_unlock(&l->lock);
}

void op_ledger_work(struct op_ledger *l, uint64_t cpu_ns)
{
	(void)pthread_mutex_lock(&l->lock);
	l->stats.cpu_ns += cpu_ns;
	(void)pthread_mutex_unlock(&l->lock);
}

void op_ledger_get_stats(struct op_ledger *l, struct op_exporters_stats *ret)
{
	(void)pthread_mutex_lock(&l->lock);
	*ret = l->stats;
	(void)pthread_mutex_unlock(&l->lock);
}

int op_request_new(struct op_ledger *l, void *bytes, size_t len, uint64_t samples,
		   uint32_t exporters, struct op_request **ret)
{
	_cleanup_free_ void *owned = bytes;
	struct op_request *r;

	assert(exporters);
	r = calloc(1, sizeof(*r));
	if (!r) {
		op_ledger_drop(l, samples, OP_DROP_MEMORY);
		return -ENOMEM;
	}
	*r = (struct op_request){
		.bytes = OP_TAKE_PTR(owned),
		.len = len,
		.samples = samples,
		.readers = exporters,
		.undecided = exporters,
	};
	(void)pthread_mutex_lock(&l->lock);
	l->stats.samples_pending += samples;
	l->stats.bytes += len;
	(void)pthread_mutex_unlock(&l->lock);
	*ret = r;
	return 0;
}

int op_request_restore(struct op_account *a, size_t len, uint64_t samples,
		       struct op_request **ret)
{
	struct op_ledger *l = a->ledger;
	struct op_request *r = calloc(1, sizeof(*r));

	if (!r)
		return -ENOMEM;
	*r = (struct op_request){ .len = len, .samples = samples, .undecided = 1 };
	(void)pthread_mutex_lock(&l->lock);
	l->stats.requests_restored++;
	l->stats.samples_restored += samples;
	a->stats.samples_restored += samples;
	a->stats.samples_pending += samples;
	l->stats.samples_pending += samples;
	(void)pthread_mutex_unlock(&l->lock);
	*ret = r;
	return 0;
}

static void read_locked(struct op_ledger *l, struct op_request *r)
{
	assert(r->readers);
	if (--r->readers)
		return;
	l->stats.bytes -= r->bytes ? r->len : 0;
	free(r->bytes);
	r->bytes = NULL;
}

static void free_if_done(struct op_request *r)
{
	if (!r->undecided && !r->readers)
		free(r);
}

/* The last exporter has decided and none delivered the samples: one of them spilled them,
 * or they are lost. */
static void count_loss_locked(struct op_ledger *l, struct op_request *r, int reason)
{
	l->stats.samples_pending -= r->samples;
	if (r->spilled)
		l->stats.samples_spilled += r->samples;
	else
		l->stats.samples_dropped[reason] += r->samples;
}

static void count_fate_locked(struct op_account_stats *s, const struct op_request *r,
			      int fate)
{
	s->samples_pending -= r->samples;
	if (fate == OP_FATE_EXPORTED) {
		s->samples_exported += r->samples;
		s->requests_sent++;
		s->bytes_sent += r->len;
	} else if (fate == OP_FATE_SPILLED) {
		s->samples_spilled += r->samples;
	} else {
		s->samples_dropped += r->samples;
	}
}

static void decide_locked(struct op_account *a, struct op_request *r, int fate)
{
	struct op_ledger *l = a->ledger;

	assert(r->undecided);
	count_fate_locked(&a->stats, r, fate);
	r->undecided--;
	r->spilled |= fate == OP_FATE_SPILLED;
	if (fate == OP_FATE_EXPORTED) {
		l->stats.requests_sent++;
		l->stats.bytes_sent += r->len;
		if (!r->exported) {
			l->stats.samples_pending -= r->samples;
			l->stats.samples_exported += r->samples;
		}
		r->exported = true;
	}
	if (!r->undecided && !r->exported)
		count_loss_locked(l, r, fate);
}

void op_account_hand(struct op_account *a, const struct op_request *r)
{
	(void)pthread_mutex_lock(&a->ledger->lock);
	a->stats.samples_pending += r->samples;
	(void)pthread_mutex_unlock(&a->ledger->lock);
}

void op_account_get_stats(struct op_account *a, struct op_account_stats *ret)
{
	(void)pthread_mutex_lock(&a->ledger->lock);
	*ret = a->stats;
	(void)pthread_mutex_unlock(&a->ledger->lock);
}

void op_request_hold(struct op_ledger *l, struct op_request *r)
{
	(void)pthread_mutex_lock(&l->lock);
	assert(r->readers);
	r->readers++;
	(void)pthread_mutex_unlock(&l->lock);
}

void op_request_read(struct op_ledger *l, struct op_request *r)
{
	(void)pthread_mutex_lock(&l->lock);
	read_locked(l, r);
	free_if_done(r);
	(void)pthread_mutex_unlock(&l->lock);
}

void op_request_decide(struct op_account *a, struct op_request *r, int fate)
{
	struct op_ledger *l = a->ledger;

	(void)pthread_mutex_lock(&l->lock);
	decide_locked(a, r, fate);
	free_if_done(r);
	(void)pthread_mutex_unlock(&l->lock);
}

void op_request_settle(struct op_account *a, struct op_request *r, int fate)
{
	struct op_ledger *l = a->ledger;

	(void)pthread_mutex_lock(&l->lock);
	read_locked(l, r);
	decide_locked(a, r, fate);
	free_if_done(r);
	(void)pthread_mutex_unlock(&l->lock);
}
