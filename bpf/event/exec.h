/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * A process that executed a new program is no longer what its tables describe. Its entry is
 * removed at once, so that samples taken before user space has heard of it come with
 * registers and stack instead of being walked by the tables of the old program.
 */
#ifndef OP_EXEC_H
#define OP_EXEC_H

#include "bpf/event/task.h"
#include "bpf/platform/maps.h"

SEC("raw_tp/sched_process_exec")
int op_exec(void *ctx)
{
	__u32 pid;
	__u32 tid;

	if (op_task_ids(op_current_task(), &pid, &tid))
		bpf_map_delete_elem(&op_processes, &pid);
	return 0;
}

#endif
