/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/*
 * Decides by the rules whether a sample is wanted, before anything is unwound. There is
 * one look-up for each kind of target that rules have, however many rules there are. Of
 * the rules that it finds, the one with the highest rank decides.
 */
#ifndef OP_RULES_H
#define OP_RULES_H

#include <bpf/bpf_core_read.h>
#include <bpf/bpf_helpers.h>

#include "bpf/event/settings.h"
#include "bpf/event/slot.h"
#include "bpf/event/task.h"
#include "bpf/platform/maps.h"

enum {
	/* ancestors that are compared at most for a process tree */
	OP_ANCESTORS_MAX = 24,
};

/* Set one by one. Otherwise the compiler would copy them from a constant without a
 * name, and Linux 5.10 refuses the BTF of a .rodata without names. */
static __always_inline struct op_rule_key op_rule_key_of(__u32 kind, __u64 first,
							 __u64 second)
{
	struct op_rule_key key = { 0 };

	key.word[0] = first;
	key.word[1] = second;
	key.kind = kind;
	return key;
}

/* Keep in @best the latest verdict and the latest rate of the rules that were found. */
static __always_inline void op_rule_find_key(void *targets, const struct op_rule_key *key,
					     struct op_rule_decision *best)
{
	struct op_rule_decision *target = bpf_map_lookup_elem(targets, key);

	if (!target)
		return;
	if (target->verdict > best->verdict) {
		best->verdict = target->verdict;
		best->keep_one_in = target->keep_one_in;
	}
	if (target->rate > best->rate)
		best->rate = target->rate;
}

static __always_inline void op_rule_find(void *targets, __u32 kind, __u64 first,
					 __u64 second, struct op_rule_decision *best)
{
	struct op_rule_key key = op_rule_key_of(kind, first, second);

	op_rule_find_key(targets, &key, best);
}

static __always_inline bool op_rule_has_kind(const struct op_rule_use *used, __u32 kind)
{
	return used->kinds >> kind & 1;
}

static __always_inline const struct op_rule_use *
op_rule_use(const struct op_control *control, __u32 active)
{
	op_platform_bound(active);
	return &control->used[active & 1];
}

/* Does one of the rules in force keep one in several samples? */
static __always_inline bool op_rules_random(const struct op_control *control)
{
	return op_rule_use(control, control->rules_active)->random;
}

/* Do the rules in force keep each sample, whatever it is? */
static __always_inline bool op_rules_keep_all(void)
{
	struct op_control *control = op_control();
	const struct op_rule_use *used;

	if (!control)
		return true;
	used = op_rule_use(control, *(volatile __u32 *)&control->rules_active);
	return !used->kinds && !*(volatile __u32 *)&used->include;
}

/* Look up the rules for the process of @task and its ancestors. Most are not the root
 * of a tree with a rule, and cost no look-up. */
static __always_inline void op_rule_find_trees(void *targets,
					       const struct op_rule_use *used,
					       struct task_struct *task,
					       struct op_rule_decision *best)
{
	struct op_control *control = op_control();
	__u32 level = control ? control->pid_level : 0;
	struct op_rule_key key = op_rule_key_of(OP_TARGET_TREE, 0, 0);
	__u64 trees = used->trees;
	int i;

	for (i = 0; i < OP_ANCESTORS_MAX; i++) {
		__u32 tgid = BPF_CORE_READ(task, tgid);
		__u32 pid = tgid;

		if (op_settings.pid_namespace)
			pid = op_ancestor_pid(
				BPF_CORE_READ(task, group_leader, thread_pid), level);
		key.word[0] = pid;
		if (trees >> (pid & 63) & 1)
			op_rule_find_key(targets, &key, best);
		if (tgid <= 1)
			return;
		task = BPF_CORE_READ(task, real_parent);
	}
}

static __always_inline void op_rule_find_ages(void *targets,
					      const struct op_rule_use *used,
					      __u64 age_ns, struct op_rule_decision *best)
{
	struct op_rule_key key = op_rule_key_of(OP_TARGET_AGE, 0, 0);
	int i;

#pragma unroll
	for (i = 0; i < OP_AGES_MAX; i++) {
		key.word[0] = used->age_ns[i];
		if (key.word[0] && age_ns >= key.word[0])
			op_rule_find_key(targets, &key, best);
	}
}

/* Look up the rules for the process in @r and @task. */
static __always_inline void op_rule_find_record(void *targets,
						const struct op_rule_use *used,
						const struct op_record *r,
						struct task_struct *task,
						struct op_rule_decision *best)
{
	const __u64 *comm = (const __u64 *)r->comm;

	if (op_rule_has_kind(used, OP_TARGET_TREE))
		op_rule_find_trees(targets, used, task, best);
	if (op_rule_has_kind(used, OP_TARGET_AGE))
		op_rule_find_ages(
			targets, used,
			r->time_ns - BPF_CORE_READ(task, group_leader, start_time), best);
	if (op_rule_has_kind(used, OP_TARGET_ALL))
		op_rule_find(targets, OP_TARGET_ALL, 0, 0, best);
	if (op_rule_has_kind(used, OP_RULE_PID))
		op_rule_find(targets, OP_RULE_PID, r->pid, 0, best);
	if (op_rule_has_kind(used, OP_RULE_COMM))
		op_rule_find(targets, OP_RULE_COMM, comm[0], comm[1], best);
	if (op_rule_has_kind(used, OP_RULE_EXECUTABLE))
		op_rule_find(targets, OP_RULE_EXECUTABLE, r->pid, 0, best);
	if (op_rule_has_kind(used, OP_RULE_ENVIRONMENT))
		op_rule_find(targets, OP_RULE_ENVIRONMENT, r->pid, 0, best);
}

/* Look up the rules for the current task's cgroups, at the depths of existing rules. */
static __always_inline void op_rule_find_cgroups(void *targets,
						 const struct op_rule_use *used,
						 struct op_rule_decision *best)
{
	struct op_rule_key key = op_rule_key_of(OP_RULE_CGROUP, 0, 0);
	__u32 depths = used->cgroup_depths;
	int i;

	if (!op_settings.cgroup_ancestors) {
		key.word[0] = bpf_get_current_cgroup_id();
		op_rule_find_key(targets, &key, best);
		return;
	}
#pragma unroll
	for (i = 0; i < OP_CGROUP_DEPTHS; i++) {
		if (!(depths >> i & 1))
			continue;
		key.word[0] = bpf_get_current_ancestor_cgroup_id(i);
		op_rule_find_key(targets, &key, best);
	}
}

/*
 * Evaluate the rules of list @active for the current task, whose sample is in slot
 * @number. Returns an enum op_verdict, and the number of a rate << OP_RULE_SHIFT. A
 * global function, so that the verifier checks it once.
 */
__attribute__((noinline)) int op_rule_decide(__u32 number, __u32 active);
__attribute__((noinline)) int op_rule_decide(__u32 number, __u32 active)
{
	struct op_slot *slot = op_slot_at(number);
	struct op_control *control = op_control();
	struct op_rule_decision best = { 0 };
	const struct op_rule_use *used;
	__u32 verdict;
	void *targets;

	active &= 1;
	if (!slot || !control)
		return 0;
	targets = bpf_map_lookup_elem(&op_targets, &active);
	if (!targets)
		return 0;
	used = op_rule_use(control, active);
	op_rule_find_record(targets, used, &slot->record, op_current_task(), &best);
	if (op_rule_has_kind(used, OP_RULE_CGROUP))
		op_rule_find_cgroups(targets, used, &best);
	if (op_rule_has_kind(used, OP_RULE_UID))
		op_rule_find(targets, OP_RULE_UID, (__u32)bpf_get_current_uid_gid(), 0,
			     &best);
	verdict = best.verdict & OP_RULE_MASK;
	if (verdict == OP_VERDICT_KEEP && best.keep_one_in > 1) {
		slot->record.hits = best.keep_one_in < OP_HITS_MAX
					    ? (__u32)best.keep_one_in
					    : OP_HITS_MAX;
		if (bpf_get_prandom_u32() % slot->record.hits)
			verdict = OP_VERDICT_DROP;
	}
	return (int)(verdict | (best.rate & OP_RULE_MASK) << OP_RULE_SHIFT);
}

/* Is the sample in @slot wanted? *@ret_rate is the index in op_control.rate of the rate that
 * applies if it is a clock's tick. */
static __always_inline bool op_is_wanted(const struct op_slot *slot, __u32 *ret_rate)
{
	struct op_control *control = op_control();
	const struct op_rule_use *used;
	__u32 include;
	__u32 active;
	__u32 decisions;

	*ret_rate = 0;
	if (!control)
		return true;
	/* read once, so that the sample is judged by one list */
	active = *(volatile __u32 *)&control->rules_active & 1;
	*ret_rate = active * OP_RATES_MAX;
	/* before the look-ups: whoever sees that a rule includes also finds that rule */
	used = op_rule_use(control, active);
	include = *(volatile __u32 *)&used->include;
	if (!used->kinds)
		return !include;
	decisions = (__u32)op_rule_decide(slot->number, active);
	*ret_rate += decisions >> OP_RULE_SHIFT;
	decisions &= OP_RULE_MASK;
	return decisions == OP_VERDICT_NONE ? !include : decisions == OP_VERDICT_KEEP;
}

#endif
