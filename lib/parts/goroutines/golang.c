/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Snapshots of Go processes, read from the outside while they run, once a window: all
 * goroutines (the kind goroutines), and the runtime's memory profile (the kind heap). A
 * snapshot reads one process after another, in slices of time.
 *
 *   golang.c     snapshots of goroutines: rounds over the processes
 *   waits.c      where they wait: looks at random moments
 *   heaps.c      snapshots of heaps
 *   heap.c       the heap of one process
 *   processes.c      the processes
 *   visit.c      the goroutines of one process
 *   process.c    what is known of a Go process
 *
 * runtime/go reads the runtime's structs.
 */
#include <errno.h>
#include <stdlib.h>

#include "base/io.h"
#include "base/macros.h"
#include "kernel/capture.h"
#include "parts/goroutines/heaps.h"
#include "parts/goroutines/processes.h"
#include "parts/goroutines/visit.h"
#include "parts/goroutines/waits.h"
#include "parts/parts.h"
#include "process/generation.h"
#include "process/processes.h"
#include "process/program.h"
#include "process/registry.h"

/* Time for the rest of a snapshot when a window ends, and when the last one does. */
static const uint64_t LIMIT_NS = UINT64_C(50000000);
static const uint64_t LAST_NS = UINT64_C(1000000000);

#define PAUSE_NS UINT64_C(2000000) /* pause between two slices, for other work */

enum {
	HEAPS_SHARE = 2, /* part of a finish's time that goroutines leave to heaps */
	TURN_PARTS = 4,	 /* a slice's share of a poll */
	PROGRAM = 0,	 /* its index in HOOKS, lib/kernel/kinds/goroutines.c */
};

/* If no goroutines were found, the process had perhaps just begun. It is searched again
 * after this time. */
static const uint64_t SEARCH_AGAIN_NS = UINT64_C(60000000000);

struct op_golang {
	struct op_part_config config;
	struct op_golang_processes go_processes;
	struct op_golang_queue queue; /* of the current snapshot */
	uint32_t round;
	bool due; /* this window has no snapshot yet */
	uint64_t next_ns;
	struct op_golang_visit visit;
	struct op_golang_heaps heaps;
	struct op_golang_waits waits;
};

static int golang_make(const struct op_part_config *config, void **ret)
{
	struct op_golang *g = calloc(1, sizeof(*g));

	if (!g)
		return -ENOMEM;
	g->config = *config;
	g->go_processes.processes = config->processes;
	op_golang_heaps_init(&g->heaps, &g->go_processes, config);
	op_golang_waits_init(&g->waits, &g->go_processes, config);
	g->visit.processes = config->processes;
	g->visit.sampler = config->sampler;
	g->due = true;
	*ret = g;
	return 0;
}

static void golang_free(void *part)
{
	struct op_golang *g = part;

	op_golang_heaps_deinit(&g->heaps);
	op_golang_waits_deinit(&g->waits);
	op_golang_processes_deinit(&g->go_processes);
	op_golang_queue_clear(&g->queue);
	free(g);
}

/* Begin with the process of @record, if it runs Go. */
static void enter(struct op_golang *g, const struct op_record *record,
		  const struct op_window *window, struct op_part_taken *taken)
{
	struct op_processes *p = g->config.processes;
	struct op_proc *proc = op_golang_queue_proc(&g->queue, p, record);
	size_t i = proc ? op_golang_processes_get(&g->go_processes, proc) : SIZE_MAX;
	struct op_golang_process *process;

	if (i == SIZE_MAX)
		return;
	process = g->go_processes.list.data[i];
	process->round = g->round;
	if (!process->searched ||
	    (!process->places.allgs &&
	     op_clock_monotonic_ns() - process->searched_ns > SEARCH_AGAIN_NS))
		op_golang_process_search(process, p, proc);
	if (process->places.allgs)
		op_golang_visit_begin(&g->visit, process, record,
				      &op_proc_view_now(proc).program->memory.memory,
				      window, taken);
}

/* ---- a snapshot ---- */

static bool is_under_way(const struct op_golang *g)
{
	return g->visit.process || g->queue.records.len;
}

/* List the processes. If the previous snapshot was cut short, begin at the process
 * where it stopped. */
static void begin(struct op_golang *g, int program)
{
	(void)op_golang_queue_list(&g->queue, program, g->config.log, "goroutines");
	g->due = false;
	g->round++;
}

/* Forget processes that are not in the snapshot, except their heaps. */
static void rest(struct op_golang *g)
{
	size_t i = 0;

	op_golang_visit_end(&g->visit);
	g->queue.records.len = 0;
	while (i < g->go_processes.list.len)
		if (g->go_processes.list.data[i]->round != g->round &&
		    !g->go_processes.list.data[i]->heap_round &&
		    !g->go_processes.list.data[i]->waits)
			op_golang_processes_forget(&g->go_processes, i);
		else
			i++;
}

/* Go on until @until_ns, or until it is complete. */
static void go_on(struct op_golang *g, struct op_window *window, uint64_t until_ns,
		  struct op_part_taken *taken)
{
	struct op_allowance *allowance =
		op_processes_config(g->config.processes)->allowance;
	const struct op_record *record;
	int r = 0;

	op_allowance_until(allowance, until_ns);
	do {
		if (g->visit.process) {
			r = op_golang_visit_go_on(&g->visit, window, taken);
			continue;
		}
		record = op_golang_queue_next(&g->queue);
		if (record)
			enter(g, record, window, taken);
		else
			rest(g);
	} while (r == 0 && is_under_way(g) && op_allowance_now(allowance) < until_ns);
	op_allowance_until(allowance, 0);
}

/* Count the goroutines of known processes that the snapshot did not reach. */
static void count_late(struct op_golang *g, struct op_part_taken *taken)
{
	const struct op_record *record;
	uint64_t left = 0;

	if (g->visit.process) {
		/* A process that had a whole window for itself comes last in the next
		 * one. */
		g->queue.first = g->queue.at > 1 ? g->visit.process->pid : 0;
		left = g->visit.slice.len - g->visit.index;
	}
	while ((record = op_golang_queue_next(&g->queue))) {
		struct op_proc *proc =
			op_registry_find_alive(g->config.processes, record->pid);
		size_t i = proc ? op_golang_processes_find(&g->go_processes, proc)
				: SIZE_MAX;
		struct op_go_slice slice;

		g->queue.first = g->queue.first ? g->queue.first : record->pid;
		if (i == SIZE_MAX)
			continue;
		g->go_processes.list.data[i]->round = g->round;
		if (op_go_read_allgs(&op_proc_view_now(proc).program->memory.memory,
				     g->go_processes.list.data[i]->places.allgs,
				     &slice) == 0)
			left += OP_MIN(slice.len, (uint64_t)OP_GOROUTINES_MAX);
	}
	op_part_drop(taken, OP_EVENT_GOROUTINES, OP_DROP_LATE, left);
}

static int heaps_program(const struct op_golang *g)
{
	return op_capture_program(g->config.capture, OP_EVENT_HEAP_LIVE, PROGRAM);
}

static int waits_program(const struct op_golang *g)
{
	return op_capture_program(g->config.capture, OP_EVENT_GOROUTINE_WAITS, PROGRAM);
}

static void poll_goroutines(void *part, struct op_allowance *allowance,
			    struct op_window *window, struct op_part_taken *taken)
{
	struct op_golang *g = part;
	int program = op_capture_program(g->config.capture, OP_EVENT_GOROUTINES, PROGRAM);
	uint64_t now;

	op_golang_waits_poll(&g->waits, waits_program(g), allowance, window, taken);
	op_golang_heaps_poll(&g->heaps, heaps_program(g), allowance, taken);
	now = op_clock_monotonic_ns();
	if (program < 0) {
		if (is_under_way(g))
			count_late(g, taken);
		rest(g);
	} else if (g->due && !op_processes_busy(g->config.processes)) {
		begin(g, program);
	}
	if (is_under_way(g) && now >= g->next_ns) {
		go_on(g, window,
		      op_allowance_part(allowance, op_allowance_now(allowance),
					TURN_PARTS),
		      taken);
		g->next_ns = op_clock_monotonic_ns() + PAUSE_NS;
	}
}

static uint64_t next_ns(const void *part)
{
	const struct op_golang *g = part;
	uint64_t ns[] = { op_golang_heaps_next_ns(&g->heaps),
			  op_golang_waits_next_ns(&g->waits),
			  is_under_way(g) ? g->next_ns : 0 };
	uint64_t first = 0;
	size_t i;

	for (i = 0; i < OP_ARRAY_SIZE(ns); i++)
		if (ns[i] && (!first || ns[i] < first))
			first = ns[i];
	return first;
}

/*
 * End the window's snapshot. The rest is dropped, and the next snapshot begins with
 * those processes. A window that ends early has no snapshot and no heaps. The next
 * window reports what they allocate.
 */
static int snapshot(void *part, struct op_window *window, enum op_part_end end,
		    struct op_part_taken *taken)
{
	struct op_golang *g = part;
	int program = op_capture_program(g->config.capture, OP_EVENT_GOROUTINES, PROGRAM);
	bool early = end == OP_PART_END_RATE || end == OP_PART_END_BUDGET;
	uint64_t limit_ns = end == OP_PART_END_STOP ? LAST_NS : LIMIT_NS;
	struct op_allowance *allowance =
		op_processes_config(g->config.processes)->allowance;
	uint64_t until_ns = op_allowance_now(allowance) + limit_ns;

	/* it cannot begin after the stop */
	if (end == OP_PART_END_LAST)
		return 0;
	op_golang_waits_finish(&g->waits, waits_program(g), window, until_ns, taken);
	if (program >= 0 && g->due)
		begin(g, program);
	if (is_under_way(g))
		go_on(g, window, until_ns, taken);
	if (is_under_way(g))
		count_late(g, taken);
	rest(g);
	if (!early)
		op_golang_heaps_finish(&g->heaps, heaps_program(g), window,
				       OP_MAX(until_ns, op_allowance_now(allowance) +
								limit_ns / HEAPS_SHARE),
				       taken);
	g->due = !early;
	g->next_ns = 0;
	return 0;
}

const struct op_part_ops op_part_goroutines = {
	.name = "goroutines",
	.when = OP_PART_BEFORE_RING,
	.make = golang_make,
	.free = golang_free,
	.poll = poll_goroutines,
	.next_ns = next_ns,
	.snapshot = snapshot,
};
