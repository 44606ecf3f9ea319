/* SPDX-License-Identifier: Apache-2.0 */
#include "parts/goroutines/heaps.h"

#include <errno.h>

#include "base/io.h"
#include "base/macros.h"
#include "process/generation.h"
#include "process/processes.h"
#include "process/program.h"
#include "process/registry.h"
#include "process/resource/identity.h"

enum {
	TURN_PARTS = 4, /* a slice's share of a poll */
};

#define NOTE_NS	 UINT64_C(30000000) /* most that noting one heap may add to it */
#define PAUSE_NS UINT64_C(2000000)  /* pause between two slices, for other work */

/* The last list may lack a process that began this short a time before it. */
static const uint64_t LATE_NS = UINT64_C(1000000000);

void op_golang_heaps_init(struct op_golang_heaps *h,
			  struct op_golang_processes *go_processes,
			  const struct op_part_config *config)
{
	h->go_processes = go_processes;
	h->log = config->log;
	h->heap.processes = config->processes;
	h->heap.sampler = config->sampler;
}

void op_golang_heaps_deinit(struct op_golang_heaps *h)
{
	op_golang_heap_deinit(&h->heap);
	op_golang_queue_clear(&h->queue);
}

/* The kind is off: forget the heaps. */
static void forget(struct op_golang_heaps *h)
{
	size_t i;

	for (i = 0; h->round && i < h->go_processes->list.len; i++)
		op_golang_process_forget_heap(h->go_processes->list.data[i]);
	h->queue.records.len = 0;
	h->noting = false;
	h->round = 0;
	h->on_ns = 0;
}

/* Begin a snapshot. */
static void begin(struct op_golang_heaps *h, int program)
{
	uint64_t now = op_clock_monotonic_ns();
	int r = op_golang_queue_list(&h->queue, program, h->log, "Go heaps");
	size_t i;

	h->round++;
	h->heap.remembered = 0;
	for (i = 0; i < h->go_processes->list.len; i++)
		h->heap.remembered += h->go_processes->list.data[i]->heap_allocs.len;
	/* A list that was cut short does not show that the other processes are gone. */
	for (i = 0; r < 0 && i < h->go_processes->list.len; i++)
		if (h->go_processes->list.data[i]->heap_round)
			h->go_processes->list.data[i]->heap_round = h->round;
	h->listed_ns = now;
}

/* When the program began, or earlier: of one that was met in /proc, as where events were lost, when
 * its process began. 0: unknown. */
static uint64_t began_ns(struct op_processes *p, const struct op_program *program)
{
	const char *root = op_processes_config(p)->procfs_root;
	struct op_stat stat;
	uint64_t ago_ns;

	if (program->since_ns || op_stat_read(root, program->proc_pid, &stat) < 0)
		return program->since_ns;
	ago_ns = op_clock_boottime_ns() - stat.start_ns;
	return op_clock_monotonic_ns() - OP_MIN(ago_ns, op_clock_monotonic_ns());
}

/* Read the heap of a process. Returns 0; -ENOENT if it has none; -errno. */
static int read_heap(struct op_golang_heaps *h, const struct op_record *record,
		     uint64_t listed_before_ns, uint64_t until_ns,
		     struct op_part_taken *taken)
{
	struct op_processes *p = h->heap.processes;
	struct op_proc *proc = op_golang_queue_proc(&h->queue, p, record);
	size_t i = proc ? op_golang_processes_get(h->go_processes, proc) : SIZE_MAX;
	struct op_golang_process *process;
	uint64_t since_ns;
	int r;

	if (i == SIZE_MAX)
		return -ENOENT;
	process = h->go_processes->list.data[i];
	/* The process may have no other records. Without this it would be forgotten,
	 * with what was reported. */
	op_registry_use(p, proc);
	/* Nobody gets what the process allocated while the filter left it out. */
	if (process->heap_round && process->heap_round + 1 != h->round)
		op_golang_process_forget_heap(process);
	process->heap_round = h->round;
	since_ns = began_ns(p, op_proc_view_now(proc).program);
	r = op_golang_heap_read(&h->heap, process, proc,
				listed_before_ns && since_ns + LATE_NS > listed_before_ns,
				until_ns, taken);
	if (r < 0 && r != -ENOENT) {
		bool late = r == -ETIME || r == -ETIMEDOUT;

		/* as many stacks as in the last snapshot */
		op_part_drop(taken, OP_EVENT_HEAP_LIVE,
			     late	    ? OP_DROP_LATE
			     : r == -EAGAIN ? OP_DROP_MOVED
					    : OP_DROP_RECORD,
			     OP_MAX(process->heap_stacks, UINT64_C(1)));
	}
	return r;
}

void op_golang_heaps_poll(struct op_golang_heaps *h, int program,
			  struct op_allowance *allowance, struct op_part_taken *taken)
{
	uint64_t now = op_clock_monotonic_ns();
	const struct op_record *record;
	uint64_t until_ns;

	if (program < 0) {
		forget(h);
		return;
	}
	h->on_ns = h->on_ns ? h->on_ns : now;
	if (!h->round && !op_processes_busy(h->heap.processes)) {
		begin(h, program);
		h->noting = true;
		h->next_ns = now;
	}
	if (!h->noting || now < h->next_ns)
		return;
	until_ns = op_allowance_part(allowance, op_allowance_now(allowance), TURN_PARTS);
	do {
		record = op_golang_queue_next(&h->queue);
		/* a process that began since then has no past to leave out */
		if (record)
			(void)read_heap(h, record, h->on_ns + LATE_NS,
					op_allowance_now(allowance) + NOTE_NS, taken);
	} while (record && op_allowance_now(allowance) < until_ns);
	h->noting = record != NULL;
	h->next_ns = op_clock_monotonic_ns() + PAUSE_NS;
}

uint64_t op_golang_heaps_next_ns(const struct op_golang_heaps *h)
{
	return h->noting ? h->next_ns : 0;
}

/* Count the stacks of the processes that were not reached: as many as they had before.
 * Returns whether there are any. */
static bool count_late(struct op_golang_heaps *h, struct op_part_taken *taken)
{
	const struct op_record *record;
	bool some = false;
	uint64_t left = 0;

	while ((record = op_golang_queue_next(&h->queue))) {
		struct op_proc *proc =
			op_registry_find_alive(h->heap.processes, record->pid);
		size_t i =
			proc ? op_golang_processes_find(h->go_processes, proc) : SIZE_MAX;

		some = true;
		h->queue.first = h->queue.first ? h->queue.first : record->pid;
		if (i == SIZE_MAX || !h->go_processes->list.data[i]->heap_round)
			continue;
		h->go_processes->list.data[i]->heap_round = h->round;
		left += h->go_processes->list.data[i]->heap_stacks;
	}
	op_part_drop(taken, OP_EVENT_HEAP_LIVE, OP_DROP_LATE, left);
	return some;
}

/* Forget processes that are gone, and the heaps of those that the filter leaves out. */
static void sweep(struct op_golang_heaps *h)
{
	size_t i;

	op_golang_processes_sweep(h->go_processes);
	for (i = 0; i < h->go_processes->list.len; i++)
		if (h->go_processes->list.data[i]->heap_round != h->round)
			op_golang_process_forget_heap(h->go_processes->list.data[i]);
}

void op_golang_heaps_finish(struct op_golang_heaps *h, int program,
			    struct op_window *window, uint64_t until_ns,
			    struct op_part_taken *taken)
{
	struct op_allowance *allowance =
		op_processes_config(h->heap.processes)->allowance;
	uint64_t listed_before_ns = h->round ? h->listed_ns : 0;
	const struct op_record *record;
	int r = 0;

	if (program < 0)
		return;
	h->noting = false;
	begin(h, program);
	while (r == 0 && op_allowance_now(allowance) < until_ns &&
	       (record = op_golang_queue_next(&h->queue))) {
		r = read_heap(h, record, listed_before_ns, until_ns, taken);
		if (r == 0)
			r = op_golang_heap_take(&h->heap, record, window, until_ns,
						taken);
		/* A process that had all the time for itself comes last in the next
		 * snapshot. */
		if (r == -EINPROGRESS || r == -ETIME)
			h->queue.first = h->queue.at > 1 ? record->pid : 0;
		r = r == -EINPROGRESS ? r : 0;
	}
	/* If it did not reach all, processes that began since the previous list are
	 * still entirely new. */
	if (count_late(h, taken))
		h->listed_ns = listed_before_ns;
	sweep(h);
	h->queue.records.len = 0;
}
