/* SPDX-License-Identifier: Apache-2.0 */
#include "parts/goroutines/processes.h"

#include <errno.h>
#include <string.h>

#include "parts/threads/iterate.h"
#include "process/program.h"
#include "process/registry.h"

enum {
	PROCESSES_MAX = 65536,
	LEARN_MAX = 256, /* processes that one list may read from /proc */
};

void op_golang_processes_forget(struct op_golang_processes *k, size_t i)
{
	op_golang_process_free(k->list.data[i]);
	k->list.data[i] = k->list.data[--k->list.len];
}

static bool has_ended(const struct op_golang_processes *k,
		      const struct op_golang_process *process)
{
	struct op_proc *proc = op_registry_find_alive(k->processes, process->pid);

	return !proc || !op_golang_process_is(process, proc);
}

void op_golang_processes_sweep(struct op_golang_processes *k)
{
	size_t i = 0;

	while (i < k->list.len)
		if (!k->list.data[i]->visits && has_ended(k, k->list.data[i]))
			op_golang_processes_forget(k, i);
		else
			i++;
}

void op_golang_processes_deinit(struct op_golang_processes *k)
{
	while (k->list.len)
		op_golang_processes_forget(k, 0);
	op_vec_clear(&k->list);
}

size_t op_golang_processes_find(const struct op_golang_processes *k,
				const struct op_proc *proc)
{
	size_t i;

	for (i = 0; i < k->list.len; i++)
		if (op_golang_process_is(k->list.data[i], proc))
			return i;
	return SIZE_MAX;
}

size_t op_golang_processes_get(struct op_golang_processes *k, const struct op_proc *proc)
{
	_cleanup_(op_golang_process_freep) struct op_golang_process *new = NULL;
	struct op_golang_process **slot;
	size_t i = op_golang_processes_find(k, proc);

	if (i != SIZE_MAX)
		return i;
	if (op_golang_process_new(k->processes, proc, &new) < 0 || !new)
		return SIZE_MAX;
	slot = op_vec_push(&k->list);
	if (!slot)
		return SIZE_MAX;
	*slot = OP_TAKE_PTR(new);
	return k->list.len - 1;
}

static int64_t take_wanted(void *ctx, const uint8_t *bytes, size_t len)
{
	struct op_golang_queue *w = ctx;
	size_t at;

	for (at = 0; len - at >= sizeof(struct op_record);
	     at += sizeof(struct op_record)) {
		struct op_record *r;

		if (w->records.len >= PROCESSES_MAX)
			continue;
		r = op_vec_push(&w->records);
		if (!r)
			return -ENOMEM;
		memcpy(r, bytes + at, sizeof(*r));
	}
	return (int64_t)at;
}

int op_golang_queue_list(struct op_golang_queue *w, int program, struct op_log *log,
			 const char *what)
{
	size_t i;
	int r;

	w->learnt = 0;
	w->at = w->begun = 0;
	w->records.len = 0;
	r = op_threads_iterate(program, take_wanted, w);
	for (i = 0; i < w->records.len; i++)
		if (w->records.data[i].pid == w->first)
			w->begun = i;
	w->first = 0;
	if (r < 0 && !w->reported) {
		op_log(log, OP_LOG_WARNING,
		       "not all processes of a snapshot of %s could be listed (%s), "
		       "ignoring",
		       what, strerror(-r));
		w->reported = true;
	}
	return r;
}

const struct op_record *op_golang_queue_next(struct op_golang_queue *w)
{
	size_t i = w->begun + w->at;

	if (w->at >= w->records.len)
		return NULL;
	w->at++;
	return &w->records.data[i < w->records.len ? i : i - w->records.len];
}

struct op_proc *op_golang_queue_proc(struct op_golang_queue *w, struct op_processes *p,
				     const struct op_record *record)
{
	struct op_proc *proc = op_registry_find_alive(p, record->pid);

	if (proc || w->learnt >= LEARN_MAX)
		return proc;
	w->learnt++;
	return op_registry_learn(p, record->pid);
}

void op_golang_queue_clear(struct op_golang_queue *w)
{
	op_vec_clear(&w->records);
}
