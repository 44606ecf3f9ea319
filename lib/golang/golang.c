/* SPDX-License-Identifier: Apache-2.0 */
/* Takes a snapshot of goroutines, one process after another, in slices of time. */
#include "golang/golang.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/io.h"
#include "base/log.h"
#include "base/macros.h"
#include "base/vec.h"
#include "capture/capture.h"
#include "golang/visit.h"
#include "process/processes.h"
#include "process/program.h"
#include "process/table.h"
#include "threads/iterate.h"

#define SLICE_NS UINT64_C(5000000) /* time that a poll takes at most */
#define PAUSE_NS UINT64_C(2000000) /* between two slices: others want the CPU, too */

enum {
	PROGRAM = 0, /* index in op_kind_goroutines.hooks */
	PROCESSES_MAX = 65536,
	/* Processes that are read in /proc for one snapshot, because they were idle for
	 * so long that they had been forgotten. */
	LEARN_MAX = 256,
};

/* A process in which no goroutines were found, as in one that had just begun, is searched again. */
static const uint64_t SEARCH_AGAIN_NS = UINT64_C(60000000000);

struct op_golang {
	struct op_golang_config config;
	OP_VEC(struct op_golang_process *) known;
	/* The snapshot that is under way: the processes that the filter includes. */
	OP_VEC(struct op_record) wanted;
	size_t begun; /* in wanted, which processes are taken from */
	size_t at;    /* how many were taken */
	uint32_t learnt;
	uint32_t round;
	uint32_t first; /* pid of the process that the next one begins with; 0: any */
	bool due;	/* this window has no snapshot yet */
	bool told;	/* logged that the processes could not be listed */
	uint64_t next_ns;
	struct op_golang_visit visit;
};

int op_golang_new(const struct op_golang_config *config, struct op_golang **ret)
{
	struct op_golang *g = calloc(1, sizeof(*g));

	if (!g)
		return -ENOMEM;
	g->config = *config;
	g->visit.processes = config->processes;
	g->visit.sampler = config->sampler;
	g->due = true;
	*ret = g;
	return 0;
}

/* Forget number @i of the known processes; the last one takes its place. */
static void forget(struct op_golang *g, size_t i)
{
	op_golang_process_free(g->known.data[i]);
	g->known.data[i] = g->known.data[--g->known.len];
}

struct op_golang *op_golang_free(struct op_golang *g)
{
	if (!g)
		return NULL;
	while (g->known.len)
		forget(g, 0);
	op_vec_clear(&g->known);
	op_vec_clear(&g->wanted);
	free(g);
	return NULL;
}

/* ---- processes ---- */

/* The number of @proc among the known processes, or SIZE_MAX. */
static size_t find_known(const struct op_golang *g, const struct op_proc *proc)
{
	size_t i;

	for (i = 0; i < g->known.len; i++)
		if (op_golang_process_is(g->known.data[i], proc))
			return i;
	return SIZE_MAX;
}

/* The same; it is learnt if it is not known. SIZE_MAX: it does not run Go. */
static size_t know(struct op_golang *g, const struct op_proc *proc)
{
	_cleanup_(op_golang_process_freep) struct op_golang_process *new = NULL;
	struct op_golang_process **slot;
	size_t i = find_known(g, proc);

	if (i != SIZE_MAX)
		return i;
	if (op_golang_process_new(g->config.processes, proc, &new) < 0 || !new)
		return SIZE_MAX;
	slot = op_vec_push(&g->known);
	if (!slot)
		return SIZE_MAX;
	*slot = OP_TAKE_PTR(new);
	return g->known.len - 1;
}

static struct op_proc *proc_of(struct op_golang *g, uint32_t pid)
{
	struct op_proc *proc = op_table_find_alive(g->config.processes, pid);

	if (proc || g->learnt >= LEARN_MAX)
		return proc;
	g->learnt++;
	return op_table_learn(g->config.processes, pid);
}

/* Begin with the process of @record, if it runs Go. */
static void enter(struct op_golang *g, const struct op_record *record,
		  const struct op_window *window, struct op_golang_taken *taken)
{
	struct op_proc *proc = proc_of(g, record->pid);
	size_t i = proc ? know(g, proc) : SIZE_MAX;
	struct op_golang_process *process;
	int r;

	if (i == SIZE_MAX)
		return;
	process = g->known.data[i];
	process->round = g->round;
	if (!process->places.allgs) {
		if (op_clock_monotonic_ns() - process->learnt_ns > SEARCH_AGAIN_NS)
			forget(g, i);
		return;
	}
	/* A process without a list was not what it looked like: it is learnt again. */
	r = op_golang_visit_begin(&g->visit, process, record,
				  &op_proc_view_now(proc).program->memory.memory, window,
				  taken);
	if (r == -EBADMSG)
		process->places.allgs = 0;
}

/* ---- a snapshot ---- */

static int64_t take_wanted(void *ctx, const uint8_t *bytes, size_t len)
{
	struct op_golang *g = ctx;
	size_t at;

	for (at = 0; len - at >= sizeof(struct op_record);
	     at += sizeof(struct op_record)) {
		struct op_record *r;

		if (g->wanted.len >= PROCESSES_MAX)
			continue;
		r = op_vec_push(&g->wanted);
		if (!r)
			return -ENOMEM;
		memcpy(r, bytes + at, sizeof(*r));
	}
	return (int64_t)at;
}

static bool is_under_way(const struct op_golang *g)
{
	return g->visit.process || g->wanted.len;
}

/* List the processes. If the snapshot before this one was cut short, it begins where that
 * had come to. */
static void begin(struct op_golang *g, int program)
{
	size_t i;
	int r;

	g->due = false;
	g->round++;
	g->learnt = 0;
	g->at = g->begun = 0;
	g->wanted.len = 0;
	r = op_threads_iterate(program, take_wanted, g);
	if (r < 0 && !g->told) {
		op_log(g->config.log, OP_LOG_WARNING,
		       "not all processes of a snapshot of goroutines could be listed "
		       "(%s), ignoring",
		       strerror(-r));
		g->told = true;
	}
	for (i = 0; i < g->wanted.len; i++)
		if (g->wanted.data[i].pid == g->first)
			g->begun = i;
	g->first = 0;
}

/* The next process, or NULL. */
static const struct op_record *next_wanted(struct op_golang *g)
{
	size_t i = g->begun + g->at;

	if (g->at >= g->wanted.len)
		return NULL;
	g->at++;
	return &g->wanted.data[i < g->wanted.len ? i : i - g->wanted.len];
}

/* What was learnt of processes that are not in it is forgotten. */
static void end(struct op_golang *g)
{
	size_t i = 0;

	op_golang_visit_end(&g->visit);
	g->wanted.len = 0;
	while (i < g->known.len)
		if (g->known.data[i]->round != g->round)
			forget(g, i);
		else
			i++;
}

/* Go on until @until_ns, or until it is complete. */
static void go_on(struct op_golang *g, struct op_window *window, uint64_t until_ns,
		  struct op_golang_taken *taken)
{
	const struct op_record *record;
	int r = 0;

	op_processes_slice(g->config.processes, until_ns);
	do {
		if (g->visit.process) {
			r = op_golang_visit_go_on(&g->visit, window, taken);
			continue;
		}
		record = next_wanted(g);
		if (record)
			enter(g, record, window, taken);
		else
			end(g);
	} while (r == 0 && is_under_way(g) && op_clock_monotonic_ns() < until_ns);
	op_processes_slice(g->config.processes, 0);
}

/* Count the goroutines of the known processes that were not come to. */
static void count_late(struct op_golang *g, struct op_golang_taken *taken)
{
	const struct op_record *record;
	uint64_t left = 0;

	if (g->visit.process) {
		/* One that had a whole window for itself lets others go first. */
		g->first = g->at > 1 ? g->visit.process->pid : 0;
		left = g->visit.slice.len - g->visit.index;
	}
	while ((record = next_wanted(g))) {
		struct op_proc *proc =
			op_table_find_alive(g->config.processes, record->pid);
		size_t i = proc ? find_known(g, proc) : SIZE_MAX;
		struct op_golang_slice slice;

		g->first = g->first ? g->first : record->pid;
		if (i == SIZE_MAX)
			continue;
		g->known.data[i]->round = g->round;
		if (op_golang_read_allgs(&op_proc_view_now(proc).program->memory.memory,
					 g->known.data[i]->places.allgs, &slice) == 0)
			left += OP_MIN(slice.len, (uint64_t)OP_GOROUTINES_MAX);
	}
	taken->taken += left;
	taken->dropped_late += left;
}

void op_golang_poll(struct op_golang *g, struct op_window *window,
		    struct op_golang_taken *taken)
{
	int program = op_capture_program(g->config.capture, OP_EVENT_GOROUTINES, PROGRAM);
	uint64_t now = op_clock_monotonic_ns();

	if (program < 0) {
		if (is_under_way(g))
			count_late(g, taken);
		end(g);
	} else if (g->due && !op_processes_busy(g->config.processes)) {
		begin(g, program);
	}
	if (is_under_way(g) && now >= g->next_ns) {
		go_on(g, window, now + SLICE_NS, taken);
		g->next_ns = op_clock_monotonic_ns() + PAUSE_NS;
	}
}

uint64_t op_golang_next_ns(const struct op_golang *g)
{
	return is_under_way(g) ? g->next_ns : 0;
}

void op_golang_finish(struct op_golang *g, struct op_window *window, uint64_t limit_ns,
		      struct op_golang_taken *taken)
{
	int program = op_capture_program(g->config.capture, OP_EVENT_GOROUTINES, PROGRAM);

	if (program >= 0 && g->due)
		begin(g, program);
	if (is_under_way(g))
		go_on(g, window, op_clock_monotonic_ns() + limit_ns, taken);
	if (is_under_way(g))
		count_late(g, taken);
	end(g);
	g->due = true;
	g->next_ns = 0;
}

void op_golang_skip(struct op_golang *g)
{
	g->due = false;
}
