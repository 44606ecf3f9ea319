/* SPDX-License-Identifier: Apache-2.0 */
#include "parts/goroutines/visit.h"

#include <errno.h>
#include <string.h>

#include "base/macros.h"
#include "process/generation.h"
#include "process/processes.h"
#include "process/program.h"
#include "process/registry.h"
#include "profile/window.h"
#include "sample/labels.h"
#include "sample/sampler.h"

enum {
	TRIES = 3, /* tries to read a goroutine that runs meanwhile */
	/* Reads that may fail in a row. After that the process is gone, or not what it
	 * looks like. */
	FAILURES_MAX = 64,
	/* Most by which the goroutines of one process may grow the window, so that
	 * others fit, too. */
	WINDOW_BYTES_MAX = 16 << 20,
};

static const char REASON_KEY[] = "goroutine.wait_reason";

void op_golang_visit_begin(struct op_golang_visit *v, struct op_golang_process *process,
			   const struct op_record *record, const struct op_memory *memory,
			   const struct op_window *window, struct op_part_taken *taken)
{
	int r = -EBADMSG;
	int i;

	/* the runtime may be about to change the list */
	for (i = 0; i < TRIES && r == -EBADMSG; i++)
		r = op_go_read_allgs(memory, process->places.allgs, &v->slice);
	/* Without a list the process is not what it looked like. It is searched again. */
	if (r == -EBADMSG)
		process->places.allgs = 0;
	if (r < 0)
		return;
	if (v->slice.len > OP_GOROUTINES_MAX) {
		op_part_drop(taken, record->event, OP_DROP_LATE,
			     v->slice.len - OP_GOROUTINES_MAX);
		v->slice.len = OP_GOROUTINES_MAX;
	}
	v->process = process;
	process->visits++;
	v->record = *record;
	v->index = 0;
	v->chunk_index = 0;
	v->chunk_len = 0;
	v->failures = 0;
	v->window_bytes = op_window_bytes(window);
	v->waits_ns = 0;
}

void op_golang_visit_end(struct op_golang_visit *v)
{
	if (!v->process)
		return;
	op_golang_process_rest(v->process);
	v->process->visits--;
	v->process = NULL;
}

/* Read a goroutine, with its stack if it is parked, so that both are from one moment.
 * Returns 1; 0: there is none; -EBUSY: it ran during each try; -EBADMSG; -errno. */
static int read_one(struct op_golang_visit *v, const struct op_memory *memory,
		    uint64_t address, struct op_goroutine *ret, size_t *ret_len,
		    size_t *ret_below)
{
	const struct op_go_layout *layout = v->process->layout;
	struct op_goroutine after;
	int i;
	int r;

	for (i = 0; i < TRIES; i++) {
		r = op_goroutine_read(memory, layout, address, ret);
		if (r <= 0)
			return r;
		if (ret->state == OP_GOROUTINE_RUNNING)
			return 1;
		if (ret->state >= OP_GOROUTINE_STATES)
			continue;
		if (!op_goroutine_is_parked(ret))
			return -EBADMSG;
		r = op_goroutine_stack(memory, ret, v->stack, ret_len, ret_below);
		if (op_goroutine_read(memory, layout, address, &after) == 1 &&
		    op_goroutine_same(ret, &after))
			return r < 0 ? r : 1;
	}
	return -EBUSY;
}

/* Intern its stack in @window. Returns 0; -EINPROGRESS; -ENOSPC or -ENOMEM. */
static int walk(struct op_golang_visit *v, struct op_proc *proc,
		const struct op_goroutine *g, size_t len, size_t below,
		struct op_window *window, uint32_t *ret)
{
	const struct op_registers registers = {
		.pc = g->pc, .sp = g->sp, .fp = g->fp, .lr = g->lr
	};
	struct op_sampler_stack stack = {
		.registers = &registers, .bytes = v->stack, .len = len, .below = below
	};

	if (g->state == OP_GOROUTINE_RUNNING)
		return op_sampler_running(v->sampler, window, ret);
	/* Its pc is behind a call, unless it has not begun yet. */
	stack.is_caller =
		g->pc != g->start_pc &&
		!op_golang_process_begins(v->process, v->processes, proc, g->pc);
	return op_sampler_stack(v->sampler, proc, &stack, window, ret);
}

static int add_labels(struct op_golang_visit *v, const struct op_goroutine *g,
		      struct op_window *window, struct op_attribute_set *labels)
{
	const char *reason = "";
	int r;

	v->record.detail = (uint16_t)g->state;
	r = op_labels_add(v->sampler, &v->record, 0, window, labels);
	if (g->reason < OP_GO_REASONS_MAX)
		reason = v->process->reasons.text[g->reason];
	if (r < 0 || !*reason)
		return r;
	r = op_window_string_attribute(window, REASON_KEY, reason,
				       &labels->index[labels->len]);
	if (r == 0)
		labels->len++;
	return r;
}

/* Take the goroutine at @address. Returns 1; 0: there is none; or -errno. */
static int take_one(struct op_golang_visit *v, struct op_proc *proc, uint64_t address,
		    struct op_window *window)
{
	struct op_proc_view view = op_proc_view_now(proc);
	struct op_window_sample sample = {
		.event = v->record.event,
		.cpu = (uint32_t)OP_WINDOW_NO_THREAD,
		.time_ns =
			v->record.time_ns +
			(uint64_t)op_processes_config(v->processes)->realtime_offset_ns,
		.value = v->waits_ns ? (int64_t)v->waits_ns : 1,
	};
	struct op_goroutine g;
	size_t below = 0;
	size_t len = 0;
	int r = read_one(v, &view.program->memory.memory, address, &g, &len, &below);

	if (r <= 0)
		return r;
	if (v->waits_ns && !op_golang_process_waits(v->process, &g))
		return 0;
	r = walk(v, proc, &g, len, below, window, &sample.stack);
	if (r < 0)
		return r;
	view = op_proc_view_now(proc);
	r = op_program_resource(v->processes, view.program, view.mappings, &v->record,
				window, &sample.resource);
	if (r == 0)
		r = add_labels(v, &g, window, &sample.labels);
	if (r == 0)
		r = op_window_add(window, &sample);
	return r < 0 ? r : 1;
}

static void count(struct op_golang_visit *v, int result, struct op_part_taken *taken)
{
	bool unread =
		result < 0 && result != -ENOSPC && result != -ENOMEM && result != -EBUSY;

	v->failures = unread ? v->failures + 1 : 0;
	if (result == 0)
		return;
	if (result == -EBUSY)
		op_part_drop(taken, v->record.event, OP_DROP_MOVED, 1);
	else
		op_part_count(taken, v->record.event, result);
}

/* Read the pointers from v->index on. The list only grows. Then it may move, but an
 * index stays valid. */
static int fill_chunk(struct op_golang_visit *v, const struct op_memory *memory)
{
	size_t n = (size_t)OP_MIN(v->slice.len - v->index, (uint64_t)OP_GOLANG_CHUNK);
	struct op_go_slice now;
	int r;

	if (op_go_read_allgs(memory, v->process->places.allgs, &now) == 0 &&
	    now.len >= v->slice.len)
		v->slice.at = now.at;
	r = op_memory_read(memory, v->slice.at + v->index * sizeof(v->chunk[0]), v->chunk,
			   n * sizeof(v->chunk[0]));
	if (r < 0)
		return r;
	v->chunk_index = v->index;
	v->chunk_len = n;
	return 0;
}

/* Returns 1; 0: the visit is over; -EINPROGRESS. */
static int take_next(struct op_golang_visit *v, struct op_proc *proc,
		     struct op_window *window, struct op_part_taken *taken)
{
	uint64_t left = v->slice.len - v->index;
	int r;

	if (!left)
		return 0;
	if (v->failures >= FAILURES_MAX ||
	    (v->index - v->chunk_index >= v->chunk_len &&
	     fill_chunk(v, &op_proc_view_now(proc).program->memory.memory) < 0)) {
		op_part_drop(taken, v->record.event, OP_DROP_RECORD, left);
		return 0;
	}
	if (op_window_bytes(window) > v->window_bytes + WINDOW_BYTES_MAX) {
		op_part_drop(taken, v->record.event, OP_DROP_WINDOW, left);
		return 0;
	}
	r = take_one(v, proc, v->chunk[v->index - v->chunk_index], window);
	if (r == -EINPROGRESS)
		return r;
	count(v, r, taken);
	v->index++;
	return 1;
}

int op_golang_visit_go_on(struct op_golang_visit *v, struct op_window *window,
			  struct op_part_taken *taken)
{
	struct op_proc *proc = op_registry_find_alive(v->processes, v->process->pid);
	int r = proc && op_golang_process_is(v->process, proc);

	if (r > 0)
		r = take_next(v, proc, window, taken);
	if (r == 0)
		op_golang_visit_end(v);
	return r < 0 ? r : 0;
}
