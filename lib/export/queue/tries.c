/* SPDX-License-Identifier: Apache-2.0 */
/* Judges the answers to requests, and reports each problem of a destination once. */
#include "export/queue/tries.h"

#include <errno.h>
#include <string.h>

#include "base/hash.h"
#include "base/io.h"
#include "base/macros.h"

enum {
	/* Different complaints logged in a row; further ones are logged at
	 * debug level. */
	COMPLAINTS_MAX = 5,
};

/* Log a complaint. The same words again are logged only at debug level. */
static void complain(struct op_tries *t, struct op_queue *q, const char *what,
		     const struct op_transport_result *result, const char *hint)
{
	bool known = !strcmp(t->words, result->message) && t->words[0];

	op_notes_add(q->notes, known ? OP_LOG_DEBUG : OP_LOG_WARNING,
		     "export: %s: %s: %s: %s%s%s", q->target, what,
		     op_retry_result_name(result), result->message, hint ? "; " : "",
		     hint ? hint : "");
	(void)strlcpy(t->words, result->message, sizeof(t->words));
}

/* The server answered: forget the back-off. */
static void note_answer(struct op_tries *t, struct op_queue *q)
{
	if (t->failing)
		op_notes_add(q->notes, OP_LOG_INFO,
			     "export: %s: the server answers again", q->target);
	t->failing = false;
	t->complaints = 0;
	q->full = false;
	t->not_before_ns = 0;
	op_backoff_reset(&t->backoff);
}

/* The request was delivered; @profiles: how many it has. */
static void delivered(struct op_tries *t, struct op_queue *q, struct op_queue_entry *e,
		      const struct op_transport_result *result, uint64_t profiles)
{
	int fate = OP_FATE_EXPORTED;

	note_answer(t, q);
	if (result->rejected || result->message[0]) {
		enum op_log_level level =
			strcmp(t->words, result->message) ? OP_LOG_WARNING : OP_LOG_DEBUG;

		/* Without a number of rejected profiles it is a warning, and all were
		 * accepted. */
		if (result->rejected)
			op_notes_add(
				q->notes, level,
				"export: %s: the server accepted a request, but not %llu of its profiles: %s",
				q->target, (unsigned long long)result->rejected,
				result->message);
		else
			op_notes_add(
				q->notes, level,
				"export: %s: the server accepted a request and warns: %s",
				q->target, result->message);
		(void)strlcpy(t->words, result->message, sizeof(t->words));
	} else {
		t->words[0] = 0;
	}
	if (result->rejected) {
		op_ledger_rejected(q->ledger, result->rejected);
		if (profiles && result->rejected >= profiles)
			fate = OP_DROP_REFUSED;
	}
	op_queue_settle(q, e, fate);
}

static void refused(struct op_tries *t, struct op_queue *q, struct op_queue_entry *e,
		    const struct op_transport_result *result)
{
	note_answer(t, q);
	complain(t, q, "refused a request for good", result, op_retry_hint(result));
	op_queue_settle(q, e, OP_DROP_REFUSED);
}

/* Log the reason of a failed try once, and again when the reason changes. */
static void complain_of_try(struct op_tries *t, struct op_queue *q,
			    const struct op_transport_result *result)
{
	const char *hint = op_retry_hint(result);
	bool fresh = !t->failing || (strcmp(t->words, result->message) != 0 &&
				     t->complaints < COMPLAINTS_MAX);

	op_notes_add(q->notes, fresh ? OP_LOG_WARNING : OP_LOG_DEBUG,
		     "export: %s: %s: %s; %s%strying again", q->target,
		     op_retry_result_name(result), result->message, hint ? hint : "",
		     hint ? "; " : "");
	t->complaints += fresh;
	(void)strlcpy(t->words, result->message, sizeof(t->words));
}

static void try_later(struct op_tries *t, struct op_queue *q, struct op_queue_entry *e,
		      const struct op_transport_result *result)
{
	uint64_t now = op_clock_monotonic_ns();
	uint64_t wait =
		op_backoff_next(&t->backoff, result->retry_delay_ms) * OP_NS_PER_MS;
	uint64_t give_up = UINT64_MAX;

	if (t->retry_elapsed_ns)
		give_up = e->first_try_ns + t->retry_elapsed_ns;
	complain_of_try(t, q, result);
	t->failing = true;
	t->not_before_ns = now + wait;
	t->asked = result->retry_delay_ms >= 0;
	/* Make one last try at the end, unless the server asked for more time than is
	 * left. */
	if (now < give_up && t->not_before_ns > give_up && result->retry_delay_ms < 0)
		t->not_before_ns = give_up;
	else if (t->not_before_ns > give_up) {
		op_notes_add(
			q->notes, OP_LOG_WARNING,
			"export: %s: a request was given up after %llu ms", q->target,
			(unsigned long long)((now - e->first_try_ns) / OP_NS_PER_MS));
		op_queue_settle(q, e, OP_DROP_GIVEN_UP);
	}
}

/* The server refuses the compression. From here on it gets another one, if it accepted
 * that. So this is logged once. */
static void note_recompressed(struct op_queue *q,
			      const struct op_transport_result *result)
{
	static const char *const words[] = {
		[OP_COMPRESSION_NONE] = "without compression",
		[OP_COMPRESSION_GZIP] = "with gzip",
	};

	if (!result->recompressed)
		return;
	op_ledger_recompressed(q->ledger, result->recompressed);
	if (result->grpc_status == OP_GRPC_OK)
		op_notes_add(q->notes, OP_LOG_WARNING,
			     "export: %s: the server does not take the compression: "
			     "requests are sent %s from now on",
			     q->target, words[result->compression]);
}

void op_tries_judge(struct op_tries *t, struct op_queue *q, struct op_queue_entry *e,
		    const struct op_transport_result *result, uint64_t profiles,
		    bool interrupted)
{
	note_recompressed(q, result);
	if (result->grpc_status == OP_GRPC_OK)
		delivered(t, q, e, result, profiles);
	else if (interrupted)
		return; /* an error that the server did not cause */
	else if (op_retry_allowed(result->grpc_status, result->retry_delay_ms))
		try_later(t, q, e, result);
	else
		refused(t, q, e, result);
}

void op_tries_lost(struct op_tries *t, struct op_queue *q, struct op_queue_entry *e,
		   int r)
{
	struct op_transport_result result = {
		.grpc_status = OP_GRPC_UNAVAILABLE,
		.retry_delay_ms = -1,
	};
	struct op_spill *spill = op_spool_spill(q->spool);

	if (r == -ENOMEM || r == -EMFILE || r == -ENFILE) {
		(void)strlcpy(result.message, strerror(-r), sizeof(result.message));
		try_later(t, q, e, &result);
		return;
	}
	op_ledger_spill_error(q->ledger, 1);
	op_notes_add(q->notes, OP_LOG_WARNING,
		     "export: %s: %s/%s: %s; the %llu samples in it are lost", q->target,
		     op_spill_path(spill), e->item.name,
		     r == -EBADMSG ? "is damaged, its name now ends with .bad"
				   : strerror(-r),
		     (unsigned long long)e->item.request->samples);
	op_queue_settle(q, e, OP_DROP_SPILL);
}

void op_tries_hurry(struct op_tries *t)
{
	if (!t->asked)
		t->not_before_ns = 0;
}

void op_tries_init(struct op_tries *t, const struct op_export_settings *settings)
{
	*t = (struct op_tries){
		.retry_elapsed_ns = (uint64_t)settings->retry_elapsed_ms * OP_NS_PER_MS,
		.backoff = { .initial_ms = settings->retry_initial_ms,
			     .max_ms = settings->retry_max_ms,
			     .random = op_hash_seed() ^ op_clock_monotonic_ns() },
	};
}
