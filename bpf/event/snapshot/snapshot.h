/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The tasks of a snapshot, one after another in an iterator: their ids, and whether the
 * rules keep them. None of them is the current task.
 */
#ifndef OP_SNAPSHOT_H
#define OP_SNAPSHOT_H

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "bpf/event/rules/rules.h"

enum {
	OP_CGROUP_LEVELS_MAX = 16,
};

static __always_inline bool op_is_user_thread(struct task_struct *task)
{
	return !(BPF_CORE_READ(task, flags) & (PF_KTHREAD | PF_EXITING)) &&
	       BPF_CORE_READ(task, mm) && !BPF_CORE_READ(task, exit_state);
}

/* Set the ids of @task in the profiler's PID namespace; false if it has none there. */
static __always_inline bool op_ids_of(struct task_struct *task, struct op_record *r)
{
	struct op_control *control = op_control();
	struct pid *leader;

	r->tid = (__u32)BPF_CORE_READ(task, pid);
	r->pid = (__u32)BPF_CORE_READ(task, tgid);
	if (!op_settings.pid_namespace)
		return true;
	if (!control || !control->pid_level)
		return false;
	leader = BPF_CORE_READ(task, group_leader, thread_pid);
	r->tid = op_pid_at(BPF_CORE_READ(task, thread_pid), control->pid_level);
	r->pid = op_pid_at(leader, control->pid_level);
	return r->pid && r->tid;
}

/* The verdict (enum op_verdict) of the rules of list @active on @task. */
static __always_inline __u32 op_rule_decide_task(const struct op_rule_use *used,
						 __u32 active, const struct op_record *r,
						 struct task_struct *task)
{
	struct cgroup *cgroup = BPF_CORE_READ(task, cgroups, dfl_cgrp);
	struct op_rule_decision best = { 0 };
	void *targets = bpf_map_lookup_elem(&op_targets, &active);
	int i;

	if (!targets)
		return OP_VERDICT_NONE;
	op_rule_find_record(targets, used, r, task, &best);
	if (op_rule_has_kind(used, OP_RULE_UID))
		op_rule_find(targets, OP_RULE_UID,
			     BPF_CORE_READ(task, real_cred, uid.val), 0, &best);
	if (!op_rule_has_kind(used, OP_RULE_CGROUP))
		return best.verdict & OP_RULE_MASK;
	for (i = 0; i < OP_CGROUP_LEVELS_MAX && cgroup; i++) {
		op_rule_find(targets, OP_RULE_CGROUP, BPF_CORE_READ(cgroup, kn, id), 0,
			     &best);
		/* `self` is the first member of struct cgroup */
		cgroup = (struct cgroup *)BPF_CORE_READ(cgroup, self.parent);
	}
	return best.verdict & OP_RULE_MASK;
}

/* Do the rules keep the thread? keep_one_in is ignored, because in a snapshot no thread
 * stands for others. */
static __always_inline bool op_rules_keep(const struct op_record *r,
					  struct task_struct *task)
{
	struct op_control *control = op_control();
	const struct op_rule_use *used;
	__u32 verdict = OP_VERDICT_NONE;
	__u32 active;

	if (!control)
		return true;
	active = *(volatile __u32 *)&control->rules_active & 1;
	used = op_rule_use(control, active);
	if (used->kinds)
		verdict = op_rule_decide_task(used, active, r, task);
	return verdict == OP_VERDICT_NONE ? !used->include : verdict == OP_VERDICT_KEEP;
}

#endif
