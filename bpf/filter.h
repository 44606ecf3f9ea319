/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Is this sample wanted? Decided before anything is unwound. */
#ifndef OP_FILTER_H
#define OP_FILTER_H

#include <bpf/bpf_core_read.h>

#include "maps.h"
#include "task.h"

enum {
	OP_ANCESTORS_MAX = 24, /* parents looked at for a PID tree */

	/* OTELPROF_FILTER_* of the public header */
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

/* Does this kernel have bpf_get_current_ancestor_cgroup_id() for tracing (5.16)? Without it
 * a cgroup rule matches the cgroup itself and not its children. */
const volatile __u32 op_cgroup_ancestors = 0;

/* Which of op_filters is in force. */
volatile __u32 op_filter_active = 0;

/* What the rules are tried on. */
struct op_subject {
	struct task_struct *task;
	__u32 pid;
	__u32 uid;
	__u64 now_ns;
	const __u64 *comm; /* OP_COMM_BYTES */
};

/* Is the process of @task, or an ancestor, process @root of the profiler's namespace? */
static __always_inline bool op_in_pid_tree(struct task_struct *task, __u32 root)
{
	int i;

	for (i = 0; i < OP_ANCESTORS_MAX; i++) {
		__u32 tgid = BPF_CORE_READ(task, tgid);
		__u32 pid = tgid;

		if (op_pid_namespace)
			pid = op_ancestor_pid(
				BPF_CORE_READ(task, group_leader, thread_pid));
		if (pid == root)
			return true;
		if (tgid <= 1)
			return false;
		task = BPF_CORE_READ(task, real_parent);
	}
	return false;
}

static __always_inline bool op_rule_matches(const struct op_filter_rule *rule,
					    const struct op_subject *s)
{
	const __u64 *comm = (const __u64 *)rule->comm;
	struct task_struct *task = s->task;

	switch (rule->kind) {
	case OP_FILTER_ALL:
		return true;
	case OP_FILTER_PID:
		return s->pid == rule->number;
	case OP_FILTER_PID_TREE:
		return op_in_pid_tree(task, (__u32)rule->number);
	case OP_FILTER_COMM:
		return s->comm[0] == comm[0] && s->comm[1] == comm[1];
	case OP_FILTER_UID:
		return s->uid == rule->number;
	case OP_FILTER_CGROUP: /* reserved0: depth of the wanted cgroup */
		if (op_cgroup_ancestors)
			return bpf_get_current_ancestor_cgroup_id((int)rule->reserved0) ==
			       rule->number;
		return bpf_get_current_cgroup_id() == rule->number;
	case OP_FILTER_MIN_AGE:
		return s->now_ns - BPF_CORE_READ(task, group_leader, start_time) >=
		       rule->number;
	default:
		return false;
	}
}

/* Does the filter keep this sample? */
static __always_inline bool op_filter_keeps(const struct op_subject *s)
{
	__u32 active = op_filter_active & 1;
	struct op_filter *filter = bpf_map_lookup_elem(&op_filters, &active);
	__u32 i;

	if (!filter || !filter->count)
		return true;
	for (i = 0; i < OP_FILTER_RULES; i++) {
		const struct op_filter_rule *rule = &filter->rules[i];

		if (i >= filter->count)
			break;
		if (!op_rule_matches(rule, s))
			continue;
		if (rule->action != OP_FILTER_INCLUDE)
			return false;
		return rule->keep_one_in <= 1 ||
		       bpf_get_prandom_u32() % rule->keep_one_in == 0;
	}
	return filter->default_action == OP_FILTER_INCLUDE;
}

#endif
