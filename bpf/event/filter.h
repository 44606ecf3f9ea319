/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Decides whether a sample is wanted, before anything is unwound. */
#ifndef OP_FILTER_H
#define OP_FILTER_H

#include <bpf/bpf_core_read.h>

#include "bpf/event/rules/rules.h"
#include "bpf/event/slot.h"
#include "bpf/event/task.h"
#include "bpf/platform/maps.h"
#include "bpf/walk/unwind.h"

enum {
	OP_ANCESTORS_MAX = 24, /* the most ancestors that are compared for a PID tree */

	/* values of OTELPROF_FILTER_* in the public header */
	OP_FILTER_ALL = 0,
	OP_FILTER_PID,
	OP_FILTER_PID_TREE,
	OP_FILTER_COMM,
	OP_FILTER_UID,
	OP_FILTER_CGROUP,
	OP_FILTER_MIN_AGE,

	OP_FILTER_INCLUDE = 0,
	OP_FILTER_EXCLUDE = 1,
};

/* Is the process of @task or one of its ancestors process @root of the profiler's PID
 * namespace? */
static __always_inline bool op_in_pid_tree(struct task_struct *task, __u32 root)
{
	struct op_control *control = op_control();
	__u32 level = control ? control->pid_level : 0;
	int i;

	for (i = 0; i < OP_ANCESTORS_MAX; i++) {
		__u32 tgid = BPF_CORE_READ(task, tgid);
		__u32 pid = tgid;

		if (op_settings.pid_namespace)
			pid = op_ancestor_pid(
				BPF_CORE_READ(task, group_leader, thread_pid), level);
		if (pid == root)
			return true;
		if (tgid <= 1)
			return false;
		task = BPF_CORE_READ(task, real_parent);
	}
	return false;
}

/*
 * Does the rule match @task, by the pid, the command name and the time that the record
 * has already? The user and the cgroup are compared elsewhere, since helpers tell them
 * for the current task only.
 */
static __always_inline bool op_rule_matches_task(const struct op_filter_rule *rule,
						 const struct op_record *r,
						 struct task_struct *task)
{
	const __u64 *wanted = (const __u64 *)rule->comm;
	const __u64 *comm = (const __u64 *)r->comm;

	switch (rule->kind) {
	case OP_FILTER_ALL:
		return true;
	case OP_FILTER_PID:
		return r->pid == rule->number;
	case OP_FILTER_PID_TREE:
		return op_in_pid_tree(task, (__u32)rule->number);
	case OP_FILTER_COMM:
		return comm[0] == wanted[0] && comm[1] == wanted[1];
	case OP_FILTER_MIN_AGE:
		return r->time_ns - BPF_CORE_READ(task, group_leader, start_time) >=
		       rule->number;
	default:
		return false;
	}
}

/* The same for the current task, whose user and cgroup helpers of the kernel tell. */
static __always_inline bool op_rule_matches(const struct op_filter_rule *rule,
					    const struct op_record *r)
{
	switch (rule->kind) {
	case OP_FILTER_UID:
		return (__u32)bpf_get_current_uid_gid() == rule->number;
	case OP_FILTER_CGROUP: /* reserved0: depth of the wanted cgroup */
		if (op_settings.cgroup_ancestors)
			return bpf_get_current_ancestor_cgroup_id((int)rule->reserved0) ==
			       rule->number;
		return bpf_get_current_cgroup_id() == rule->number;
	default:
		return op_rule_matches_task(rule, r, op_current_task());
	}
}

/*
 * The verdict (enum op_verdict) of rule @i of filter @active on the sample in slot
 * @number. A global function, so that the verifier checks it once and not once for each
 * rule: loading takes 1 ms instead of 40.
 */
__attribute__((noinline)) int op_rule_verdict(__u32 active, __u32 i, __u32 number);
__attribute__((noinline)) int op_rule_verdict(__u32 active, __u32 i, __u32 number)
{
	struct op_filter *filter = bpf_map_lookup_elem(&op_filters, &active);
	struct op_slot *slot = op_slot_at(number);
	const struct op_filter_rule *rule;

	if (!filter || !slot || i >= OP_FILTER_RULES)
		return OP_VERDICT_NONE;
	rule = &filter->rules[i];
	if (!op_rule_matches(rule, &slot->record))
		return OP_VERDICT_NONE;
	if (rule->action != OP_FILTER_INCLUDE)
		return OP_VERDICT_DROP;
	if (rule->keep_one_in > 1 && bpf_get_prandom_u32() % rule->keep_one_in)
		return OP_VERDICT_DROP;
	return OP_VERDICT_KEEP;
}

/* Does the filter keep the sample in @slot? No rule by target has a verdict on it. */
static __always_inline bool op_filter_keeps(struct op_control *control,
					    const struct op_slot *slot)
{
	__u32 active = control->filter_active;
	struct op_filter *filter;
	__u32 count = 0;
	__u32 i;

	if (active & OP_FILTER_EMPTY)
		return !control->rules_include;
	active &= 1;
	filter = bpf_map_lookup_elem(&op_filters, &active);
	if (filter)
		count = filter->count;
	for (i = 0; i < OP_FILTER_RULES && i < count; i++) {
		int verdict = op_rule_verdict(active, i, slot->number);

		if (verdict != OP_VERDICT_NONE)
			return verdict == OP_VERDICT_KEEP;
	}
	if (control->rules_include)
		return false;
	return !filter || !count || filter->default_action == OP_FILTER_INCLUDE;
}

/* Is the sample in @slot wanted? *@ret_rate is the number of the rate that applies if it
 * is a clock's tick. */
static __always_inline bool op_is_wanted(const struct op_slot *slot, __u32 *ret_rate)
{
	struct op_control *control = op_control();
	__u32 verdict = OP_VERDICT_NONE;

	*ret_rate = 0;
	if (!control)
		return true;
	if (control->rule_kinds) {
		__u32 decision = (__u32)op_rule_decide(slot->number);

		verdict = decision & OP_RULE_MASK;
		*ret_rate = decision >> OP_RULE_SHIFT;
	}
	if (verdict != OP_VERDICT_NONE)
		return verdict == OP_VERDICT_KEEP;
	return op_filter_keeps(control, slot);
}

#endif
