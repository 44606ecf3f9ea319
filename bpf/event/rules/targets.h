/* SPDX-License-Identifier: GPL-2.0-only OR BSD-2-Clause */
/* Rules by target: one lookup for each kind of target that rules have, however many rules
 * there are. */
#ifndef OP_TARGETS_H
#define OP_TARGETS_H

#include <bpf/bpf_helpers.h>

#include "bpf/event/settings.h"
#include "bpf/event/slot.h"
#include "bpf/platform/maps.h"

/* The latest verdict and the latest rate of the rules that were found. */
struct op_said {
	struct op_target_says best;
};

static __always_inline void op_target_find(void *targets, __u32 kind, __u64 first,
					   __u64 second, struct op_said *said)
{
	struct op_target_key key = { .word = { first, second }, .kind = kind };
	struct op_target_says *target = bpf_map_lookup_elem(targets, &key);

	if (!target)
		return;
	if (target->verdict > said->best.verdict)
		said->best.verdict = target->verdict;
	if (target->rate > said->best.rate)
		said->best.rate = target->rate;
}

static __always_inline bool op_has_target(struct op_control *control, __u32 kind)
{
	return control->target_kinds >> kind & 1;
}

/* Look up the rules for what the record says of the process. */
static __always_inline void op_target_find_record(void *targets,
						  struct op_control *control,
						  const struct op_record *r,
						  struct op_said *said)
{
	const __u64 *comm = (const __u64 *)r->comm;

	if (op_has_target(control, OP_TARGET_PID))
		op_target_find(targets, OP_TARGET_PID, r->pid, 0, said);
	if (op_has_target(control, OP_TARGET_COMM))
		op_target_find(targets, OP_TARGET_COMM, comm[0], comm[1], said);
	if (op_has_target(control, OP_TARGET_EXECUTABLE))
		op_target_find(targets, OP_TARGET_EXECUTABLE, r->pid, 0, said);
	if (op_has_target(control, OP_TARGET_ENVIRONMENT))
		op_target_find(targets, OP_TARGET_ENVIRONMENT, r->pid, 0, said);
}

/* Look up the rules for the current task's cgroups, at the depths that rules have. */
static __always_inline void
op_target_find_cgroups(void *targets, struct op_control *control, struct op_said *said)
{
	__u32 depths = control->cgroup_depths;
	int i;

	if (!op_settings.cgroup_ancestors) {
		op_target_find(targets, OP_TARGET_CGROUP, bpf_get_current_cgroup_id(), 0,
			       said);
		return;
	}
	for (i = 0; i < OP_CGROUP_DEPTHS; i++)
		if (depths >> i & 1)
			op_target_find(targets, OP_TARGET_CGROUP,
				       bpf_get_current_ancestor_cgroup_id(i), 0, said);
}

/*
 * What the rules say about the current task, whose sample is in slot @number: an enum
 * op_verdict, and the number of a rate << OP_TARGET_SHIFT. A global function, so that the
 * verifier checks it once.
 */
__attribute__((noinline)) int op_target_says(__u32 number);
__attribute__((noinline)) int op_target_says(__u32 number)
{
	struct op_slot *slot = op_slot_at(number);
	struct op_control *control = op_control();
	struct op_said said = { 0 };
	__u32 zero = 0;
	void *targets;

	if (!slot || !control)
		return 0;
	targets = bpf_map_lookup_elem(&op_targets, &zero);
	if (!targets)
		return 0;
	op_target_find_record(targets, control, &slot->record, &said);
	if (op_has_target(control, OP_TARGET_CGROUP))
		op_target_find_cgroups(targets, control, &said);
	if (op_has_target(control, OP_TARGET_UID))
		op_target_find(targets, OP_TARGET_UID, (__u32)bpf_get_current_uid_gid(),
			       0, &said);
	return (int)((said.best.verdict & OP_TARGET_MASK) |
		     (said.best.rate & OP_TARGET_MASK) << OP_TARGET_SHIFT);
}

#endif
