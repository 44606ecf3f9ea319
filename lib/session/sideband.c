/* SPDX-License-Identifier: Apache-2.0 */
/* Passes events of the side-bands to the processes and their mappings. */
#include "process/processes.h"
#include "session/state.h"

static void on_mmap(void *ctx, const struct op_mmap_event *e)
{
	struct op_session *s = ctx;

	op_processes_on_mmap(s->config.processes, e);
}

static void on_exec(void *ctx, uint32_t pid, const char *comm, uint64_t time_ns)
{
	struct op_session *s = ctx;

	op_endings_on_exec(&s->ends, pid);
	op_processes_on_exec(s->config.processes, pid, comm, time_ns);
}

static void on_fork(void *ctx, uint32_t pid, uint32_t parent, uint32_t tid,
		    uint64_t time_ns)
{
	struct op_session *s = ctx;

	if (pid != tid) {
		op_endings_on_thread(&s->ends, pid, time_ns);
		return;
	}
	op_endings_on_fork(&s->ends, pid);
	op_processes_on_fork(s->config.processes, pid, parent, time_ns);
}

static void on_thread_end(void *ctx, uint32_t pid, uint32_t tid, uint64_t time_ns)
{
	struct op_session *s = ctx;

	op_endings_on_exit(&s->ends, pid, tid, time_ns);
}

static void on_lost(void *ctx, uint64_t time_ns)
{
	struct op_session *s = ctx;

	op_ends_on_lost(&s->ends, time_ns);
	op_processes_on_lost(s->config.processes);
}

static void on_kernel_symbols(void *ctx)
{
	struct op_session *s = ctx;

	s->kernel_symbols_stale = true;
}

void op_session_init_sink(struct op_session *s)
{
	s->sink = (struct op_sideband_sink){ .on_mmap = on_mmap,
					     .on_exec = on_exec,
					     .on_fork = on_fork,
					     .on_exit = on_thread_end,
					     .on_lost = on_lost,
					     .on_kernel_symbols = on_kernel_symbols,
					     .ctx = s };
	s->ends.processes = s->config.processes;
	s->ends.procfs_root = s->config.procfs_root;
}

uint64_t op_session_drain_sideband(struct op_session *s, uint64_t end_ns)
{
	struct op_allowance part = op_allowance_within(s->config.allowance, end_ns);
	uint64_t n = op_capture_drain_sideband(s->config.capture, &s->sink, &part);

	op_endings_check(&s->ends, op_capture_drained_ns(s->config.capture));
	return n;
}
