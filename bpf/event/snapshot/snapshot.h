/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * The tasks of a snapshot, which an iterator comes to: their ids, and whether the filter
 * keeps them. None of them is the current task.
 */
#ifndef OP_SNAPSHOT_H
#define OP_SNAPSHOT_H

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "bpf/event/filter.h"

enum {
	OP_CGROUP_LEVELS_MAX = 16,
	PF_EXITING = 0x4,
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

static __always_inline bool op_in_cgroup(struct task_struct *task, __u64 id)
{
	struct cgroup *cgroup = BPF_CORE_READ(task, cgroups, dfl_cgrp);
	int i;

	for (i = 0; i < OP_CGROUP_LEVELS_MAX && cgroup; i++) {
		if (BPF_CORE_READ(cgroup, kn, id) == id)
			return true;
		/* `self` is the first member of struct cgroup */
		cgroup = (struct cgroup *)BPF_CORE_READ(cgroup, self.parent);
	}
	return false;
}

/* The same as op_rule_matches() for a task that is not the current one. */
static __always_inline bool op_rule_matches_thread(const struct op_filter_rule *rule,
						   const struct op_record *r,
						   struct task_struct *task)
{
	switch (rule->kind) {
	case OP_FILTER_UID:
		return BPF_CORE_READ(task, real_cred, uid.val) == rule->number;
	case OP_FILTER_CGROUP:
		return op_in_cgroup(task, rule->number);
	default:
		return op_rule_matches_task(rule, r, task);
	}
}

/* The verdict (enum op_verdict) of the rules by target on @task. */
static __always_inline __u32 op_rule_decide_task(struct op_control *control,
						 const struct op_record *r,
						 struct task_struct *task)
{
	struct cgroup *cgroup = BPF_CORE_READ(task, cgroups, dfl_cgrp);
	struct op_rule_decisions decisions = { 0 };
	__u32 zero = 0;
	void *targets = bpf_map_lookup_elem(&op_targets, &zero);
	int i;

	if (!targets)
		return OP_VERDICT_NONE;
	op_rule_find_record(targets, control, r, &decisions);
	if (op_rule_has_kind(control, OP_RULE_UID))
		op_rule_find(targets, OP_RULE_UID,
			     BPF_CORE_READ(task, real_cred, uid.val), 0, &decisions);
	if (!op_rule_has_kind(control, OP_RULE_CGROUP))
		return decisions.best.verdict & OP_RULE_MASK;
	for (i = 0; i < OP_CGROUP_LEVELS_MAX && cgroup; i++) {
		op_rule_find(targets, OP_RULE_CGROUP, BPF_CORE_READ(cgroup, kn, id), 0,
			     &decisions);
		cgroup = (struct cgroup *)BPF_CORE_READ(cgroup, self.parent);
	}
	return decisions.best.verdict & OP_RULE_MASK;
}

/* Does the filter keep the thread? keep_one_in is ignored: in a snapshot no thread stands
 * for others. */
static __always_inline bool op_filter_means(const struct op_record *r,
					    struct task_struct *task)
{
	struct op_control *control = op_control();
	__u32 verdict = OP_VERDICT_NONE;
	struct op_filter *filter;
	__u32 active;
	__u32 i;

	if (!control)
		return true;
	if (control->rule_kinds)
		verdict = op_rule_decide_task(control, r, task);
	if (verdict != OP_VERDICT_NONE)
		return verdict == OP_VERDICT_KEEP;
	active = control->filter_active;
	if (active & OP_FILTER_EMPTY)
		return !control->rules_include;
	active &= 1;
	filter = bpf_map_lookup_elem(&op_filters, &active);
	if (!filter || !filter->count)
		return !control->rules_include;
	for (i = 0; i < OP_FILTER_RULES && i < filter->count; i++)
		if (op_rule_matches_thread(&filter->rules[i], r, task))
			return filter->rules[i].action == OP_FILTER_INCLUDE;
	return filter->default_action == OP_FILTER_INCLUDE && !control->rules_include;
}

#endif
