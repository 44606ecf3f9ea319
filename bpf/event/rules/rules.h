/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Rules by target: one lookup for each kind of target that rules have, however many rules
 * there are. */
#ifndef OP_RULES_H
#define OP_RULES_H

#include <bpf/bpf_helpers.h>

#include "bpf/event/settings.h"
#include "bpf/event/slot.h"
#include "bpf/platform/maps.h"

/* The latest verdict and the latest rate of the rules that were found. */
struct op_rule_decisions {
	struct op_rule_decision best;
};

static __always_inline void op_rule_find(void *targets, __u32 kind, __u64 first,
					 __u64 second,
					 struct op_rule_decisions *decisions)
{
	struct op_rule_key key = { .word = { first, second }, .kind = kind };
	struct op_rule_decision *target = bpf_map_lookup_elem(targets, &key);

	if (!target)
		return;
	if (target->verdict > decisions->best.verdict)
		decisions->best.verdict = target->verdict;
	if (target->rate > decisions->best.rate)
		decisions->best.rate = target->rate;
}

static __always_inline bool op_rule_has_kind(struct op_control *control, __u32 kind)
{
	return control->rule_kinds >> kind & 1;
}

/* Look up the rules for what the record says of the process. */
static __always_inline void op_rule_find_record(void *targets, struct op_control *control,
						const struct op_record *r,
						struct op_rule_decisions *decisions)
{
	const __u64 *comm = (const __u64 *)r->comm;

	if (op_rule_has_kind(control, OP_RULE_PID))
		op_rule_find(targets, OP_RULE_PID, r->pid, 0, decisions);
	if (op_rule_has_kind(control, OP_RULE_COMM))
		op_rule_find(targets, OP_RULE_COMM, comm[0], comm[1], decisions);
	if (op_rule_has_kind(control, OP_RULE_EXECUTABLE))
		op_rule_find(targets, OP_RULE_EXECUTABLE, r->pid, 0, decisions);
	if (op_rule_has_kind(control, OP_RULE_ENVIRONMENT))
		op_rule_find(targets, OP_RULE_ENVIRONMENT, r->pid, 0, decisions);
}

/* Look up the rules for the current task's cgroups, at the depths that rules have. */
static __always_inline void op_rule_find_cgroups(void *targets,
						 struct op_control *control,
						 struct op_rule_decisions *decisions)
{
	__u32 depths = control->cgroup_depths;
	int i;

	if (!op_settings.cgroup_ancestors) {
		op_rule_find(targets, OP_RULE_CGROUP, bpf_get_current_cgroup_id(), 0,
			     decisions);
		return;
	}
	for (i = 0; i < OP_CGROUP_DEPTHS; i++)
		if (depths >> i & 1)
			op_rule_find(targets, OP_RULE_CGROUP,
				     bpf_get_current_ancestor_cgroup_id(i), 0, decisions);
}

/*
 * What the rules say about the current task, whose sample is in slot @number: an enum
 * op_verdict, and the number of a rate << OP_RULE_SHIFT. A global function, so that the
 * verifier checks it once.
 */
__attribute__((noinline)) int op_rule_decide(__u32 number);
__attribute__((noinline)) int op_rule_decide(__u32 number)
{
	struct op_slot *slot = op_slot_at(number);
	struct op_control *control = op_control();
	struct op_rule_decisions decisions = { 0 };
	__u32 zero = 0;
	void *targets;

	if (!slot || !control)
		return 0;
	targets = bpf_map_lookup_elem(&op_targets, &zero);
	if (!targets)
		return 0;
	op_rule_find_record(targets, control, &slot->record, &decisions);
	if (op_rule_has_kind(control, OP_RULE_CGROUP))
		op_rule_find_cgroups(targets, control, &decisions);
	if (op_rule_has_kind(control, OP_RULE_UID))
		op_rule_find(targets, OP_RULE_UID, (__u32)bpf_get_current_uid_gid(), 0,
			     &decisions);
	return (int)((decisions.best.verdict & OP_RULE_MASK) |
		     (decisions.best.rate & OP_RULE_MASK) << OP_RULE_SHIFT);
}

#endif
