/* SPDX-License-Identifier: Apache-2.0 */
#include "session/session.h"

#include <errno.h>
#include <stdlib.h>

#include "base/io.h"
#include "base/macros.h"
#include "code/symbol/kernel.h"
#include "process/processes.h"
#include "runtime/runtime.h"
#include "sample/sampler.h"
#include "session/state.h"

enum {
	/*
	 * The ring is emptied at least this often. TIMER_MS: while something is new,
	 * because the names of a short-lived process must be read soon. QUIET_MS: after
	 * QUIET_AFTER_MS without anything new.
	 */
	TIMER_MS = 200,
	TIMER_QUIET_MS = 1000,
	QUIET_AFTER_MS = 2000,
	/* After an interpreter's file was executed, the ring is emptied this often for
	 * this time, because the libraries are mapped within milliseconds. */
	TIMER_EXEC_MS = 3,
	EXEC_FOR_MS = 30,
	/* After code was seen for the first time, the ring is emptied this often for
	 * this time: generated code may be gone before its names are read. */
	TIMER_CODE_MS = 20,
	CODE_FOR_MS = 200,
	/* polls after the end of sampling, at most. Each takes thousands of records. */
	LAST_POLLS = 1000,
};

/* Publish the first letters of interpreters' names to the programs. */
static void name_interpreters(struct op_capture *capture)
{
	size_t len;
	const struct op_runtime_ops *const *ops = op_runtime_all(&len);
	uint32_t n = 0;
	size_t i;

	for (i = 0; i < len; i++) {
		const char *const *name;

		for (name = ops[i]->file_names; name && *name; name++)
			op_capture_name_interpreter(capture, n++, *name);
	}
}

int op_session_new(const struct op_session_config *config, struct op_session **ret)
{
	struct op_session *s = calloc(1, sizeof(*s));

	if (!s)
		return -ENOMEM;
	s->config = *config;
	op_postponed_init(&s->postponed);
	op_session_init_sink(s);
	name_interpreters(config->capture);
	*ret = s;
	return 0;
}

struct op_session *op_session_free(struct op_session *s)
{
	if (!s)
		return NULL;
	op_endings_deinit(&s->ends);
	op_postponed_deinit(&s->postponed);
	free(s);
	return NULL;
}

const struct op_session_counts *op_session_counts(const struct op_session *s)
{
	return &s->counts;
}

uint64_t op_session_bytes(const struct op_session *s)
{
	return sizeof(*s) + s->postponed.bytes;
}

void op_session_wake(struct op_session *s)
{
	uint64_t next_ns = op_parts_next_ns(s->config.parts);

	if (next_ns)
		op_capture_wake_before(s->config.capture, next_ns);
}

/*
 * Set the timer: soon if something was new (@fresh), and not later than @next_ns (0: no
 * such time). If this poll had no time for the rest, the next one follows at once. If the
 * rest waits for something else, the host must not spin on it.
 */
static void pace(struct op_session *s, bool fresh, uint64_t next_ns)
{
	uint64_t now = op_clock_monotonic_ns();
	uint64_t ms;

	if (fresh)
		s->last_event_ns = now;
	ms = now - s->last_event_ns < (uint64_t)QUIET_AFTER_MS * OP_NS_PER_MS
		     ? TIMER_MS
		     : TIMER_QUIET_MS;
	if (now - s->code_ns < (uint64_t)CODE_FOR_MS * OP_NS_PER_MS)
		ms = TIMER_CODE_MS;
	if (now - s->exec_ns < (uint64_t)EXEC_FOR_MS * OP_NS_PER_MS)
		ms = TIMER_EXEC_MS;
	if (next_ns && next_ns <= now &&
	    op_allowance_has_worked(s->config.allowance,
				    op_allowance_now(s->config.allowance)))
		ms = 0;
	else if (next_ns)
		ms = OP_MIN(ms, next_ns > now ? (next_ns - now) / OP_NS_PER_MS + 1 : 1);
	op_capture_wake_every(s->config.capture, (uint32_t)ms);
}

/* Drain the side-bands. *@ret: something was new. Returns 0 or -errno. */
static int learn_processes(struct op_session *s, bool *ret)
{
	uint64_t end_ns = op_allowance_part(s->config.allowance,
					    op_allowance_now(s->config.allowance),
					    OP_SESSION_PARTS);
	struct op_allowance part = op_allowance_within(s->config.allowance, end_ns);
	int n = op_capture_woken(s->config.capture, &s->sink, &part);

	if (n < 0)
		return n;
	op_allowance_until(s->config.allowance, end_ns);
	*ret = op_session_drain_sideband(s, end_ns);
	if (*ret || n)
		op_processes_settle(s->config.processes, op_clock_monotonic_ns());
	return 0;
}

/* The work that a poll left. */
struct rest {
	uint64_t begin_ns; /* result of reading the records */
	bool fresh;	   /* something was new */
	bool misses;	   /* a record missed a table */
	bool records;	   /* records wait in the ring */
	bool sideband;	   /* events of the side-band wait */
	bool postponed;	   /* postponed records wait, and there is CPU time for them */
};

/* The share of a poll for a whole table: little while samples wait for other work. */
static uint32_t table_parts(const struct op_session *s, const struct rest *rest)
{
	if (!rest->misses && !rest->records && !rest->postponed)
		return OP_SESSION_LONG_PARTS;
	return op_postponed_lacks_table(&s->postponed) ? OP_SESSION_PARTS * 2
						       : (uint32_t)OP_POLL_LEAST;
}

/* Report the progress to whoever waits for the records, and set the timer. */
static void end_poll(struct op_session *s, const struct rest *rest, bool drained)
{
	struct op_processes *processes = s->config.processes;
	bool code = op_sampler_take_new_code(s->config.sampler);
	bool fresh = code || op_processes_waiting(processes) || rest->fresh;

	if (code || !s->code_ns)
		s->code_ns = op_clock_monotonic_ns();
	op_processes_go_on(processes, table_parts(s, rest));
	op_allowance_until(s->config.allowance, 0);
	if (op_sampler_take_lost(s->config.sampler))
		op_capture_next_window(s->config.capture);
	if (!rest->records)
		op_processes_records_read(processes,
					  s->postponed.len
						  ? op_postponed_oldest_ns(&s->postponed)
						  : rest->begin_ns);
	pace(s, fresh,
	     rest->sideband || rest->postponed ? rest->begin_ns
					       : op_processes_next_ns(processes));
	if (s->kernel_symbols_stale)
		op_kernel_symbols_stale(s->config.kernel);
	s->kernel_symbols_stale = false;
	if (drained)
		op_sampler_drained(s->config.sampler);
}

/* Is the ring left to the next poll? It is if this one has already taken long, or if
 * events of processes are still waiting. The next poll follows at once. */
static bool put_off(struct op_session *s, uint64_t since_ns)
{
	s->put_off =
		!s->put_off && (op_capture_sideband_left(s->config.capture) ||
				op_allowance_now(s->config.allowance) >
					op_allowance_part(s->config.allowance, since_ns,
							  OP_SESSION_LONG_PARTS));
	return s->put_off;
}

static int poll_kernel(struct op_session *s, struct op_session_work *ret)
{
	struct op_session_records records = { 0 };
	uint64_t since_ns = op_allowance_now(s->config.allowance);
	struct rest rest = { 0 };
	bool events = false;
	bool waits;
	int r = learn_processes(s, &events);

	if (r < 0)
		return r;
	rest.begin_ns = op_clock_monotonic_ns();
	waits = !op_allowance_has_cpu(s->config.allowance);
	r = put_off(s, since_ns) ? OP_SESSION_STOP : op_session_take_records(s, &records);
	rest.fresh = events || records.unknown;
	rest.misses = records.unknown;
	rest.records = r != 0;
	rest.sideband = op_capture_sideband_left(s->config.capture);
	rest.postponed = s->postponed.len && !waits;
	ret->drained = r == 0 && !s->postponed.len;
	ret->idle = !events && r != OP_SESSION_STOP && !rest.sideband &&
		    !rest.postponed && !records.taken;
	end_poll(s, &rest, ret->drained);
	return r == OP_SESSION_STOP ? 0 : r;
}

int op_session_poll(struct op_session *s, struct op_session_work *ret)
{
	int r;

	*ret = (struct op_session_work){ 0 };
	op_allowance_begin_poll(s->config.allowance, s->config.poll_ms);
	op_parts_poll(s->config.parts, OP_PART_BEFORE_RING, s->config.allowance,
		      s->config.window);
	r = poll_kernel(s, ret);
	/* the records may belong to new processes and files */
	op_parts_poll(s->config.parts, OP_PART_AFTER_RING, s->config.allowance,
		      s->config.window);
	op_session_wake(s);
	return r;
}

int op_session_drain(struct op_session *s, uint64_t limit_ns)
{
	uint64_t until_ns = op_clock_monotonic_ns() + limit_ns;
	struct op_session_work work;
	int r;

	do {
		r = op_session_poll(s, &work);
		if (r < 0 && r != -EINTR)
			return r;
	} while (!work.idle && op_clock_monotonic_ns() < until_ns);
	op_allowance_end_poll(s->config.allowance);
	return 0;
}

void op_session_begin(struct op_session *s, bool limited)
{
	s->ending = false;
	s->config.allowance->cpu_limited = limited;
}

int op_session_drain_all(struct op_session *s, uint64_t limit_ns)
{
	struct op_session_work work = { 0 };
	int i, r;

	/* No sample waits for CPU time at a start, so all of the budget is available. */
	if (s->config.allowance->cpu_limited)
		op_allowance_give_cpu(s->config.allowance, INT64_MAX);
	r = limit_ns ? op_session_drain(s, limit_ns) : 0;
	/* Take the rest without names: those of one large file take seconds. */
	op_allowance_give_cpu(s->config.allowance, 0);
	s->ending = true;
	op_session_take_postponed(s);
	/* From here on the ring gets no more samples. */
	for (i = 0; r == 0 && i < LAST_POLLS && !work.drained; i++)
		r = op_session_poll(s, &work);
	op_allowance_end_poll(s->config.allowance);
	return r;
}
