/* SPDX-License-Identifier: Apache-2.0 */
/* Statistics, and the names of drop reasons and unwind errors. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "api/handle.h"
#include "api/settings/config.h"
#include "base/io.h"
#include "base/macros.h"
#include "sample/kept/ended.h"
#include "sample/kept/trace_contexts.h"

static void from_kernel(const uint64_t *counters, struct otelprof_stats *s)
{
	s->samples_taken = counters[OP_COUNT_TAKEN];
	s->samples_filtered = counters[OP_COUNT_IDLE] + counters[OP_COUNT_FILTERED];
	s->samples_thinned = counters[OP_COUNT_THINNED];
	s->off_cpu_threshold_ns = counters[OP_COUNT_THRESHOLD_NS];
	s->stacks_complete = counters[OP_COUNT_COMPLETE];
	s->stacks_truncated = counters[OP_COUNT_TRUNCATED];
	s->stacks_broken = counters[OP_COUNT_BROKEN];
	s->heap_untracked = counters[OP_COUNT_UNTRACKED];
	s->stacks_without_table = counters[OP_COUNT_NO_TABLE];
	s->contexts = counters[OP_COUNT_CONTEXTS];
	s->contexts_lost = counters[OP_COUNT_CONTEXT_UNREAD];
	s->labels_cut = counters[OP_COUNT_CONTEXT_CUT];
}

/* The number of samples dropped, by reason. */
static void read_drops(struct otelprof *p, const uint64_t *counters,
		       uint64_t ret[OP_DROPS])
{
	struct op_exporters_stats exporters;
	size_t i;

	op_exporters_get_stats(p->exporters, &exporters);
	for (i = 0; i < OP_DROPS; i++)
		ret[i] = p->dropped[i] + op_session_counts(p->session)->dropped[i] +
			 op_parts_taken(p->parts)->dropped[i] +
			 exporters.samples_dropped[i];
	ret[OP_DROP_RING] += counters[OP_COUNT_RING_FULL];
	ret[OP_DROP_NESTED] += counters[OP_COUNT_NESTED];
	ret[OP_DROP_MEMORY] += counters[OP_COUNT_NO_MEMORY];
}

/* Add the outcomes of stacks that user space walked. */
static void add_ends(const uint64_t *ends, struct otelprof_stats *s)
{
	uint32_t i;

	s->stacks_complete += ends[OP_END_COMPLETE];
	s->stacks_truncated += ends[OP_END_TRUNCATED];
	for (i = OP_ERROR_FIRST; i < OP_ERROR_LIMIT; i++)
		s->stacks_broken += ends[i];
}

/* The CPU time that the profiler has used until now. @counters are the programs'. */
static uint64_t cpu_ns(struct otelprof *p, const uint64_t *counters, uint64_t delivery_ns)
{
	uint64_t ns = p->budget.own_ns + delivery_ns + counters[OP_COUNT_SPENT_NS];

	if (p->config.cpu_budget_permille)
		ns += op_clock_thread_ns() - p->budget.entered_ns;
	return ns;
}

int op_handle_cpu_ns(struct otelprof *p, uint64_t *ret, uint64_t *ret_lost)
{
	uint64_t counters[OP_COUNTERS];
	struct op_exporters_stats exporters;
	int r = op_capture_counters(p->capture, counters, NULL);

	if (r < 0)
		return r;
	op_exporters_get_stats(p->exporters, &exporters);
	*ret = cpu_ns(p, counters, exporters.cpu_ns);
	*ret_lost = counters[OP_COUNT_RING_FULL];
	return 0;
}

static void from_rooms(struct otelprof *p, const uint64_t *counters,
		       struct otelprof_stats *s)
{
	struct op_processes_stats processes;
	struct op_exporters_stats exporters;
	struct op_arena_stats arena;

	op_parts_get_stats(p->parts, s);
	op_processes_get_stats(p->processes, &processes);
	op_exporters_get_stats(p->exporters, &exporters);
	op_arena_get_stats(p->arena, &arena);
	add_ends(op_sampler_ends(p->sampler), s);
	s->stacks_lost = op_sampler_announcements_lost(p->sampler);
	s->contexts_lost += op_sampler_contexts(p->sampler)->lost;
	s->labels_cut += op_sampler_contexts(p->sampler)->cut;
	s->contexts_refused = processes.contexts_refused;
	s->samples_exported = exporters.samples_exported;
	s->samples_pending += exporters.samples_pending + op_window_samples(p->window);
	s->processes = processes.processes;
	s->executables = processes.executables;
	s->processes_unseen = processes.unseen;
	s->executables_unseen = processes.executables_unseen;
	s->mappings_unseen = processes.mappings_unseen;
	s->tables_failed = processes.tables_failed;
	s->reads_by_child = processes.reads_by_child;
	s->reads_stalled = processes.reads_stalled;
	s->reads_refused = processes.reads_refused;
	s->symbol_bytes = processes.symbol_bytes + op_kernel_symbols_bytes(p->kernel);
	s->arena_bytes = arena.used_bytes;
	s->arena_limit_bytes = arena.limit_bytes;
	s->requests_sent = exporters.requests_sent;
	s->bytes_sent = exporters.bytes_sent;
	s->samples_restored = exporters.samples_restored;
	s->samples_spilled = exporters.samples_spilled;
	s->requests_restored = exporters.requests_restored;
	s->spill_errors = exporters.spill_errors;
	s->requests_recompressed = exporters.requests_recompressed;
	s->cpu_ns = cpu_ns(p, counters, exporters.cpu_ns);
	s->rate_changes = p->budget.changes;
	s->sample_period_ns =
		op_rule_rates_period_ns(op_rule_set_rates(p->targets), 0, p->rate_hz);
	s->paused = p->paused;
	s->memory_bytes = op_limit_used(p);
	s->memory_limit_bytes = p->config.memory_limit_bytes;
	s->memory_over = p->limit.over;
	s->names_evicted = processes.names_evicted;
	s->tables_evicted = processes.tables_evicted;
	s->processes_evicted = processes.processes_evicted;
	s->names_postponed = processes.names_postponed;
	s->tables_postponed = processes.tables_postponed;
}

int otelprof_get_stats(struct otelprof *p, struct otelprof_stats *ret)
{
	_cleanup_leave_ struct otelprof *held = NULL;
	uint64_t counters[OP_COUNTERS];
	struct otelprof_stats s = { 0 };
	uint64_t drops[OP_DROPS];
	uint64_t records;
	int r = op_handle_enter(p, &held);
	size_t i;

	if (r < 0)
		return r;
	r = op_capture_counters(p->capture, counters, NULL);
	if (r < 0)
		return op_fail(&p->log, r, "the kernel's counters cannot be read: %s",
			       strerror(-r));
	from_kernel(counters, &s);
	s.samples_taken += op_parts_taken(p->parts)->taken;
	read_drops(p, counters, drops);
	for (i = 0; i < OP_DROPS; i++)
		s.samples_dropped += drops[i];
	/* records in the ring. One may be read before its program has counted it */
	records = op_session_counts(p->session)->records;
	if (counters[OP_COUNT_OUTPUT] > records)
		s.samples_pending = counters[OP_COUNT_OUTPUT] - records;
	from_rooms(p, counters, &s);
	s.events_lost = op_capture_events_lost(p->capture);
	op_capture_run_time(p->capture, &s.bpf_run_ns, &s.bpf_run_count);
	return op_config_give(ret, &s, sizeof(s),
			      OP_CONFIG_THROUGH(struct otelprof_stats, sample_period_ns));
}

int otelprof_drops(struct otelprof *p, otelprof_drop_fn fn, void *userdata)
{
	_cleanup_leave_ struct otelprof *held = NULL;
	static const struct {
		const char *name;
		const char *sentence;
	} reasons[OP_DROPS] = {
#define OP_DROP(NAME, name, sentence) [OP_DROP_##NAME] = { name, sentence },
#include "base/rows/drops.def"
#undef OP_DROP
	};
	uint64_t counters[OP_COUNTERS];
	uint64_t drops[OP_DROPS];
	size_t i;
	int r = op_handle_enter(p, &held);

	if (r < 0)
		return r;
	if (!fn)
		return op_fail(&p->log, -EINVAL, "otelprof_drops: fn is NULL");
	r = op_capture_counters(p->capture, counters, NULL);
	if (r < 0)
		return op_fail(&p->log, r, "the kernel's counters cannot be read: %s",
			       strerror(-r));
	read_drops(p, counters, drops);
	for (i = 0; i < OP_DROPS; i++)
		fn(userdata, reasons[i].name, reasons[i].sentence, drops[i]);
	return 0;
}

static const struct {
	uint32_t number;
	const char *name;
	const char *sentence;
} errors[] = {
#define OP_ERROR(number, name, sentence) { number, #name, sentence },
#include "op_errors.def"
#undef OP_ERROR
};

int otelprof_unwind_errors(struct otelprof *p, otelprof_unwind_error_fn fn,
			   void *userdata)
{
	_cleanup_leave_ struct otelprof *held = NULL;
	struct op_processes_stats processes;
	uint64_t counters[OP_COUNTERS];
	size_t i;
	int r = op_handle_enter(p, &held);

	if (r < 0)
		return r;
	if (!fn)
		return -EINVAL;
	r = op_capture_counters(p->capture, counters, NULL);
	if (r < 0)
		return r;
	op_processes_get_stats(p->processes, &processes);
	for (i = 0; i < OP_ARRAY_SIZE(errors); i++) {
		uint64_t n =
			counters[OP_COUNT_ERRORS + errors[i].number - OP_ERROR_FIRST] +
			op_sampler_ends(p->sampler)[errors[i].number];

		if (n)
			fn(userdata, errors[i].name, errors[i].sentence, n);
	}
	return 0;
}

static const char *reason_of(uint32_t end)
{
	size_t i;

	if (end == OP_END_TRUNCATED)
		return "truncated";
	if (end == OP_END_NO_TABLE)
		return "no_table";
	for (i = 0; i < OP_ARRAY_SIZE(errors); i++)
		if (errors[i].number == end)
			return errors[i].name;
	return "unknown";
}

/* The row of a file and a reason, and the sum of that file's rows. */
struct ended {
	const struct op_ended_row *row;
	uint64_t file_count;
};

static int by_file(const void *a, const void *b)
{
	const struct ended *x = a;
	const struct ended *y = b;

	if (x->file_count != y->file_count)
		return x->file_count > y->file_count ? -1 : 1;
	if (x->row->file_of != y->row->file_of)
		return x->row->file_of < y->row->file_of ? -1 : 1;
	return x->row->count > y->row->count ? -1 : x->row->count < y->row->count;
}

int otelprof_unwind_files(struct otelprof *p, otelprof_unwind_file_fn fn, void *userdata)
{
	_cleanup_leave_ struct otelprof *held = NULL;
	struct otelprof_unwind_file row = { .size = sizeof(row) };
	uint64_t sums[OP_ENDED_MAX] = { 0 };
	struct ended sorted[OP_ENDED_MAX];
	const struct op_ended *ended;
	size_t i;
	int r = op_handle_enter(p, &held);

	if (r < 0)
		return r;
	if (!fn)
		return -EINVAL;
	ended = op_sampler_ended(p->sampler);
	for (i = 0; i < ended->len; i++)
		sums[ended->row[i].file_of] += ended->row[i].count;
	for (i = 0; i < ended->len; i++)
		sorted[i] = (struct ended){ .row = &ended->row[i],
					    .file_count = sums[ended->row[i].file_of] };
	qsort(sorted, ended->len, sizeof(sorted[0]), by_file);
	for (i = 0; i < ended->len; i++) {
		row.file = sorted[i].row->file;
		row.reason = reason_of(sorted[i].row->end);
		row.count = sorted[i].row->count;
		row.file_count = sorted[i].file_count;
		fn(userdata, &row);
	}
	row = (struct otelprof_unwind_file){ .size = sizeof(row),
					     .count = ended->others,
					     .file_count = ended->others };
	if (ended->others)
		fn(userdata, &row);
	return 0;
}
