/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * After an exec, a process's tables are those of the old program. So its entry is
 * removed at once. Samples before user space knows the new program then carry registers
 * and a stack copy, and are not walked by the old tables. A child has its parent's
 * mappings, so its parent's tables serve until user space knows the child.
 *
 * User space learns of an interpreter at once: it starts up within some milliseconds,
 * and its first samples need its runtime attached. Any other program waits for its
 * first sample, unless rules by executable or environment need it.
 */
#ifndef OP_EXEC_H
#define OP_EXEC_H

#include "bpf/event/rules/matches.h"
#include "bpf/event/task.h"
#include "bpf/platform/maps.h"

enum {
	OP_INTERP_BYTES = 128, /* of the path; a longer path is skipped */
};

/* The start of the base name of the path at @path. */
static __always_inline __u32 op_base_name(const char *path)
{
	char text[OP_INTERP_BYTES];
	__u32 base = 0;
	int i;

	if (bpf_probe_read_kernel_str(text, sizeof(text), path) < 0)
		return 0;
	for (i = 0; i < OP_INTERP_BYTES - 1; i++) {
		if (!text[i])
			break;
		if (text[i] == '/')
			base = (__u32)i + 1;
	}
	return base;
}

static __always_inline bool op_is_interpreter(struct linux_binprm *bprm)
{
	const char *path = BPF_CORE_READ(bprm, interp);
	struct op_control *control = op_control();
	__u64 name = 0;
	int i;

	if (!control || !control->interpreter[0].mask)
		return false;
	bpf_probe_read_kernel(&name, sizeof(name), path + op_base_name(path));
	for (i = 0; i < OP_INTERPRETERS_MAX; i++) {
		__u64 mask = control->interpreter[i].mask;

		if (mask && (name & mask) == control->interpreter[i].bytes)
			return true;
	}
	return false;
}

SEC("raw_tp/sched_process_exec")
int op_exec(struct bpf_raw_tracepoint_args *ctx)
{
	struct op_exec_record record = { 0 };

	record.header.type = OP_RECORD_EXEC;
	record.header.version = OP_RECORD_VERSION;
	record.header.bytes = sizeof(record);
	if (!op_task_ids(op_current_task(), &record.pid, &record.tid))
		return 0;
	bpf_map_delete_elem(&op_processes, &record.pid);
	bpf_map_delete_elem(&op_contexts, &record.pid);
	record.interpreter = op_is_interpreter((struct linux_binprm *)ctx->args[2]);
	/* a record that does not fit is left out: the first sample announces the
	 * process */
	if (op_match_exec(record.pid) || record.interpreter)
		bpf_ringbuf_output(&op_ring, &record, sizeof(record),
				   BPF_RB_FORCE_WAKEUP);
	return 0;
}

SEC("raw_tp/sched_process_fork")
int op_fork(struct bpf_raw_tracepoint_args *ctx)
{
	/* of the parent, which is the current task, and the child */
	__u32 child = op_child_pid((struct task_struct *)ctx->args[1]);
	struct op_process_key *key;
	struct op_process_key copy;
	__u32 pid;
	__u32 tid;

	if (!child || !op_task_ids(op_current_task(), &pid, &tid))
		return 0;
	op_match_fork(pid, child);
	/* it has no context until it publishes one */
	bpf_map_delete_elem(&op_contexts, &child);
	key = bpf_map_lookup_elem(&op_processes, &pid);
	if (!key) {
		/* leftovers of an earlier process with this pid */
		bpf_map_delete_elem(&op_processes, &child);
		return 0;
	}
	copy = *key;
	bpf_map_update_elem(&op_processes, &child, &copy, 0);
	return 0;
}

#endif
