/* SPDX-License-Identifier: Apache-2.0 */
/* Records of the ring become samples. A record that needs a table or names waits until there is
 * time for them. */
#include <errno.h>

#include "base/io.h"
#include "base/macros.h"
#include "process/processes.h"
#include "sample/sampler.h"
#include "session/state.h"

enum {
	RECORDS_A_POLL = 4096,
	/* Bytes of postponed records up to which more of them may wait for the ring. The rest
	 * is for records that lack a table. */
	SHORT_BYTES = OP_POSTPONED_BYTES_MAX / 4,
	/* polls that may leave postponed records to a later one, for the ring */
	RINGS_MAX = 8,
};

/* State of the record callback while the ring is read. */
struct consume {
	struct op_session *session;
	struct op_session_records *records;
	uint64_t until_ns;
};

/* Has this poll done enough? The clock is read after each record, since one may take
 * long. */
static int is_enough(struct consume *k)
{
	return ++k->records->taken < RECORDS_A_POLL &&
			       op_allowance_now(k->session->config.allowance) <
				       k->until_ns
		       ? 0
		       : OP_SESSION_STOP;
}

static void count(struct op_session *s, const void *data, size_t size, int r)
{
	const struct op_record_header *header = data;
	struct op_session_counts *n = &s->counts;
	uint32_t event = op_sampler_event(data, size);

	if (!op_sampler_is_sample(header->type))
		return;
	n->records++;
	if (r < 0 && event < OP_EVENT_MAX)
		n->lost[event]++;
	if (r == -ENOSPC)
		n->dropped[OP_DROP_WINDOW]++;
	else if (r == -ENOMEM)
		n->dropped[OP_DROP_MEMORY]++;
	else if (r < 0)
		n->dropped[OP_DROP_RECORD]++;
}

/* May the record be postponed until there is time for a table or for names? If so,
 * *@ret_pid is its process and *@ret_time_ns its time. */
static bool may_wait(const void *data, size_t size, uint32_t *ret_pid,
		     uint64_t *ret_time_ns)
{
	const struct op_unwind_table_request *request = data;
	const struct op_record *record = data;

	if (size >= sizeof(*record) && record->header.type == OP_RECORD_SAMPLE) {
		*ret_pid = record->pid;
		*ret_time_ns = record->time_ns;
		return true;
	}
	if (size < sizeof(*request) || request->header.type != OP_RECORD_REQUEST)
		return false;
	*ret_pid = request->pid;
	*ret_time_ns = request->time_ns;
	return true;
}

/* May the record lack a table? */
static bool wants_table(const void *data)
{
	const struct op_record *record = data;

	return record->header.type == OP_RECORD_REQUEST || record->end == OP_END_UNKNOWN;
}

static int postpone(struct op_session *s, uint32_t pid, uint64_t time_ns,
		    const void *data, size_t size)
{
	_cleanup_free_ void *joined = NULL;
	size_t joined_len;

	if (s->ending)
		return -ECANCELED;
	if (op_sampler_join(s->config.sampler, data, size, &joined, &joined_len) > 0)
		return op_postponed_add(&s->postponed, pid, time_ns, joined, joined_len);
	return op_postponed_add(&s->postponed, pid, time_ns, data, size);
}

static bool is_short(const struct op_session *s)
{
	return s->postponed.bytes < SHORT_BYTES;
}

/* Add the record to the window. *@ret_lacks: there was no time for its table. */
static int add(struct op_session *s, const void *data, size_t size, bool *ret_lacks)
{
	int r = op_sampler_add_record(s->config.sampler, data, size, s->config.window);

	*ret_lacks = r == -EINPROGRESS && wants_table(data) &&
		     !op_sampler_walked(s->config.sampler);
	return r;
}

/* Were the events before the record not all processed? Then what names it may be gone. */
static bool is_ahead(const struct op_session *s, uint64_t time_ns)
{
	return time_ns > op_capture_drained_ns(s->config.capture) &&
	       op_capture_sideband_left(s->config.capture);
}

/* Add the record to the window. If it needs a table or names for which there is no
 * time, postpone it. If it cannot be postponed, process it at once. */
static void take(struct op_session *s, const void *data, size_t size)
{
	uint64_t time_ns = 0;
	uint32_t pid = 0;
	bool waits = may_wait(data, size, &pid, &time_ns);
	struct op_waiter *w = waits ? op_postponed_find(&s->postponed, pid) : NULL;
	bool lacks = w && w->lacks_table && wants_table(data);
	int r = -EINPROGRESS;

	if (waits && is_ahead(s, time_ns) && postpone(s, pid, time_ns, data, size) == 0)
		return;
	if (!lacks) {
		s->config.allowance->brief = is_short(s);
		r = add(s, data, size, &lacks);
		s->config.allowance->brief = false;
	}
	if (waits && r == -EINPROGRESS && postpone(s, pid, time_ns, data, size) == 0) {
		op_postponed_find(&s->postponed, pid)->lacks_table |= lacks;
		return;
	}
	if (r == -EINPROGRESS) {
		s->config.allowance->hurry = true;
		r = add(s, data, size, &lacks);
		s->config.allowance->hurry = false;
	}
	count(s, data, size, r);
}

/* Process postponed records. Each process gets a part of the time, in turn. */
static void take_postponed(struct op_session *s, uint64_t end_ns)
{
	struct op_postponed *q = &s->postponed;
	size_t turns = q->len;
	uint64_t part_ns =
		OP_MAX(op_allowance_share(s->config.allowance, OP_SESSION_PARTS) /
			       OP_MAX(turns, (size_t)1),
		       /* records of each process, at least */
		       op_allowance_share(s->config.allowance, OP_POLL_LEAST));
	uint64_t now_ns = op_allowance_now(s->config.allowance);

	for (; turns && now_ns < end_ns; turns--) {
		struct op_waiter *w = op_postponed_turn(q);
		uint64_t until_ns = OP_MIN(now_ns + part_ns, end_ns);
		bool more = true;

		op_allowance_until(s->config.allowance, until_ns);
		while (more && now_ns < until_ns) {
			size_t len;
			const struct op_record_header *record = op_waiter_record(w, &len);
			uint64_t time_ns = 0;
			uint32_t pid;
			int r;

			if (may_wait(record, len, &pid, &time_ns) && is_ahead(s, time_ns))
				break;
			r = add(s, record, len, &w->lacks_table);
			now_ns = op_allowance_now(s->config.allowance);
			if (r == -EINPROGRESS)
				break;
			count(s, record, len, r);
			more = op_waiter_drop(q, w);
		}
		if (more)
			op_waiter_yield(q, w);
	}
}

void op_session_take_postponed(struct op_session *s)
{
	struct op_waiter *w;

	/* begin nothing that may end early */
	op_allowance_until(s->config.allowance, op_allowance_now(s->config.allowance));
	s->config.allowance->hurry = true;
	while ((w = op_postponed_turn(&s->postponed))) {
		size_t len;
		const struct op_record_header *record = op_waiter_record(w, &len);

		count(s, record, len, add(s, record, len, &w->lacks_table));
		(void)op_waiter_drop(&s->postponed, w);
	}
	s->config.allowance->hurry = false;
	op_allowance_until(s->config.allowance, 0);
}

/* While a record is processed, drain the side-bands, which are newer than it. Returns
 * whether something was new. */
static bool drain(struct consume *k)
{
	struct op_session *s = k->session;
	uint64_t least_ns = op_allowance_share(s->config.allowance, OP_POLL_LEAST);
	uint64_t now_ns = op_allowance_now(s->config.allowance);

	return op_session_drain_sideband(s, OP_MAX(k->until_ns, now_ns + least_ns)) != 0;
}

/* The same, and publish the changes. */
static bool catch_up(struct consume *k)
{
	struct op_session *s = k->session;

	if (!drain(k))
		return false;
	op_processes_settle(s->config.processes, op_clock_monotonic_ns());
	return true;
}

/* The side-band events of the record are here too, so the program can be identified. */
static void on_exec(struct consume *k, const void *data, size_t size)
{
	struct op_session *s = k->session;
	const struct op_exec_record *record = data;

	if (size < sizeof(*record))
		return;
	if (record->interpreter)
		s->exec_ns = op_clock_monotonic_ns();
	(void)catch_up(k);
	op_processes_on_executed(s->config.processes, record->pid);
}

/* Since the last drain, there may be new side-band events of the record's process, for
 * example that other code was mapped. */
static void know_process(struct consume *k, const struct op_record *record, size_t size)
{
	uint32_t type = record->header.type;
	struct op_session *s = k->session;
	bool wants = type == OP_RECORD_REQUEST ||
		     (type == OP_RECORD_SAMPLE && size >= sizeof(*record) &&
		      record->end == OP_END_UNKNOWN);

	k->records->unknown |= wants;
	if (!wants && (type != OP_RECORD_SAMPLE || size < sizeof(*record)))
		return;
	if (record->time_ns <= op_capture_drained_ns(s->config.capture))
		return;
	if (wants ||
	    !op_processes_knows(s->config.processes, record->pid, record->generation))
		(void)catch_up(k);
	else
		(void)drain(k);
}

static int on_record(void *ctx, const void *data, size_t size)
{
	struct consume *k = ctx;
	const struct op_record *record = data;
	uint32_t type = size >= sizeof(record->header) ? record->header.type : 0;

	if (type == OP_RECORD_EXEC) {
		on_exec(k, data, size);
		return is_enough(k);
	}
	if (type)
		know_process(k, record, size);
	take(k->session, data, size);
	return is_enough(k);
}

/* Is it the turn of postponed records? The ring was read with result @r. While it has stacks
 * that the kernel could not walk, those come first: one that waits long may be lost. */
static bool may_resume(struct op_session *s, const struct op_session_records *records,
		       int r)
{
	bool later = r == OP_SESSION_STOP && records->unknown && is_short(s);

	s->rings = later ? s->rings + 1 : 0;
	/* most postponed records wait for a table */
	return s->rings % RINGS_MAX == 0 && op_allowance_has_cpu(s->config.allowance);
}

int op_session_take_records(struct op_session *s, struct op_session_records *ret)
{
	struct consume k = { .session = s, .records = ret };
	uint64_t begin_ns = op_allowance_now(s->config.allowance);
	int r;

	k.until_ns = op_allowance_part(s->config.allowance, begin_ns, OP_SESSION_PARTS);
	op_allowance_until(s->config.allowance, k.until_ns);
	r = op_capture_drain_ring(s->config.capture, on_record, &k);
	if (may_resume(s, ret, r))
		take_postponed(
			s, OP_MIN(op_allowance_part(s->config.allowance,
						    op_allowance_now(s->config.allowance),
						    OP_SESSION_PARTS),
				  op_allowance_part(s->config.allowance, begin_ns,
						    OP_SESSION_LONG_PARTS)));
	return r;
}
