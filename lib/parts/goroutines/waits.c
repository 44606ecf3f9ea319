/* SPDX-License-Identifier: Apache-2.0 */
#include "parts/goroutines/waits.h"

#include <errno.h>

#include "base/io.h"
#include "base/macros.h"
#include "process/generation.h"
#include "process/processes.h"
#include "process/program.h"

enum {
	TURN_PARTS = 4, /* a slice's share of a poll */
	/* An interval is this many times as long as the CPU time of a look: 2 % of a
	 * CPU. */
	COST_PARTS = 50,
};

#define PAUSE_NS UINT64_C(2000000) /* pause between two slices, for other work */

/* Greatest age of the list of processes. */
static const uint64_t LIST_NS = UINT64_C(100000000);
/* If no goroutines were found, the process had perhaps just begun. It is searched again
 * at twice its age, within these bounds. */
static const uint64_t SEARCH_SOON_NS = UINT64_C(5000000);
static const uint64_t SEARCH_AGAIN_NS = UINT64_C(1000000000);

void op_golang_waits_init(struct op_golang_waits *w,
			  struct op_golang_processes *go_processes,
			  const struct op_part_config *config)
{
	w->go_processes = go_processes;
	w->processes = config->processes;
	w->log = config->log;
	w->visit.processes = config->processes;
	w->visit.sampler = config->sampler;
	w->period_ns = OP_NS_PER_S / OP_MAX(config->sample_rate_hz, 1u);
	w->random = op_hash_seed();
}

void op_golang_waits_deinit(struct op_golang_waits *w)
{
	op_golang_queue_clear(&w->queue);
}

static void off(struct op_golang_waits *w)
{
	size_t i;

	if (!w->length_ns)
		return;
	op_golang_visit_end(&w->visit);
	for (i = 0; i < w->go_processes->list.len; i++)
		w->go_processes->list.data[i]->waits = false;
	w->queue.records.len = 0;
	w->listed_ns = w->length_ns = 0;
	w->looks = false;
}

/* The next interval begins at the end of the one before. If it would be over already,
 * it lasts until now. So every moment is in an interval. */
static void begin_interval(struct op_golang_waits *w, uint64_t now)
{
	uint64_t length = OP_MAX(w->period_ns, w->cost_ns * COST_PARTS);

	w->begin_ns = w->length_ns ? w->begin_ns + w->length_ns : now;
	if (w->begin_ns + length < now)
		length = now - w->begin_ns;
	w->length_ns = length;
	w->at_ns = w->begin_ns + (uint64_t)((double)(op_random_next(&w->random) >> 32) *
					    0x1p-32 * (double)length);
	w->cost_ns = 0;
}

static void begin_look(struct op_golang_waits *w, int program, uint64_t now)
{
	w->looks = true;
	w->queue.at = 0;
	if (w->listed_ns && now - w->listed_ns < LIST_NS)
		return;
	w->listed_ns = now;
	op_golang_processes_sweep(w->go_processes);
	(void)op_golang_queue_list(&w->queue, program, w->log, "waits of goroutines");
}

static bool is_to_search(const struct op_golang_process *process)
{
	uint64_t age = process->searched_ns - process->since_ns;

	if (!process->searched)
		return true;
	if (process->places.allgs)
		return false;
	if (process->searched_ns < process->since_ns || age < SEARCH_SOON_NS)
		age = SEARCH_SOON_NS;
	return op_clock_monotonic_ns() - process->searched_ns >
	       OP_MIN(age, SEARCH_AGAIN_NS);
}

/* Begin with the process of @record, if it runs Go. */
static void enter(struct op_golang_waits *w, const struct op_record *record,
		  const struct op_window *window, struct op_part_taken *taken)
{
	struct op_proc *proc = op_golang_queue_proc(&w->queue, w->processes, record);
	size_t i = proc ? op_golang_processes_get(w->go_processes, proc) : SIZE_MAX;
	struct op_golang_process *process;
	struct op_record r = *record;

	if (i == SIZE_MAX)
		return;
	process = w->go_processes->list.data[i];
	process->waits = true;
	if (is_to_search(process))
		op_golang_process_search(process, w->processes, proc);
	if (!process->places.allgs)
		return;
	r.event = OP_EVENT_GOROUTINE_WAITS;
	r.time_ns = op_clock_monotonic_ns();
	op_golang_visit_begin(&w->visit, process, &r,
			      &op_proc_view_now(proc).program->memory.memory, window,
			      taken);
	w->visit.waits_ns = w->length_ns;
}

/* Go on until @until_ns, or until all were looked at. */
static void go_on(struct op_golang_waits *w, struct op_window *window, uint64_t until_ns,
		  struct op_part_taken *taken)
{
	struct op_allowance *allowance = op_processes_config(w->processes)->allowance;
	uint64_t begun_ns = op_clock_thread_ns();
	const struct op_record *record;
	int r = 0;

	op_allowance_until(allowance, until_ns);
	do {
		if (w->visit.process) {
			r = op_golang_visit_go_on(&w->visit, window, taken);
			continue;
		}
		record = op_golang_queue_next(&w->queue);
		if (record)
			enter(w, record, window, taken);
		else
			w->looks = false;
	} while (r == 0 && w->looks && op_allowance_now(allowance) < until_ns);
	op_allowance_until(allowance, 0);
	w->cost_ns += op_clock_thread_ns() - begun_ns;
	if (!w->looks)
		begin_interval(w, op_clock_monotonic_ns());
	w->next_ns = op_clock_monotonic_ns() + PAUSE_NS;
}

void op_golang_waits_poll(struct op_golang_waits *w, int program,
			  struct op_allowance *allowance, struct op_window *window,
			  struct op_part_taken *taken)
{
	uint64_t now = op_clock_monotonic_ns();

	if (program < 0) {
		off(w);
		return;
	}
	if (!w->length_ns)
		begin_interval(w, now);
	if (!w->looks && now >= w->at_ns) {
		begin_look(w, program, now);
		w->next_ns = now;
	}
	if (w->looks && now >= w->next_ns)
		go_on(w, window,
		      op_allowance_part(allowance, op_allowance_now(allowance),
					TURN_PARTS),
		      taken);
}

void op_golang_waits_finish(struct op_golang_waits *w, int program,
			    struct op_window *window, uint64_t until_ns,
			    struct op_part_taken *taken)
{
	if (program >= 0 && w->looks)
		go_on(w, window, until_ns, taken);
}

uint64_t op_golang_waits_next_ns(const struct op_golang_waits *w)
{
	if (!w->length_ns)
		return 0;
	return w->looks ? w->next_ns : w->at_ns;
}
